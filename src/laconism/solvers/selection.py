"""From a problem to the selected columns: solve, exchange columns, refit those that were selected."""

from __future__ import annotations

from typing import Any

from .._protocols import Prior
from ..priors import GeneralizedGaussian
from . import Problem, Solution, Solver, exchange, may_exchange, solve
from .learnt_scale import Start, learn_scale
from .refit_selected import refit_selected


def select_columns(
    problem: Problem, solver: Solver, start: Start, unbound: Prior, max_iter: int, **settings: Any
) -> Solution:
    """Return the solution of a problem under a prior that selects columns.

    ``unbound`` is that prior before its defaults were resolved for this number of columns. Its scale may
    be learnt; and where it charged for the selection, the selected columns are refitted without that.
    """
    if isinstance(unbound, GeneralizedGaussian) and unbound.learns:
        return learn_scale(problem, solver, unbound, start, max_iter=max_iter, **settings)
    solution = solve(problem, solver, start=start.state, max_iter=max_iter, **settings)
    if may_exchange(problem, solution, solver):
        solution = exchange(problem, solution, solver, max_iter=max_iter, **settings)
    left = max_iter - len(solution.history)
    charged = unbound.charges(kernel=problem.kernels) and solution.active.size
    if not charged or not solution.status.converged or left <= 0:
        return solution
    n_columns = problem.design.shape[1]
    return refit_selected(solution, unbound, n_columns, solver, max_iter=left, **settings)
