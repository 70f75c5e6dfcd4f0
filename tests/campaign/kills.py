"""Commands that are ended at any moment, and full disks: the old file stays, or the new one is whole."""

import contextlib
import io
import os
import signal
import sys
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import laconism
from campaign.files import LABELS, said_by
from campaign.runner import Failed

LONGEST_COMMAND_SECONDS = 60


@cache
def models():
    """Return two models, and what each says."""
    made = [laconism.RVMClassifier(gamma=gamma).fit(*LABELS) for gamma in (0.5, 3.0)]
    return [(model, said_by(model)) for model in made]


@cache
def table():
    X, y = LABELS
    return pd.DataFrame(X, columns=["a", "b"]).assign(y=y).to_csv(index=False)


@cache
def written():
    """Return a model that the command has written, and the predictions that it prints."""
    with tempfile.TemporaryDirectory() as folder:
        model, data, said = (Path(folder) / name for name in ("model.skops", "data.csv", "said"))
        data.write_text(table())
        for action in (ACTIONS["fit"](model, data, model), ACTIONS["stream"](model, data, None)):
            code, text = ended(child(action, None, said), said)
            if code != 0:
                raise Failed("exit code", f"{code}: {text[-300:]}", "nothing stops it")
        return model.read_bytes(), text


def run(seed):
    if not hasattr(os, "fork"):
        return
    rng = np.random.default_rng(seed)
    whats, shares = ["save", "predict", "fit", "report", "stream"], [0.5, 0.2, 0.12, 0.03, 0.15]
    what, how = str(rng.choice(whats, p=shares)), str(rng.choice(["kill", "full disk"]))
    with tempfile.TemporaryDirectory() as folder:
        (stream if what == "stream" else trial)(rng, what, how, Path(folder))


def stream(rng, what, how, folder):
    """What does not fit into stdout is told by the exit code, whether stdout has a buffer or not."""
    model, data, said = folder / "model.skops", folder / "data.csv", folder / "said"
    model.write_bytes(written()[0])
    data.write_text(table())
    limit, buffered = int(rng.uniform(0, 1.2) * len(written()[1])), bool(rng.random() < 0.5)
    code, text = ended(child(ACTIONS["stream"](model, data, None), limit, said, buffered), said)
    about = f"predict to stdout of {limit} bytes, {'with' if buffered else 'without'} a buffer"
    if code == 0 and text != written()[1]:
        raise Failed("full disk", f"exit code 0, {len(text)} of {len(written()[1])} characters", about)


def trial(rng, what, how, folder):
    """Let a child write over an old file, stop it or its disk, and look at the file."""
    model, data = folder / "model.skops", folder / "data.csv"
    if what == "save":
        laconism.save(models()[0][0], model)
    else:
        model.write_bytes(written()[0])
    data.write_text(table())
    out = {
        "save": model,
        "fit": model,
        "predict": folder / "pred.csv",
        "report": folder / "report.html",
    }[what]
    if out is not model:
        out.write_text("old\n" * 2000)
    old, about = out.read_bytes(), f"{what}, {how}"
    action = ACTIONS[what](model, data, out)
    whole = length_of(what, action, out, old)
    if how == "kill":
        seconds = rng.uniform(0, 1.2) * whole[1]
        pid = child(action, None)
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        about += f" after {seconds:.3f} s"
    else:
        limit = int(rng.uniform(0, 1.1) * whole[0])
        code, said = ended(child(action, limit, folder / "said"), folder / "said")
        about += f" of {limit} bytes"
        if code == 0 and out.stat().st_size > limit:
            raise Failed(
                "full disk", f"exit code 0, {out.stat().st_size} bytes where {limit} fit", about
            )
        if code != 0 and out.read_bytes() != old:
            raise Failed("old file", "it fails, and the old file is another one", about)
        if code not in (0, 1) or "Traceback" in said:
            raise Failed("exit code", f"{code}: {' '.join(said.split())[-300:]}", about)
    intact(what, out, old, about)
    drafts(action, out, about)


def intact(what, out, old, about):
    """Fail unless a file is the old one, or a whole new one."""
    found = out.read_bytes()
    if found == old:
        return
    if out.suffix == ".skops":
        try:
            said = said_by(laconism.load(out)) if what == "save" else laconism.load(out)
        except ValueError as error:
            raise Failed("old file", f"neither the old model nor a new one: {error}", about) from error
        if what == "save" and said not in [each for _, each in models()]:
            raise Failed("old file", "a model that nobody saved", about)
    elif what == "predict" and found.count(b"\n") != len(LABELS[0]) + 1:
        raise Failed("old file", "a table that is not whole", about)
    elif what == "report" and not found.rstrip().endswith(b"</html>"):
        raise Failed("old file", "a page without an end", about)


def drafts(action, out, about):
    """Once the same file is written again, nothing is left beside it of what was ended."""
    ended(child(action, None, os.devnull), os.devnull)
    left = sorted(each.name for each in out.parent.iterdir() if each.name.startswith("."))
    if left:
        raise Failed("drafts", f"hidden files are left: {left}", about)


_LENGTHS = {}


def length_of(what, action, out, old):
    """Return bytes and seconds of an action that nothing stops; the old file is put back."""
    if what not in _LENGTHS:
        began = time.perf_counter()
        code, said = ended(child(action, None, out.parent / "said"), out.parent / "said")
        if code != 0:
            raise Failed("exit code", f"{code}: {said[-300:]}", f"{what}, nothing stops it")
        _LENGTHS[what] = out.stat().st_size, time.perf_counter() - began
        out.write_bytes(old)
    return _LENGTHS[what]


def child(action, limit, said=os.devnull, buffered=True):
    """Fork a process that does this and no more, and may write files of ``limit`` bytes."""
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        number = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(number, 1)
        os.dup2(number, 2)
        sys.stdout, sys.stderr = standard(1, buffered), standard(2, buffered)
        if limit is not None:
            import resource

            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        warnings.simplefilter("ignore")
        action()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except OSError:
        code = 1
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def standard(number, buffered):
    """Return stdout or stderr; without a buffer as with PYTHONUNBUFFERED."""
    raw = open(number, "wb", -1 if buffered else 0, closefd=False)  # noqa: SIM115
    return io.TextIOWrapper(raw, encoding="utf-8", write_through=not buffered)


def ended(pid, said):
    """Return the exit code of a child, and what it wrote."""
    end = time.perf_counter() + LONGEST_COMMAND_SECONDS
    while time.perf_counter() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), Path(said).read_text(errors="replace")
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise Failed("time", f"it takes more than {LONGEST_COMMAND_SECONDS} seconds")


def commanded(*words):
    def action():
        from laconism.cli import main

        sys.argv = ["laconism", *map(str, words)]
        main()

    return action


ACTIONS = {
    "save": lambda model, data, out: lambda: laconism.save(models()[1][0], out),
    "fit": lambda model, data, out: commanded(
        "fit", data, "-t", "y", "-o", out, "--model", "sparse", "-q"
    ),
    "stream": lambda model, data, out: commanded("predict", model, data, "-q"),
    "predict": lambda model, data, out: commanded("predict", model, data, "-o", out, "-q"),
    "report": lambda model, data, out: commanded(
        "report", data, "-t", "y", "-o", out, "--folds", 2, "--models", "sparse,linear", "-q"
    ),
}
