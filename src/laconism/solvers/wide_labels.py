"""Labels of fewer rows than features: a second search without the charge, compared by the evidence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from .._protocols import Index
from ..judging.compare import Rule
from ..laplace.first_precision import own_precisions
from ..laplace.mode import COMPARISON_NATS, find_mode
from ..likelihoods import Binary
from . import Problem, Solution, Solver, State, exchange, resume, solve
from .refit_selected import drop_unpaid, drop_weakest

# When a model found without the charge replaces the one found with it (record 075).
_REPLACES = Rule(nats=math.log(5))
# Variance of the latent in units of the noise of a row, between which its evidence is maximised.
_SIGNAL_TO_NOISE = (0.1, 1000.0)
# Accuracy of the logarithm of that variance; the evidence is flat at its maximum.
_LOG_RATIO_TOLERANCE = 0.5


def has_wide_labels(problem: Problem, solver: Solver) -> bool:
    """Return whether labels have fewer rows than features, and the solver starts from a lasso."""
    labels = isinstance(problem.likelihood, Binary) and not problem.kernels
    lasso = getattr(solver, "checks_excluded", False)
    return labels and lasso and problem.design.shape[1] > float(problem.weight.sum())


def more_evident(
    problem: Problem,
    solution: Solution,
    free: Problem,
    first: State,
    solver: Solver,
    *,
    max_iter: int,
    tol: float,
    callback: Any,
) -> Solution:
    """Return the solution, or the one found without the charge for the search if its worth is larger.

    The charge prunes features that are worth their price only together. So models of every size are
    also searched for under the prior of a single column (``free``) and compared in nats.
    """
    kept = solution
    if solution.active.size:
        kept = drop_unpaid(solution, problem.design.shape[1])[0]
    most, best, worth = -math.inf, solution, None
    for rival in _by_size(free, first, solver, max_iter=max_iter, tol=tol):
        nats = _worth(problem, rival.active)
        if np.array_equal(rival.active, kept.active):
            worth = nats
        if nats > most:
            most, best = nats, rival
    worth = _worth(problem, kept.active) if worth is None else worth
    if not _REPLACES.prefers_total(most - worth):
        return solution
    here = replace(solution, active=best.active)
    return resume(here, best.problem, best.state, solver, max_iter=max_iter, tol=tol, callback=callback)


def _by_size(
    problem: Problem, first: State, solver: Solver, *, max_iter: int, tol: float
) -> Iterator[Solution]:
    """Yield models of falling size, of columns of the start.

    Each is one that no exchange of a kept column for another improves; the next begins without its
    weakest column.
    """
    columns = np.flatnonzero(first.w)
    few = problem.keep(columns)
    start = few.state(first.w[columns], first.b, first.likelihood)
    found = solve(few, solver, start=start, max_iter=max_iter, tol=tol)
    while found.active.size and found.status.converged:
        found = exchange(few, found, solver, max_iter=max_iter, tol=tol, callback=None)
        yield replace(found, active=columns[found.active])
        less = drop_weakest(found)
        again = solve(less.problem, solver, start=less.state, max_iter=max_iter, tol=tol)
        found = replace(again, active=less.active[again.active])


def _worth(problem: Problem, columns: Index) -> float:
    """Return the log evidence of these columns, of one prior width, less the log number of such sets.

    The maximum of the likelihood would favour sets of columns that separate the classes.
    """
    part, empty, w = problem.keep(columns), problem.empty(), np.zeros(columns.size)
    alpha = own_precisions(part, empty)
    mode = find_mode(part, alpha, empty.likelihood, w, empty.b, COMPARISON_NATS)
    if not columns.size:
        return mode.objective

    def loss(log_ratio: float) -> float:
        nonlocal mode
        precision = math.exp(-log_ratio) * alpha
        mode = find_mode(part, precision, empty.likelihood, mode.w, mode.b, COMPARISON_NATS)
        return -mode.objective

    low, high = (math.log(ratio) for ratio in _SIGNAL_TO_NOISE)
    options: Any = {"xatol": _LOG_RATIO_TOLERANCE}
    best = minimize_scalar(loss, bounds=(low, high), method="bounded", options=options)
    return -float(best.fun) - log_subsets(problem.design.shape[1], columns.size)


def log_subsets(n_columns: int, size: int) -> float:
    """Return the logarithm of the number of subsets of a size."""
    return float(gammaln(n_columns + 1) - gammaln(size + 1) - gammaln(n_columns - size + 1))
