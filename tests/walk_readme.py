"""Do what the README says, from the top to its last section, in a fresh clone; say how long it took.

Not a test of the suite: it builds an environment and takes minutes. ``make walk`` runs it. Shell blocks
(indented) run in bash, Python blocks in one session of the new environment's interpreter; what a Python
block prints must be what the README shows below it. Only what is committed is walked.
"""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAST = "## Work on it"  # what follows is for those who change the code
LIMIT = 300.0  # seconds that a new user should need at most
MARK = "---- end of block ----"
STEP = re.compile(
    r"^```python\n(.*?)^```\n(?:\s*```text\n(.*?)^```$)?|((?:^    \S[^\n]*\n)+)", re.M | re.S
)


def steps(text):
    """Return the steps in order: (kind, what to run, what it must print)."""
    found = STEP.finditer(text[: text.index(LAST)])
    return [("shell", m[3], None) if m[3] else ("python", m[1], m[2] or "") for m in found]


def shell(commands, folder):
    """Run commands as typed one after another, in the environment if there is one by now."""
    active = "test -f .venv/bin/activate && . .venv/bin/activate\nset -e\n"
    typed = re.sub(r"^ {4}", "", commands, flags=re.M)
    subprocess.run(["bash", "-c", active + typed], cwd=folder, check=True)


def python(blocks, folder):
    """Return what each block prints, run in one interpreter as a reader types them."""
    script = "".join(f"{block}\nprint({MARK!r})\n" for block in blocks)
    command = [str(folder / ".venv/bin/python"), "-c", script]
    done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.split(MARK + "\n")[:-1]


def walk(folder):
    """Do all steps; return seconds, and a sentence for each output that differs."""
    started, wrong = time.perf_counter(), []
    waiting = []

    def run_waiting():
        printed = python([block for block, _ in waiting], folder) if waiting else []
        for (block, expected), output in zip(waiting, printed, strict=True):
            if output != expected:
                wrong.append(f"After {block.splitlines()[0]!r}\nexpected {expected}printed  {output}")
        waiting.clear()

    for kind, code, expected in steps((folder / "README.md").read_text(encoding="utf-8")):
        if kind == "python":
            waiting.append((code, expected))
            continue
        run_waiting()
        shell(code, folder)
        print(f"{time.perf_counter() - started:5.0f} s  {code.strip().splitlines()[-1]}", flush=True)
    run_waiting()
    return time.perf_counter() - started, wrong


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        clone = Path(place) / "laconism"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        seconds, differences = walk(clone)
    print(*differences, sep="\n")
    print(f"The README took {seconds:.0f} s (at most {LIMIT:.0f}); {len(differences)} outputs differ.")
    sys.exit(bool(differences) or seconds > LIMIT)
