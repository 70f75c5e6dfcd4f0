"""The fit of one output under a prior that selects columns."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ..priors import Prior
from ..solvers import EM, Problem, Solver
from ..solvers.intercept import drop_needless_intercept
from ..solvers.learnt_scale import Start
from ..solvers.selection import select_columns
from .callbacks import SILENT, Reporter
from .noise_search import learns_noise, retry_with_more_noise
from .output import Fit, Search, laplace_fit, reported


def fit_output(
    problem: Problem,
    solver: Solver,
    start: Start,
    unbound: Prior,
    *,
    max_iter: int,
    tol: float,
    report: Reporter = SILENT,
    always_intercept: bool,
    may_drop_intercept: bool = False,
) -> Fit:
    """Return the fit of one output; ``unbound`` is the prior before its defaults were resolved.

    ``always_intercept`` gives an empty model a free intercept even if the intercept is penalised;
    ``may_drop_intercept`` drops an intercept that the model does not need.
    """

    def search(problem: Problem) -> Fit:
        solution = select_columns(problem, solver, start, unbound, max_iter, tol=tol, callback=report)
        return laplace_fit(solution, always_intercept)

    find: Search = search
    if learns_noise(problem) and not isinstance(solver, EM):  # EM is the papers' algorithm, unchanged
        find = partial(retry_with_more_noise, search)
    elif may_drop_intercept and start.state is not None:  # the warm start has decided already
        problem = replace(problem, intercept=start.state.b != 0)
    elif may_drop_intercept:
        find = partial(drop_needless_intercept, search)
    return reported(find, problem, report)
