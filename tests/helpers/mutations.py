"""How many wrong versions of the code the tests notice, on a sample of small changes to it.

A change swaps one operator, one number or one condition in a line that some test executes; then the
tests that execute the line run on the changed code. A change is killed when one of them fails.

    python tests/helpers/mutations.py --sample 200 --jobs 2 --coverage .coverage --out sample.csv

The coverage must tell the tests apart: contexts "path::test|run", as pytest-cov writes them with
``--cov-branch --cov-context=test``. Which changes are drawn depends on the seed and on the changed
statement, not on where it stands: code that was only moved gives nearly the same sample, and
``--against`` compares the two change by change.
"""

import argparse
import ast
import compileall
import contextlib
import csv
import hashlib
import json
import math
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from py_compile import PycInvalidationMode

COLUMNS = (
    "key", "file", "line", "column", "kind", "before", "after", "result", "tests", "covering", "seconds",
)  # fmt: skip
COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
}
EXTREMES = {"min": "max", "minimum": "maximum", "fmin": "fmax", "argmin": "argmax", "nanmin": "nanmax"}
EXTREMES |= {most: least for least, most in EXTREMES.items()}
# Calls that only speak to people, and arguments that only say how something looks.
SPEECH = {
    "print", "echo", "secho", "rule", "say", "remark", "note", "warn", "debug", "info", "warning",
    "error", "add_column", "add_row", "Option", "Argument", "Table", "Panel", "Text", "cast", "TypeVar",
    "set_title", "set_xlabel", "set_ylabel", "suptitle",
}  # fmt: skip
LOOKS = {
    "stacklevel", "linewidth", "linewidths", "lw", "fontsize", "labelsize", "markersize", "zorder",
    "figsize", "dpi", "rotation", "indent", "width", "height", "pad", "borderpad",
}  # fmt: skip
# Seconds of a test of which no duration is known.
UNKNOWN = 0.4
MEMORY = 8 << 30
# Limits hold from the start; processor time, so that a busy machine does not look like an endless loop.
LAUNCH = """
import resource, sys
seconds, memory = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
import pytest
sys.exit(pytest.main(sys.argv[3:]))
"""
OPTIONS = (
    "-q",
    "-p",
    "no:cacheprovider",
    "-o",
    "addopts=",
    "--strict-markers",
    "--import-mode=importlib",
)


@dataclass(frozen=True)
class Mutation:
    """One change: what stands between two places of a file, and what is put there instead."""

    key: str
    file: str
    start: tuple[int, int]
    stop: tuple[int, int]
    kind: str
    before: str
    after: str
    new: str
    # Lines that execute the change: its own, the statement's, or those that use a constant.
    places: tuple[tuple[str, int], ...]
    others: tuple[tuple[str, int], ...]

    def apply(self, source):
        """Return the changed file."""
        lines = source.splitlines(keepends=True)
        (first, left), (last, right) = self.start, self.stop
        head, tail = lines[first - 1][:left], lines[last - 1][right:]
        return b"".join([*lines[: first - 1], head + self.new.encode() + tail, *lines[last:]])


class Finder:
    """The possible changes of one file."""

    def __init__(self, root, package, file, times):
        self.file = file.relative_to(root).as_posix()
        self.source = file.read_bytes()
        self.tree = ast.parse(self.source)
        self.package = re.compile(re.escape(package), re.IGNORECASE)
        self.times = times
        self.found = []
        self.constants = []
        self.index()

    def find(self):
        for node in self.tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                self.constant(node)
            else:
                self.definition(node)
        return self.found

    def constant(self, node):
        """Numbers of a module; what uses them is looked up later."""
        names = targets(node)
        if names and not any(name.startswith("__") for name in names):
            self.where, self.text, self.lines, self.numbers = "", ast.unparse(node), (), True
            first = len(self.found)
            self.expression(node.value)
            self.constants += [(index, names) for index in range(first, len(self.found))]

    def definition(self, node):
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                self.definition(part)
        elif isinstance(node, ast.FunctionDef):
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            if node.name not in ("__repr__", "__str__") and "overload" not in decorators:
                self.block(node.body, node.name)

    def block(self, statements, name):
        for statement in statements:
            self.statement(statement, name)

    def statement(self, node, name):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            return self.definition(node)
        if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
            return None
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return None
        heads = self.heads(node)
        self.where, self.numbers = name, False
        self.text = (
            "; ".join(ast.unparse(head) for head in heads)
            if hasattr(node, "body")
            else ast.unparse(node)
        )
        last = max([node.lineno, *(head.end_lineno for head in heads)])
        self.lines = tuple(range(node.lineno, last + 1))
        if isinstance(node, ast.If | ast.While):
            self.condition(node.test)
        elif isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
            swapped = ast.AugAssign(node.target, ARITHMETIC[type(node.op)](), node.value)
            self.add(node, "arithmetic", swapped, statement=True)
        for head in heads:
            self.expression(head)
        if isinstance(node, ast.For) and "count(" not in ast.unparse(node.iter):
            self.breaks(node.body, name)
        for part in ("body", "orelse", "finalbody"):
            self.block(getattr(node, part, ()), name)
        for case in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            self.block(case.body, name)
        return None

    @staticmethod
    def heads(node):
        """Expressions of a statement, without those of the statements in it."""
        heads = []
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "type_comment"):
                continue
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.expr):
                    heads.append(part)
                elif isinstance(part, ast.withitem):
                    heads.append(part.context_expr)
        return heads

    def breaks(self, statements, name):
        """Loops of `for` end anyhow: their `break` can be a `continue`."""
        for node in statements:
            if isinstance(node, ast.Break):
                self.where, self.text, self.lines = name, "break", (node.lineno,)
                self.add(node, "break", ast.Continue(), statement=True)
            elif isinstance(node, ast.If | ast.With | ast.Try):
                parts = [getattr(node, part, []) for part in ("body", "orelse", "finalbody")]
                parts += [handler.body for handler in getattr(node, "handlers", ())]
                for part in parts:
                    self.breaks(part, name)

    def condition(self, test):
        """Negate, unless another change of the same expression is the same."""
        same = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        same |= (
            isinstance(test, ast.Compare)
            and len(test.ops) == 1
            and type(test.ops[0]) in (ast.Eq, ast.NotEq)
        )
        if not same:
            self.add(test, "condition", ast.UnaryOp(ast.Not(), test))

    def expression(self, node):
        match node:
            case ast.JoinedStr():
                return
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called in SPEECH:
                return
            case ast.Constant(value=bool()):
                return
            case ast.Constant(value=int() | float()):
                value = node.value + 1 if isinstance(node.value, int) else 2 * node.value or 1.0
                if node.value == node.value and value != node.value:
                    self.add(node, "number", ast.Constant(value))
                return
        if not self.numbers:
            self.operator(node)
        for field, part in ast.iter_fields(node):
            if field == "args" and isinstance(node, ast.Lambda):
                continue
            for child in part if isinstance(part, list) else [part]:
                if isinstance(child, ast.keyword):
                    if child.arg not in LOOKS:
                        self.expression(child.value)
                elif isinstance(child, ast.comprehension):
                    self.expression(child.iter)
                    for test in child.ifs:
                        if not self.numbers:
                            self.condition(test)
                        self.expression(test)
                elif isinstance(child, ast.expr):
                    self.expression(child)

    def operator(self, node):
        match node:
            case ast.Compare():
                for place, sign in enumerate(node.ops):
                    if type(sign) in COMPARISONS:
                        signs = [*node.ops[:place], COMPARISONS[type(sign)](), *node.ops[place + 1 :]]
                        self.add(node, "compare", ast.Compare(node.left, signs, node.comparators))
            case ast.BinOp() if type(node.op) in ARITHMETIC and not (
                is_text(node.left) or is_text(node.right)
            ):
                self.add(
                    node, "arithmetic", ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
                )
            case ast.BoolOp():
                other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
                self.add(node, "boolean", ast.BoolOp(other, node.values))
            case ast.UnaryOp(op=ast.Not()):
                self.add(node, "not", node.operand)
            case ast.IfExp():
                self.condition(node.test)
            case ast.Call(func=ast.Name(id=called)) if called in EXTREMES:
                self.add(node.func, "extreme", ast.Name(EXTREMES[called]))
            case ast.Call(func=ast.Attribute(value=owner, attr=called)) if called in EXTREMES:
                self.add(node.func, "extreme", ast.Attribute(owner, EXTREMES[called]))

    def add(self, node, kind, changed, *, statement=False):
        before, after = ast.unparse(node), ast.unparse(changed)
        new = after if statement else f"({after})"
        name = self.package.sub("package", "\n".join((self.where, self.text, kind, before, after)))
        self.times[name] += 1
        key = hashlib.sha256(f"{name}\n{self.times[name]}".encode()).hexdigest()[:16]
        start, stop = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        own = ((self.file, node.lineno),)
        others = tuple((self.file, line) for line in self.lines)
        self.found.append(Mutation(key, self.file, start, stop, kind, before, after, new, own, others))

    def index(self):
        """Note what is imported, and where the functions use which names."""
        self.imports, self.uses = defaultdict(set), defaultdict(set)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self.imports[alias.name].add(alias.asname or alias.name)
            elif isinstance(node, ast.FunctionDef):
                for part in ast.walk(node):
                    if isinstance(part, ast.Name):
                        self.uses[part.id].add((self.file, part.lineno))

    def users(self, names):
        """Lines of functions here that use a constant of a module, or another one made from it."""
        names = set(names)
        for node in self.tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                used = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
                if used & names:
                    names |= targets(node)
        return set().union(*(self.uses[name] for name in names))

    def imported(self, names):
        """Names under which the constants of another module are here."""
        return set().union(*(self.imports[name] for name in names))


def targets(node):
    """Return the names that are assigned to."""
    found = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {part.id for target in found for part in ast.walk(target) if isinstance(part, ast.Name)}


def is_text(node):
    return isinstance(node, ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def find_package(root):
    """Return the name of the one package under src/."""
    names = [path.parent.name for path in root.glob("src/*/__init__.py")]
    if len(names) != 1:
        sys.exit(f"There must be one package under src/, found {names}.")
    return names[0]


def find_mutations(root, package):
    times = Counter()
    files = sorted((root / "src" / package).rglob("*.py"))
    finders = [
        Finder(root, package, file, times)
        for file in files
        if file.name not in ("__init__.py", "__main__.py")
    ]
    found = []
    for finder in finders:
        finder.find()
        for index, names in finder.constants:
            places = finder.users(names)
            for other in finders:
                if other is not finder and (here := other.imported(names)):
                    places |= other.users(here)
            change = finder.found[index]
            finder.found[index] = Mutation(
                **{**vars(change), "places": tuple(sorted(places)), "others": ()}
            )
        found += finder.found
    return found


def read_coverage(path, package):
    """Return the tests of every line; doctests, which stand beside the code, are left out."""
    import coverage

    data = coverage.CoverageData(str(path))
    data.read()
    tests = {}
    for file in data.measured_files():
        _, found, name = Path(file).as_posix().rpartition(f"/src/{package}/")
        if found:
            for line, contexts in data.contexts_by_lineno(file).items():
                names = {context.rpartition("|")[0] or context for context in contexts}
                names = frozenset(name for name in names if name and not name.startswith("src/"))
                if names:
                    tests[f"src/{package}/{name}", line] = names
    return tests


def tests_of(change, tests):
    """Return the tests that execute a change, by its line or else by its statement."""
    for places in (change.places, change.others):
        if names := frozenset().union(*(tests.get(place, ()) for place in places)):
            return names
    return frozenset()


def read_durations(path):
    """Return seconds by (class, name) of the tests that passed, from a file of JUnit, and the others."""
    seconds, unfit = {}, set()
    for case in ElementTree.parse(path).iter("testcase"):
        name = case.get("classname"), case.get("name")
        if any(case.find(tag) is not None for tag in ("failure", "error", "skipped")):
            unfit.add(name)
        else:
            seconds[name] = float(case.get("time"))
    return seconds, unfit


def as_junit(test):
    """Return class and name that a test has in a file of JUnit."""
    path, bracket, arguments = test.partition("[")
    file, *names = path.split("::")
    return ".".join([file.removesuffix(".py").replace("/", "."), *names[:-1]]), names[
        -1
    ] + bracket + arguments


def part_of(file):
    """Return the package a file belongs to, of those right under the whole one."""
    parts = file.split("/")
    return parts[2] if len(parts) > 3 else "(top)"


def draw(changes, count, seed):
    """Draw changes, from every package in proportion to how many it has."""
    strata = defaultdict(list)
    for change in changes:
        strata[part_of(change.file)].append(change)
    count = min(count, len(changes))
    shares = {name: count * len(members) / len(changes) for name, members in strata.items()}
    sizes = {name: int(share) for name, share in shares.items()}
    rest = sorted(shares, key=lambda name: (sizes[name] - shares[name], name))
    for name in rest[: count - sum(sizes.values())]:
        sizes[name] += 1

    def order(change):
        return hashlib.sha256(f"{seed} {change.key}".encode()).hexdigest()

    drawn = [
        change for name in sorted(strata) for change in sorted(strata[name], key=order)[: sizes[name]]
    ]
    return sorted(drawn, key=order)


def choose(names, seconds, budget, most):
    """Return tests to run: the fastest one of every test function first, then the second ones."""
    functions = defaultdict(list)
    for name in sorted(names, key=lambda name: (seconds(name), name)):
        functions[name.partition("[")[0]].append(name)
    ranked = [
        (place, seconds(name), name) for group in functions.values() for place, name in enumerate(group)
    ]
    chosen, total = [], 0.0
    for _, time_needed, name in sorted(ranked):
        if chosen and (len(chosen) == most or total + time_needed > budget):
            break
        chosen.append(name)
        total += time_needed
    # One file after the other, so that its fixtures are made once.
    files = list(dict.fromkeys(name.partition("::")[0] for name in chosen))
    return sorted(chosen, key=lambda name: files.index(name.partition("::")[0])), total


class Overlay:
    """A copy of src/ that is imported instead of the one of the checkout."""

    def __init__(self, root, folder, package):
        self.root, self.folder, self.package = root, Path(folder), package
        shutil.copytree(root / "src", self.folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(
            self.folder / "src", quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH
        )
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                filter(None, [str(self.folder / "src"), os.environ.get("PYTHONPATH")])
            ),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "MPLBACKEND": "Agg",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self.folder / "hypothesis"),
        }
        ask = f"import {package}; print({package}.__file__)"
        told = subprocess.run(
            [sys.executable, "-c", ask],
            env=self.environment,
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
        if not told.stdout.startswith(str(self.folder)):
            sys.exit(f"The tests would not import the changed copy but {told.stdout.strip()}.")

    def run(self, tests, limit, *more):
        """Run tests; return pytest's exit code, or None when they took too long."""
        listed = self.folder / "tests.txt"
        listed.write_text("\n".join(tests), encoding="utf-8")
        command = [sys.executable, "-c", LAUNCH, str(math.ceil(limit)), str(MEMORY), *OPTIONS, *more]
        command += ["--basetemp", str(self.folder / "temp"), f"@{listed}"]
        with open(self.folder / "log.txt", "w") as log:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                code = process.wait(5 * limit)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code

    def judge(self, change, tests, limit):
        """Run tests on the changed code."""
        file = self.folder / change.file
        source = file.read_bytes()
        changed = change.apply(source)
        compile(changed, change.file, "exec")  # a change that is no Python would be no test of the tests
        file.write_bytes(changed)
        try:
            code = self.run(tests, limit, "-x", "--tb=no")
        finally:
            file.write_bytes(source)
        if code == 5:
            sys.exit(f"No test was collected for {change.file}:{change.start[0]}.")
        return "timeout" if code is None else "killed" if code else "survived"

    def fit(self, tests, seconds):
        """Return which tests pass on the unchanged copy."""
        report = self.folder / "report.xml"
        self.run(tests, 600 + 5 * seconds, "--tb=no", f"--junit-xml={report}")
        passed, _ = read_durations(report)
        return {test for test in tests if as_junit(test) in passed}


def prepare(overlay, sample, covering, seconds, unfit, options):
    """Choose the tests of every change such that all of them pass on the unchanged code."""
    store = options.out.with_suffix(".tests.json")
    known = (
        json.loads(store.read_text()) if options.resume and store.exists() else {"fit": [], "unfit": []}
    )
    fit, unfit = set(known["fit"]), set(known["unfit"]) | unfit
    while True:
        chosen = {
            change.key: choose(covering[change.key] - unfit, seconds, options.budget, options.most)
            for change in sample
        }
        new = sorted({test for tests, _ in chosen.values() for test in tests} - fit)
        if not new:
            return chosen
        print(f"{len(new)} tests run on the unchanged code first.", flush=True)
        passed = overlay.fit(new, sum(map(seconds, new)))
        if not passed:
            sys.exit(f"None of them passed:\n{(overlay.folder / 'log.txt').read_text()[-3000:]}")
        fit |= passed
        unfit |= set(new) - passed
        for test in sorted(set(new) - passed):
            print(f"left out, it does not pass: {test}")
        store.write_text(json.dumps({"fit": sorted(fit), "unfit": sorted(unfit)}))


def run_all(root, package, sample, covering, seconds, unfit, options):
    rows = read_rows(options.out) if options.resume and options.out.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        overlays = queue.SimpleQueue()
        first = Overlay(root, Path(folder, "0"), package)
        chosen = prepare(first, sample, covering, seconds, unfit, options)
        overlays.put(first)
        for job in range(1, options.jobs):
            overlays.put(Overlay(root, Path(folder, str(job)), package))

        def judge(change):
            overlay = overlays.get()
            begun = time.perf_counter()
            tests, total = chosen[change.key]
            try:
                result = overlay.judge(change, tests, 60 + 5 * total) if tests else "survived"
            finally:
                overlays.put(overlay)
            return {
                "key": change.key, "file": change.file, "line": change.start[0],
                "column": change.start[1], "kind": change.kind, "before": change.before[:200],
                "after": change.after[:200], "result": result, "tests": len(tests),
                "covering": len(covering[change.key]),
                "seconds": f"{time.perf_counter() - begun:.1f}",
            }  # fmt: skip

        left = [change for change in sample if change.key not in rows]
        with open(options.out, "a" if rows else "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            if not rows:
                writer.writeheader()
            with ThreadPoolExecutor(options.jobs) as pool:
                for done in as_completed([pool.submit(judge, change) for change in left]):
                    row = done.result()
                    rows[row["key"]] = row
                    writer.writerow(row)
                    file.flush()
                    print(
                        len(rows), row["result"], f"{row['file']}:{row['line']}", row["kind"], flush=True
                    )
    return [rows[change.key] for change in sample]


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return {row["key"]: row for row in csv.DictReader(file)}


def is_killed(row):
    return row["result"] != "survived"


def share(rows):
    """Return the killed share with its standard error, as text."""
    killed = sum(map(is_killed, rows))
    part = killed / len(rows)
    error = math.sqrt(part * (1 - part) / len(rows))
    return f"{killed:4} of {len(rows):4}: {100 * part:5.1f} % ± {100 * error:4.1f} %"


def summarize(rows):
    print(f"\nkilled    {share(rows)}")
    print("of these by timeout:", sum(row["result"] == "timeout" for row in rows))
    part = sum(not is_killed(row) and int(row["tests"]) < int(row["covering"]) for row in rows)
    print("survivors of a part of their tests only:", part)
    for title, of in (("package", lambda row: part_of(row["file"])), ("kind", lambda row: row["kind"])):
        print(f"\nby {title}")
        groups = defaultdict(list)
        for row in rows:
            groups[of(row)].append(row)
        for name in sorted(groups):
            print(f"{name:14} {share(groups[name])}")


def compare(rows, path):
    """Compare with another run, over the changes that both have."""
    old = read_rows(path)
    both = [(old[row["key"]], row) for row in rows if row["key"] in old]
    print(f"\n{len(both)} changes are also in {Path(path).name}")
    if both:
        print(f"there     {share([before for before, _ in both])}")
        print(f"here      {share([now for _, now in both])}")
        for title, first in (("killed only there", 0), ("killed only here", 1)):
            ones = [
                pair[1] for pair in both if is_killed(pair[first]) and not is_killed(pair[1 - first])
            ]
            print(f"{title}: {len(ones)}", *(f"  {row['file']}:{row['line']}" for row in ones), sep="\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="changes to draw")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="changes judged at once")
    parser.add_argument(
        "--coverage", type=Path, default=Path(".coverage"), help="coverage with contexts"
    )
    parser.add_argument("--durations", type=Path, help="a file of JUnit with the seconds of the tests")
    parser.add_argument("--budget", type=float, default=25.0, help="seconds of tests for one change")
    parser.add_argument("--most", type=int, default=60, help="tests for one change")
    parser.add_argument("--out", type=Path, required=True, help="a row of CSV for every change")
    parser.add_argument("--resume", action="store_true", help="keep what the file already has")
    parser.add_argument("--against", type=Path, help="the file of another run to compare with")
    options = parser.parse_args()
    root = Path.cwd()
    package = find_package(root)
    changes = find_mutations(root, package)
    tests = read_coverage(options.coverage, package)
    covering = {change.key: tests_of(change, tests) for change in changes}
    covered = [change for change in changes if covering[change.key]]
    part = 1 - len(covered) / len(changes)
    print(f"{len(changes)} possible changes; no test executes {part:.1%} of them.")
    print("by kind:", dict(Counter(change.kind for change in covered)))
    print("by package:", dict(Counter(part_of(change.file) for change in covered)), flush=True)
    recorded, failed = read_durations(options.durations) if options.durations else ({}, set())
    unfit = {test for test in frozenset().union(*tests.values()) if as_junit(test) in failed}
    sample = draw(covered, options.sample, options.seed)
    rows = run_all(
        root,
        package,
        sample,
        covering,
        lambda test: recorded.get(as_junit(test), UNKNOWN),
        unfit,
        options,
    )
    summarize(rows)
    if options.against:
        compare(rows, options.against)


if __name__ == "__main__":
    main()
