"""From a problem to the selected columns: solve, exchange columns, refit those that were selected."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..priors import GeneralizedGaussian, Prior
from . import Problem, Solution, Solver, exchange, may_exchange, solve
from .learnt_scale import Start, learn_scale
from .refit_selected import refit_selected
from .wide_labels import has_wide_labels, more_evident


def select_columns(
    problem: Problem, solver: Solver, start: Start, unbound: Prior, max_iter: int, **settings: Any
) -> Solution:
    """Return the solution of a problem under a prior that selects columns.

    ``unbound`` is that prior before its defaults were resolved for this number of columns. Its scale may
    be learnt; and where it charged for the selection, the selected columns are refitted without that.
    """
    if isinstance(unbound, GeneralizedGaussian) and unbound.learns:
        return learn_scale(problem, solver, unbound, start, max_iter=max_iter, **settings)
    n_columns, charges = problem.design.shape[1], unbound.charges(kernel=problem.kernels)
    wide = charges and has_wide_labels(problem, solver) and start.state is None
    first = solver.init(problem) if wide else start.state
    solution = solve(problem, solver, start=first, max_iter=max_iter, **settings)
    if may_exchange(problem, solution, solver):
        solution = exchange(problem, solution, solver, max_iter=max_iter, **settings)
    left = max_iter - len(solution.history)
    if wide and first is not None and solution.status.converged and left > 0:
        free = replace(problem, prior=unbound.bind(1, kernel=problem.kernels, labels=True))
        solution = more_evident(problem, solution, free, first, solver, max_iter=left, **settings)
        left = max_iter - len(solution.history)
    if not (charges and solution.active.size and solution.status.converged and left > 0):
        return solution
    return refit_selected(solution, unbound, n_columns, solver, max_iter=left, **settings)
