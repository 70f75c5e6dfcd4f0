"""Free centres beside kernels on training rows: how many are kept, at which loss.

The first draws of the development suite, where few kernels are the winner. Both models have the same
reference, so they differ in their centres only. ``log_loss`` is in nats per test row; of a regression it
is minus the log density of the standardised target.
"""

import math
import statistics
from dataclasses import replace

import numpy as np

from ._development import PROBLEMS
from ._harness import Bar, Cell
from .bench_ablation import mean_and_error, measure

METRICS = ("log_loss", "error", "kept")
ROWS, FREE = "rows", "free"
QUICK = ("iris", "duplicates")
# Larger models keep their rows, see laconism.flagship.free_centres.
MAX_KERNELS = 64
MAX_SHARE = 0.5


def cells(quick):
    chosen = [problem for problem in PROBLEMS.values() if not quick or problem.name in QUICK]
    return [
        Cell(problem.name, method, problem.n, problem.p, limit=600.0)
        for problem in chosen
        for method in (ROWS, FREE)
    ]


def run(cell, watch):
    watch.repeats = 1
    problem = PROBLEMS[cell.case]
    problem = replace(problem, options={**problem.options, "centres": cell.method})
    X = np.random.default_rng(0).normal(size=(30, 2))  # the first fit pays for what it imports
    measure(problem, (X, X[:, 0] if problem.regression else X[:, 0] > 0, X, X[:, 0] > 0), watch)
    yield {**measure(problem, problem.make(0), watch)[1], "seed": 0}


def bars(rows):
    pairs = [(case, rows.pairs("kept", FREE, ROWS, case=case)) for case in PROBLEMS]
    few = [case for case, kept in pairs if kept and 0 < kept[0][1] <= MAX_KERNELS and kept[0][0]]
    moved = [case for case in few if _differs(rows, case)]
    if not moved:
        return [Bar("kernels with free centres, as a share of those on rows", None, "<=", MAX_SHARE)]
    shares = [
        math.log(free / kept)
        for case in moved
        for free, kept in rows.pairs("kept", FREE, ROWS, case=case)
    ]
    losses = [
        free - kept for case in moved for free, kept in rows.pairs("log_loss", FREE, ROWS, case=case)
    ]
    seconds = [
        math.log(a / b) for case in moved for a, b in rows.pairs("cpu_seconds", FREE, ROWS, case=case)
    ]
    nats, error = mean_and_error(losses)
    share = math.exp(statistics.fmean(shares))
    return [
        Bar(
            f"kernels with free centres, as a share of those on rows, {len(moved)} problems",
            share,
            "<=",
            MAX_SHARE,
        ),
        Bar("log-loss with free centres minus that on rows, nats", nats, "<=", 0.0, error=error),
        Bar(
            "time of a fit with free centres, times that on rows",
            math.exp(statistics.fmean(seconds)),
            "<=",
            None,
        ),
    ]


def _differs(rows, case):
    """Whether free centres change the model: they do not for features and additive kernels."""
    return any(free != kept for free, kept in rows.pairs("log_loss", FREE, ROWS, case=case))
