"""What a benchmark is made of: cells, a stop watch that sees memory too, and bars to be reached.

A benchmark is one file ``bench_<name>.py`` with

    METRICS           names of its own columns in the results
    cells(quick)      the cells to run, each in a process of its own
    run(cell, watch)  yields one dict per row: timings of ``watch`` and values for METRICS
    bars(rows)        what was promised, beside what was measured
    details(rows)     optional: a text for the terminal, below the bars
    tables(rows)      optional: head and rows of each table that a page of the site shows
    PICTURES          optional: (file stem, column, case) drawn against n on log axes
"""

import gc
import importlib
import importlib.metadata
import pkgutil
import resource
import statistics
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
# A fit that takes longer than this is long enough to be timed once.
LONG = 20.0
REPEATS = 3
LIMIT = 1800.0


class Skip(Exception):
    """What a cell raises, with a sentence, when it cannot run here."""


@dataclass(frozen=True)
class Cell:
    """One method on one problem: the unit that gets a process, a thread limit and a time limit."""

    case: str
    method: str
    n: int
    p: int
    seeds: tuple = (0,)
    threads: int = 1
    limit: float = LIMIT
    options: dict = field(default_factory=dict)
    quick: bool = False

    def __str__(self):
        plural = "s" if self.threads > 1 else ""
        return f"{self.case} n={self.n:,} p={self.p:,}, {self.method}, {self.threads} thread{plural}"


def as_dict(cell):
    """Return the cell as plain data."""
    return asdict(cell)


def from_dict(data):
    """Return the cell of plain data."""
    return Cell(**{**data, "seeds": tuple(data["seeds"])})


@dataclass(frozen=True)
class Bar:
    """A measured value beside what is required; without ``bar`` it is there to be read.

    With a standard ``error``, a value that misses by less than that is neither above nor below.
    """

    what: str
    value: float | None
    sign: str = ">="
    bar: float | None = None
    unit: str = ""
    error: float | None = None

    @property
    def verdict(self):
        """Pass, level, not reached, not measured, or nothing where nothing is required."""
        if self.value is None:
            return "not measured"
        if self.bar is None:
            return ""
        missed_by = self.bar - self.value if self.sign == ">=" else self.value - self.bar
        if missed_by <= 0:
            return "pass"
        return "level" if self.error is not None and missed_by < self.error else "not reached"

    def cells(self):
        """Return the four texts of a table's row."""
        # Three digits, or as many as it takes to see on which side of the bar a near miss is.
        missed = self.verdict in ("level", "not reached")
        near = missed and float(f"{self.value:.3g}") == self.bar
        value = "" if self.value is None else f"{self.value:.{5 if near else 3}g}{self.unit}"
        value += "" if self.error is None else f" ({self.error:.1g})"
        required = "" if self.bar is None else f"{self.sign} {self.bar:g}{self.unit}"
        return self.what, value, required, self.verdict


class Rows(list):
    """Rows of results, the latest of each kind; values are found by their description."""

    def where(self, **description):
        """Return the rows that ran and fit the description."""

        def fits(row):
            return row["status"] == "ok" and all(
                row.get(key) == want for key, want in description.items()
            )

        return Rows(row for row in self if fits(row))

    def values(self, column, **description):
        """Return the numbers of one column."""
        rows = self.where(**description)
        return [row[column] for row in rows if isinstance(row.get(column), int | float)]

    def median(self, column, **description):
        """Return the median of a column, or None without rows."""
        values = self.values(column, **description)
        return statistics.median(values) if values else None

    def mean(self, column, **description):
        """Return the mean of a column, or None without rows."""
        values = self.values(column, **description)
        return statistics.fmean(values) if values else None

    def pairs(self, column, ours, theirs, **description):
        """Return the values of two methods at each of the seeds that both finished."""

        def by_seed(method):
            rows = self.where(method=method, **description)
            return {row["seed"]: row[column] for row in rows if isinstance(row.get(column), int | float)}

        mine, other = by_seed(ours), by_seed(theirs)
        return [(mine[seed], other[seed]) for seed in sorted(mine.keys() & other.keys())]

    def paired(self, column, ours, theirs, **description):
        """Return the means of two methods over the seeds that both finished, or None twice."""
        pairs = self.pairs(column, ours, theirs, **description)
        return tuple(map(statistics.fmean, zip(*pairs, strict=True))) if pairs else (None, None)

    def quotient(self, column, ours, theirs, **description):
        """Return the quotient of two methods' means over the seeds of both, and its standard error."""
        pairs = self.pairs(column, ours, theirs, **description)
        quotient = ratio(*self.paired(column, ours, theirs, **description))
        if quotient is None or len(pairs) < 2:
            return quotient, None
        # To first order: what the pairs deviate from the quotient, over the mean below.
        residual = statistics.stdev(mine - quotient * other for mine, other in pairs)
        return quotient, residual / len(pairs) ** 0.5 / statistics.fmean(other for _, other in pairs)

    def sizes(self, **description):
        """Return the numbers of rows that were tried, ascending."""
        tried = (row for row in self if all(row.get(key) == want for key, want in description.items()))
        return sorted({row["n"] for row in tried})


def ratio(above, below):
    """Return the quotient, or None where a part is missing."""
    return None if above is None or not below else above / below


def difference(a, b):
    """Return ``a - b``, or None where a part is missing."""
    return None if a is None or b is None else a - b


def slope(x, y):
    """Return slope and intercept of the line through the logarithms, by least squares."""
    import numpy as np

    return tuple(float(c) for c in np.polyfit(np.log(x), np.log(y), 1))


def registry():
    """Return the benchmarks by name: the folder is the registry."""
    names = [info.name for info in pkgutil.iter_modules([str(HERE)]) if info.name.startswith("bench_")]
    return {n.removeprefix("bench_"): importlib.import_module(f"benchmarks.{n}") for n in sorted(names)}


# ---- what cells use ------------------------------------------------------------------------------


class Watch:
    """Times an action and sees the memory it takes beyond what was there before."""

    def __init__(self, quick=False):
        self.repeats = 1 if quick else REPEATS

    def __call__(self, action):
        """Return the action's answer and its row: median wall and CPU seconds, peak memory."""
        gc.collect()
        before = _reset_peak()
        wall, cpu = [], []
        while not wall or (len(wall) < self.repeats and wall[0] < LONG):
            answer = None  # the last answer must not count as memory of the next
            started, worked = time.perf_counter(), time.process_time()
            answer = action()
            cpu.append(time.process_time() - worked)
            wall.append(time.perf_counter() - started)
        peak = _peak()
        row = {
            "seconds": statistics.median(wall),
            "cpu_seconds": statistics.median(cpu),
            "repeats": len(wall),
            "peak_mib": peak / 2**20,
            "beyond_mib": max(peak - before, 0) / 2**20,
        }
        return answer, row

    def seconds(self, action):
        """Return the median wall time alone."""
        return self(action)[1]["seconds"]


def _reset_peak():
    """Forget the peak where the system allows it, and return the memory in use now, in bytes.

    The peak of ``getrusage`` survives the start of a process (it may be the parent's) and the making
    of the data; Linux can forget its own.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return _peak()
    return _status("VmRSS:") or _peak()


def _peak():
    return _status("VmHWM:") or _maxrss()


def _status(key):
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return None
    found = [line.split()[1] for line in text.splitlines() if line.startswith(key)]
    return 1024 * int(found[0]) if found else None


def _maxrss():
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def rival(name):
    """Import a rival, or skip with a sentence."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Skip(f"{name} is not installed: pip install --group bench.") from None


def data_file(name):
    """Load a published file, or skip with a sentence."""
    from laconism.datasets import load_npz

    try:
        return load_npz(name)
    except FileNotFoundError:
        raise Skip(
            f"{name}.npz was not found; laconism.datasets.find_data_file says where it is published."
        ) from None


def versions():
    """Return what the numbers hang on, without saying where they were taken."""
    parts = ["python " + ".".join(map(str, sys.version_info[:3]))]
    for name in (
        "laconism",
        "numpy",
        "scipy",
        "scikit-learn",
        "fastrvm",
        "abess",
        "skglm",
        "interpret-core",
    ):
        try:
            parts.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return "; ".join(parts)
