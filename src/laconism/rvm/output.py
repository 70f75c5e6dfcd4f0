"""One output of a relevance vector machine: learn the precisions, then take the posterior."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..model.callbacks import SILENT, Reporter
from ..model.noise_search import learns_noise, retry_with_more_noise
from ..model.output import Fit, Search, reported
from ..posterior import GaussianPosterior
from ..solvers import Problem, solve
from ..solvers.intercept import drop_needless_intercept
from .evidence import akaike_test
from .evidence_steps import EvidenceState
from .qr_compress import qr_compress

# With a precision of its own for each column, residuals do not determine the noise once there is an
# effective parameter for every this many rows.
_ROWS_PER_PARAMETER = 3.0
# What the status of a model says whose columns failed Akaike's test.
_NOT_SUPPORTED = " They do not raise the evidence by a nat each over that of none, so none is left."


def fit_relevance(
    problem: Problem,
    solver: Any,
    *,
    max_iter: int,
    tol: float,
    report: Reporter = SILENT,
    may_drop_intercept: bool = False,
) -> Fit:
    """Learn the precisions of one output and return the posterior of its weights.

    ``may_drop_intercept`` leaves the intercept out where the model does not need it.
    """

    def search(part: Problem) -> Fit:
        answer = solve(qr_compress(part), solver, max_iter=max_iter, tol=tol, callback=report)
        state: Any = answer.state
        status = answer.status
        if isinstance(state, EvidenceState):
            state = state.sorted_by_column(part)
            tested = akaike_test(part, state, allowed=problem)
            if tested is not state:
                state, status = tested, replace(status, message=status.message + _NOT_SUPPORTED)
        columns, ridge = state.active, state.posterior
        if not state.w.any():  # then no column is kept, whatever its precision
            columns, empty = np.arange(0), part.keep(np.arange(0))
            at = empty.state(np.zeros(0), state.b, state.likelihood)
            ridge = empty.ridge(*empty.laplace_targets(at), at.w)
        posterior = GaussianPosterior.from_ridge(ridge)
        known = (columns, posterior, state.likelihood, status, answer.history, state)
        return Fit(*known, variance=ridge.root**2)

    find: Search = search
    # The search over kernels stops by itself before the noise is gone (Mode.noise_unidentified).
    if learns_noise(problem) and not problem.kernels:
        find = partial(retry_with_more_noise, search, rows_per_parameter=_ROWS_PER_PARAMETER)
    elif may_drop_intercept:
        find = partial(drop_needless_intercept, search)
    return reported(find, problem, report)
