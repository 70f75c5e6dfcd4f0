"""The fit of one output of a model, and the steps common to all such fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from .._protocols import Index
from ..judging.calibrate import has_rare_class, match_class_frequency
from ..likelihoods import Likelihood
from ..linalg import row_blocks
from ..posterior import GaussianPosterior
from ..solvers import Problem, Record, Solution, Status
from .callbacks import Reporter


@dataclass(frozen=True)
class Fit:
    """The fit of one output: a regression, or one class against the others."""

    active: Index
    posterior: GaussianPosterior
    likelihood: Likelihood
    status: Status
    history: list[Record]
    state: Any = None  # of a solver whose state holds more than the posterior
    prior: Any = None  # with its learnt parameters
    variance: Any = None  # of the Gaussian that touches the prior at each weight
    held: bool = False  # whether the noise was held fixed, see noise_search

    def in_order(self, order: Index) -> Self:
        """Return the fit with its columns in another order, but for its state."""
        variance = None if self.variance is None else self.variance[order]
        posterior = self.posterior.in_order(order)
        return replace(self, active=self.active[order], posterior=posterior, variance=variance)


Search: TypeAlias = Callable[[Problem], Fit]


def laplace_fit(solution: Solution, always_intercept: bool) -> Fit:
    """Return the Gaussian posterior around the weights of a solution."""
    kept = np.flatnonzero(solution.state.w)  # the exact solver keeps its zeros in place
    problem, state = solution.problem.keep(kept), solution.state
    if always_intercept and kept.size == 0:
        # Even the penalised intercept is zero: an empty model should predict the class frequencies.
        problem = replace(problem, intercept=True)
        state = problem.empty()
    w = state.w[kept]
    state = replace(state, metric=None)  # the posterior uses the curvature at the solution
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


def reported(search: Search, problem: Problem, report: Reporter) -> Fit:
    """Return the fit of a search, reported to callbacks and corrected for a rare class."""
    report.begin()
    fit = search(problem)
    report.end()
    history = [record._replace(output=report.output) for record in fit.history]
    return replace(fit, posterior=_match_class_frequency(problem, fit), history=history)


def _match_class_frequency(problem: Problem, fit: Fit) -> GaussianPosterior:
    """Return the posterior, with less variance if it would predict a rare class too often."""
    if not (fit.active.size and has_rare_class(problem.y, problem.weight, fit.likelihood)):
        return fit.posterior
    design = problem.design.keep(fit.active)
    n, k = design.shape
    m, v, unit = np.empty(n), np.empty(n), np.eye(k)
    for block in row_blocks(n, k):
        Phi = design.rows(np.arange(block.start, block.stop)).matvec(unit)
        m[block], v[block] = fit.posterior.latent(Phi)
    factor = match_class_frequency(problem.y, m, v, problem.weight, fit.likelihood)
    return fit.posterior if factor == 1 else fit.posterior.times(factor)


def join(statuses: Sequence[Status], note: str) -> Status:
    """Return one status for all outputs, with a note added to its message."""
    # One output, or several that share their columns.
    if all(status == statuses[0] for status in statuses):
        return replace(statuses[0], message=statuses[0].message + note)
    failed = [status for status in statuses if not status.converged]
    if failed:
        message = f"{len(failed)} of {len(statuses)} outputs: {failed[0].message}{note}"
        return Status(False, message, all(status.stopped for status in failed))
    first = statuses[0].message
    return Status(True, f"All {len(statuses)} outputs converged; the first: {first}{note}")
