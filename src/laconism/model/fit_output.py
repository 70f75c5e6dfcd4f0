"""The fit of one output under a prior that selects columns."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._protocols import Prior
from ..posterior import GaussianPosterior
from ..priors import GeneralizedGaussian
from ..solvers import EM, Problem, Solution, Solver, exchange, may_exchange, solve
from ..solvers.learnt_scale import Start, learn_scale
from ..solvers.refit_selected import refit_selected
from .callbacks import Reporter
from .output import Fit, Search, reported
from .repeated_search import drop_needless_intercept, learns_noise, retry_with_more_noise


def fit_output(
    problem: Problem,
    solver: Solver,
    start: Start,
    unbound: Prior,
    *,
    max_iter: int,
    tol: float,
    report: Reporter,
    always_intercept: bool,
    may_drop_intercept: bool = False,
) -> Fit:
    """Solve one output and return its posterior; runs in a worker, so it takes and returns data.

    Parameters
    ----------
    problem : Problem
    solver : Solver
    start : Start
        The first guess.
    unbound : Prior
        As it was given, before its defaults were resolved for this number of columns.
    max_iter : int
    tol : float
    report : Reporter
    always_intercept : bool
        Whether an empty model has an intercept even if it is penalised otherwise.
    may_drop_intercept : bool, default=False
        Whether the intercept is left out where the model does not need it.
    """
    settings: dict[str, Any] = {"tol": tol, "callback": report}

    def search(problem: Problem) -> Fit:
        if isinstance(unbound, GeneralizedGaussian) and unbound.learns:
            solution = learn_scale(problem, solver, unbound, start, max_iter=max_iter, **settings)
        else:
            solution = _solve_and_refit(problem, solver, start, unbound, max_iter, settings)
        return _with_posterior(solution, always_intercept)

    find: Search = search
    if learns_noise(problem) and not isinstance(solver, EM):  # EM is the papers' algorithm, unchanged
        find = partial(retry_with_more_noise, search)
    elif may_drop_intercept and start.state is not None:  # then the warm start has decided already
        problem = replace(problem, intercept=start.state.b != 0)
    elif may_drop_intercept:
        find = partial(drop_needless_intercept, search)
    return reported(find, problem, report)


def _solve_and_refit(
    problem: Problem,
    solver: Solver,
    start: Start,
    unbound: Prior,
    max_iter: int,
    settings: dict[str, Any],
) -> Solution:
    """Solve, exchange columns and, if the prior charged for the selection, refit without that charge."""
    solution = solve(problem, solver, start=start.state, max_iter=max_iter, **settings)
    if may_exchange(problem, solution, solver):
        solution = exchange(problem, solution, solver, max_iter=max_iter, **settings)
    left = max_iter - len(solution.history)
    charged = unbound.charges(kernel=problem.kernels) and solution.active.size
    if not charged or not solution.status.converged or left <= 0:
        return solution
    n_columns = problem.design.shape[1]
    return refit_selected(solution, unbound, n_columns, solver, max_iter=left, **settings)


def _with_posterior(solution: Solution, always_intercept: bool) -> Fit:
    """Return the Gaussian posterior around the weights of a solution."""
    kept = np.flatnonzero(solution.state.w)  # the exact solver keeps its zeros in place
    problem, state = solution.problem.keep(kept), solution.state
    if always_intercept and kept.size == 0:
        # Even the penalised intercept is gone: an empty model predicts the frequencies.
        problem = replace(problem, intercept=True)
        state = problem.empty()
    w = state.w[kept]
    state = replace(state, metric=None)  # the posterior has the curvature at the solution itself
    ridge = problem.ridge(*problem.laplace_targets(state), w)
    return Fit(
        solution.active[kept],
        GaussianPosterior.from_ridge(replace(ridge, weights=w, intercept=state.b)),
        state.likelihood,
        solution.status,
        solution.history,
        prior=solution.problem.prior,
        variance=ridge.root**2,
    )
