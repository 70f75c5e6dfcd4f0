"""What each candidate and each rule of the flagship is worth: the development suite without it.

One cell is a draw of a problem: the complete library (method "none"), then the library without each of
its switches (``laconism.judging.ablate``). A switch that the complete fit never asks for changes nothing
and is not fitted again. ``log_loss`` is in nats per test row; of a regression it is minus the log
density of the standardised target, and ``error`` is the RMSE over the standard deviation.

python -m benchmarks.bench_ablation FILE           the table of the switches, from a file of results
python -m benchmarks.bench_ablation BEFORE AFTER   the complete library before and after, by problem
"""

import math
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from laconism import LaconicClassifier, LaconicRegressor
from laconism.judging.ablate import SWITCHES, recording, without

from ._development import KINDS, PROBLEMS
from ._harness import RESULTS, Bar, Cell
from ._runner import read, without_paths
from ._tables import plain

METRICS = ("kind", "target", "log_loss", "error", "kept", "asked", "differs")
COMPLETE = "none"
BEFORE = "ablation_before.csv"
QUICK = ("iris", "duplicates", "values at random")
QUICK_SWITCHES = 3
LIMIT = 3_600.0
# A comparison with the results of before needs so many problems.
MIN_PROBLEMS = 40
MAX_SWITCHES = 20
# A rule stays if it helps a kind of data by so many nats per row, and so many standard errors.
KIND_NATS = 0.01
KIND_ERRORS = 3.0
FLOOR = np.finfo(float).eps


def cells(quick):
    chosen = [problem for problem in PROBLEMS.values() if not quick or problem.name in QUICK]
    draws = range(1 if quick else max(problem.draws for problem in chosen))
    # First one draw of everything, so that part of a run says something about all.
    return [
        Cell(problem.name, COMPLETE, problem.n, problem.p, seeds=(draw,), limit=LIMIT)
        for draw in draws
        for problem in chosen
        if draw < problem.draws
    ]


def run(cell, watch):
    watch.repeats = 1
    problem, draw = PROBLEMS[cell.case], cell.seeds[0]
    data = problem.make(draw)
    # The first fit of a process pays for what it imports: a small one goes before.
    X = np.random.default_rng(0).normal(size=(30, 2))
    measure(problem, (X, X[:, 0] if problem.regression else X[:, 0] > 0, X, X[:, 0] > 0), watch)
    with recording() as asked:
        complete, row = measure(problem, data, watch)
    target = "values" if problem.regression else "labels"
    row = {"method": COMPLETE, "seed": draw, "kind": problem.kind, "target": target, **row}
    yield {**row, "asked": 1, "differs": 0.0}
    for switch in sorted(SWITCHES)[: QUICK_SWITCHES if cell.quick else None]:
        if switch not in asked:
            yield {**row, "method": switch, "repeats": 0, "asked": 0, "differs": 0.0}
            continue
        try:
            with without(switch):
                predicted, without_it = measure(problem, data, watch)
        except Exception as error:  # the library without a rule: it may fail
            message = without_paths(f"{type(error).__name__}: {error}")
            yield {"method": switch, "seed": draw, "status": "failed", "message": message}
            continue
        differs = float(np.max(np.abs(predicted - complete)))
        yield {**row, **without_it, "method": switch, "asked": 1, "differs": differs}


def measure(problem, data, watch):
    """Return predictions of a fit, and its row: time, loss, error and size."""
    X, y, X_test, y_test = data
    model = (LaconicRegressor if problem.regression else LaconicClassifier)(**problem.options)
    model, row = watch(lambda: model.fit(X, y))
    if problem.regression:
        unit = float(np.std(y))
        mean, std = model.predict_dist(X_test)
        loss = -float(np.mean(model.log_density(X_test, y_test))) - math.log(unit)
        error = float(np.sqrt(np.mean((y_test - mean) ** 2))) / unit
        predicted = np.array([mean, std]) / unit
    else:
        predicted = model.predict_proba(X_test)
        of_label = (predicted * (model.classes_ == np.asarray(y_test)[:, None])).sum(axis=1)
        loss = -float(np.mean(np.log(np.maximum(of_label, FLOOR))))
        error = float(np.mean(model.predict(X_test) != y_test))
    return predicted, {**row, "log_loss": loss, "error": error, "kept": int(model.n_relevant_)}


# ---- the summary ---------------------------------------------------------------------------------


def mean_and_error(values):
    """Return the mean and its standard error, which is zero of a single value."""
    values = list(values)
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return statistics.fmean(values), error


@dataclass(frozen=True)
class Change:
    """What changes on a problem, draws averaged: nats per row, size, logarithm of the time."""

    problem: str
    kind: str
    target: str
    nats: float
    kept: float
    time: float
    differs: bool


def changes(before, after):
    """Return the changes from some rows to others, by problem; they are paired by their draws."""
    found = {}
    for key in before.keys() & after.keys():
        found.setdefault(key[0], []).append((before[key], after[key]))
    order = [case for case in PROBLEMS if case in found]
    return [_change(case, found[case]) for case in order]


def _change(case, pairs):
    def mean(column):
        return statistics.fmean(after[column] - before[column] for before, after in pairs)

    times = [math.log(max(b["cpu_seconds"], 1e-3) / max(a["cpu_seconds"], 1e-3)) for a, b in pairs]
    first = pairs[0][0]
    return Change(
        case,
        first["kind"],
        first["target"],
        mean("log_loss"),
        mean("kept"),
        statistics.fmean(times),
        any(b["differs"] > 0 for _, b in pairs),
    )


def by_draw(rows, method):
    """Return the rows of a method that ran, by problem, sizes and draw."""
    return {(row["case"], row["n"], row["p"], row["seed"]): row for row in rows.where(method=method)}


@dataclass(frozen=True)
class Effect:
    """What happens without a rule, over the problems: positive nats are what it is worth."""

    switch: str
    changes: list

    def over(self, kind=None):
        """Return mean and standard error of the nats, over all problems or those of a kind."""
        values = [c.nats for c in self.changes if kind in (None, c.kind)]
        return mean_and_error(values) if values else None

    @property
    def pays(self):
        """Whether the rule stays: without it the loss is clearly larger, overall or on a kind."""
        mean, error = self.over()
        kinds = [self.over(kind) for kind in KINDS]
        return mean > error or any(m > max(KIND_NATS, KIND_ERRORS * e) for m, e in filter(None, kinds))

    def cells(self):
        """Return the texts of a table's row."""
        mean, error = self.over()
        kept = statistics.fmean(c.kept for c in self.changes)
        time = math.expm1(statistics.fmean(c.time for c in self.changes))
        ordered = sorted(self.changes, key=lambda c: c.nats)
        best, worst = (f"{c.problem} {c.nats:+.3f}" if c.nats else "" for c in (ordered[-1], ordered[0]))
        differs = sum(c.differs for c in self.changes)
        texts = [self.switch, str(differs), f"{mean:+.4f} ({error:.4f})", f"{kept:+.1f}", f"{time:+.0%}"]
        return [*texts, best, worst, "pays" if self.pays else ""]

    def kind_cells(self):
        """Return the texts of a table's row: mean and standard error of each kind of data."""
        found = [self.over(kind) for kind in KINDS]
        return [self.switch, *("" if f is None else f"{f[0]:+.4f} ({f[1]:.4f})" for f in found)]


HEAD = ("without", "differs", "nats", "kept", "time", "helps most", "harms most", "")


def effects(rows):
    """Return the effect of each switch, the most valuable first."""
    complete = by_draw(rows, COMPLETE)
    found = []
    for switch in dict.fromkeys(row["method"] for row in rows):
        changed = changes(complete, by_draw(rows, switch)) if switch != COMPLETE else []
        found += [Effect(switch, changed)] if changed else []
    return sorted(found, key=lambda effect: -effect.over()[0])


def complete_cells(rows):
    """Return head and rows of a table: the complete library on each kind of data."""
    found = {}
    for row in rows.where(method=COMPLETE):
        for group in (row["kind"], row["target"]):
            found.setdefault(group, {}).setdefault(row["case"], []).append(row)
    body = []
    for group in (group for group in (*KINDS, "labels", "values") if group in found):
        columns = [
            [statistics.fmean(row[column] for row in draws) for draws in found[group].values()]
            for column in ("log_loss", "error", "kept", "cpu_seconds")
        ]
        means = [f"{statistics.fmean(values):.4g}" for values in columns]
        body.append([group, str(len(found[group])), *means])
    return ("complete library", "problems", "nats", "error", "kept", "CPU seconds"), body


def tables(rows):
    """Return head and rows of each table: complete library, switches, switches by kind of data."""
    found = effects(rows)
    return [
        complete_cells(rows),
        (HEAD, [effect.cells() for effect in found]),
        (("nats, without", *KINDS), [effect.kind_cells() for effect in found]),
    ]


def details(rows):
    """Return the tables, and what failed."""
    parts = [plain(*table) for table in tables(rows) if table[1]]
    failed = [row for row in rows if row["status"] == "failed"]
    parts += [f"  {row['case']} without {row['method']}: {row['message']}" for row in failed]
    return "\n\n".join(parts)


# ---- before and after ----------------------------------------------------------------------------


def compared(before, after):
    """Return the changes of the complete library from one file of results to another."""
    return changes(*(by_draw(rows, COMPLETE) for rows in (before, after)))


def comparison(before, after):
    """Return the table of before and after: groups of problems, then each problem, the worst first."""
    found = compared(before, after)
    if not found:
        return "The files have no problem in common."
    means = [_of_problem(rows) for rows in (before, after)]
    groups = {"all": found}
    for group in ("labels", "values", *KINDS):
        groups[group] = [c for c in found if group in (c.kind, c.target)]
    body = []
    for group, members in groups.items():
        if members:
            columns = [
                [statistics.fmean(m[c.problem][k] for c in members) for m in means] for k in range(3)
            ]
            mean, error = mean_and_error(c.nats for c in members)
            time = statistics.fmean(c.time for c in members)
            body.append(
                [f"{group}, {len(members)} problems", *_compared_cells(columns, mean, error, time)]
            )
    for change in sorted(found, key=lambda c: -c.nats):
        columns = [[m[change.problem][k] for m in means] for k in range(3)]
        body.append([change.problem, *_compared_cells(columns, change.nats, None, change.time)])
    head = (
        "after minus before",
        "nats",
        "nats before",
        "after",
        "kept before",
        "after",
        "s before",
        "after",
    )
    return plain((*head, "time"), body)


def _compared_cells(columns, mean, error, time):
    nats = f"{mean:+.4f}" + ("" if error is None else f" ({error:.4f})")
    formats = ("{:.4f}", "{:.1f}", "{:.2f}")
    values = [form.format(v) for form, pair in zip(formats, columns, strict=True) for v in pair]
    return [nats, *values, f"{math.expm1(time):+.0%}"]


def _of_problem(rows):
    """Return nats, size and seconds of each problem, draws averaged."""
    found = {}
    for row in rows.where(method=COMPLETE):
        values = [row[column] for column in ("log_loss", "kept", "cpu_seconds")]
        found.setdefault(row["case"], []).append(values)
    return {
        case: [statistics.fmean(v) for v in zip(*draws, strict=True)] for case, draws in found.items()
    }


def bars(rows):
    found = effects(rows)
    lines = [
        Bar(
            "problems of the suite",
            len({row["case"] for row in rows.where()}) or None,
            ">=",
            MIN_PROBLEMS,
        ),
        Bar("candidates and rules with a switch", len(found) or None, "<=", MAX_SWITCHES),
        Bar("of these, worth more than a standard error", sum(e.pays for e in found) if found else None),
    ]
    changed = compared(read(RESULTS / BEFORE), rows)
    enough = len(changed) >= MIN_PROBLEMS
    for target, what in (("labels", "log-loss"), ("values", "minus log density")):
        nats = [c.nats for c in changed if c.target == target]
        mean, error = mean_and_error(nats) if enough and nats else (None, None)
        lines.append(Bar(f"{what} above that before, nats per row", mean, "<=", 0.0, error=error))
    time = math.exp(statistics.fmean(c.time for c in changed)) if enough else None
    lines.append(Bar("CPU time, part of that before", time, "<=", 1.0))
    return lines


if __name__ == "__main__":
    files = [read(Path(name)) for name in sys.argv[1:]]
    if len(files) not in (1, 2):
        sys.exit(__doc__)
    print(details(*files) if len(files) == 1 else comparison(*files))
