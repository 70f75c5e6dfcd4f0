"""One output: solve, settle, and take the posterior."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from .._protocols import Index, Likelihood, Prior
from ..judging.calibrate import has_rare_class, match_class_frequency
from ..laplace.mode import refit_by_degrees
from ..laplace.signal_to_noise import expected_noise
from ..likelihoods import Gaussian
from ..linalg import row_blocks
from ..posterior import GaussianPosterior
from ..priors import GeneralizedGaussian
from ..solvers import EM, Problem, Record, Solution, Solver, State, Status, exchange, may_exchange, solve
from ..solvers.intercept import needs_intercept, needs_intercept_at_once
from ..solvers.learnt_scale import Start, learn_scale
from ..solvers.refit_selected import refit_selected
from .callbacks import Reporter

# Noise below this part of the target's variance is little: with so many parameters it may well be none.
_LITTLE = 0.1
# From above it goes down while what is left over is less than this part of what is held, by this factor
# at the most.
_CLEARLY_LESS, _STRIDE = 0.5, 4.0
# With more entries than this each search takes its time, and the first one from above stands: it errs on
# the side of too much noise.
_LARGE = 20_000_000


@dataclass(frozen=True)
class Fit:
    """The answer for one output (a regression, or one class against the others)."""

    active: Index
    posterior: GaussianPosterior
    likelihood: Likelihood
    status: Status
    history: list[Record]
    state: Any = None  # of a solver that knows more than the posterior says
    prior: Any = None  # with everything that was learnt of it
    variance: Any = None  # of the Gaussian that touches the prior at each weight
    held: bool = False  # the noise, at what was found from above


Search: TypeAlias = Callable[[Problem], Fit]


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

    ``may_drop_intercept`` leaves the intercept out where the model does not need it; after a warm start
    that is decided already.
    """
    settings: dict[str, Any] = {"tol": tol, "callback": report}

    def search(problem: Problem) -> Fit:
        if isinstance(unbound, GeneralizedGaussian) and unbound.learns:
            answer = learn_scale(problem, solver, unbound, start, max_iter=max_iter, **settings)
        else:
            answer = _solve_settled(problem, solver, start.state, unbound, max_iter, settings)
        return _posterior(answer, always_intercept)

    if learns_noise(problem) and not isinstance(solver, EM):  # which is the papers', to the letter
        return reported(lambda problem: retry_with_more_noise(search, problem), problem, report, False)
    if may_drop_intercept and start.state is not None:
        problem, may_drop_intercept = replace(problem, intercept=start.state.b != 0), False
    return reported(search, problem, report, may_drop_intercept)


def _posterior(answer: Solution, always_intercept: bool) -> Fit:
    """Return the posterior around the weights of an answer."""
    kept = np.flatnonzero(answer.state.w)  # the exact solver keeps its zeros in place
    problem, state = answer.problem.keep(kept), answer.state
    if always_intercept and kept.size == 0:
        # Even the penalised intercept is gone: an empty model predicts the frequencies.
        problem = replace(problem, intercept=True)
        state = problem.empty()
    w = state.w[kept]
    state = replace(state, metric=None)  # the posterior's curvature is that of the answer
    touching = problem.ridge(*problem.laplace_targets(state), w)
    return Fit(
        answer.active[kept],
        GaussianPosterior.from_ridge(replace(touching, weights=w, intercept=state.b)),
        state.likelihood,
        answer.status,
        answer.history,
        prior=answer.problem.prior,
        variance=touching.root**2,
    )


def learns_noise(problem: Problem) -> bool:
    """Return whether the noise of a regression is to be found."""
    return isinstance(problem.likelihood, Gaussian) and problem.likelihood.estimate


def retry_with_more_noise(search: Search, problem: Problem, room: float = 2.0) -> Fit:
    """Return what is found or, where that passes through the data, what is found with more noise.

    With a parameter for every ``room`` observations, residuals are no evidence of how little noise there
    is. Where little is left, the search begins anew from above: under the noise that a dense model
    expects, then under less while few columns leave clearly less, and until they are too many again.
    """
    fit = search(problem)
    found: Any = fit.likelihood
    little = found.noise <= _LITTLE * _spread(problem)
    if not (little and fit.status.converged and _is_crowded(problem, fit, room)):
        return fit
    noise = expected_noise(problem)
    if noise <= found.noise:
        return fit
    fit = _held_at(search, problem, noise, found.floor)
    large = math.prod(problem.design.shape) > _LARGE
    while not large and (left := _left_over(problem, fit)) <= _CLEARLY_LESS * noise:
        noise = max(left, noise / _STRIDE)
        other = _held_at(search, problem, noise, found.floor)
        if _is_crowded(problem, other, room):
            break
        fit = other
    return fit


def _is_crowded(problem: Problem, fit: Fit, room: float) -> bool:
    """Return whether parameters are too many for their residuals to tell the noise."""
    return room * (fit.posterior.effective + problem.intercept) >= float(problem.weight.sum())


def _spread(problem: Problem) -> float:
    """Return the variance of the target."""
    share = problem.weight / problem.weight.sum()
    return float(share @ (problem.y - share @ problem.y) ** 2)


def _held_at(search: Search, problem: Problem, noise: float, floor: float) -> Fit:
    """Return what is found under a noise that is held."""
    share = problem.weight / problem.weight.sum()
    level = float(share @ problem.y) if problem.intercept else 0.0  # around zero there are more digits
    held = Gaussian(noise, floor=floor)
    fit = search(replace(problem, y=problem.y - level, likelihood=held.hold()))
    posterior = replace(fit.posterior, intercept=fit.posterior.intercept + level)
    return replace(fit, posterior=posterior, likelihood=held, held=True)


def _left_over(problem: Problem, fit: Fit) -> float:
    """Return the noise that a fit leaves, by its degrees of freedom; never none."""
    posterior = fit.posterior
    latent = problem.keep(fit.active).latent(posterior.mean, posterior.intercept)
    left: Any = refit_by_degrees(problem, fit.likelihood, latent, posterior.effective)
    return float(left.noise)


def reported(search: Search, problem: Problem, report: Reporter, may_drop_intercept: bool) -> Fit:
    """Return what a search finds, with its output's number in the records."""
    report.begin()
    fit = _drop_intercept(search, problem) if may_drop_intercept else search(problem)
    report.end()
    history = [record._replace(output=report.output) for record in fit.history]
    return replace(fit, posterior=_match_class_frequency(problem, fit), history=history)


def _match_class_frequency(problem: Problem, fit: Fit) -> GaussianPosterior:
    """Return the posterior, its variance reduced where a rare class would be expected too often."""
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


def _drop_intercept(search: Search, problem: Problem) -> Fit:
    """Return what is found without an intercept or, if that is missed, what is found with it."""
    if needs_intercept_at_once(problem):
        return search(problem)
    lean = search(replace(problem, intercept=False))
    if not lean.status.converged:
        return lean
    missed = needs_intercept(problem, lean.active, lean.posterior.mean, lean.prior)
    return search(problem) if missed else lean


def _solve_settled(
    problem: Problem,
    solver: Solver,
    start: State | None,
    unbound: Prior,
    max_iter: int,
    settings: dict[str, Any],
) -> Solution:
    """Solve and exchange; then, if the prior has charged for a search, go on without the charge."""
    answer = solve(problem, solver, start=start, max_iter=max_iter, **settings)
    if may_exchange(problem, answer, solver):
        answer = exchange(problem, answer, solver, max_iter=max_iter, **settings)
    left = max_iter - len(answer.history)
    if not (unbound.charges(kernel=problem.kernels) and answer.active.size):
        return answer
    if not answer.status.converged or left <= 0:
        return answer
    return refit_selected(answer, unbound, problem.design.shape[1], solver, max_iter=left, **settings)


def join(statuses: Sequence[Status], note: str) -> Status:
    """Return one status for all outputs, with what a person should know besides."""
    if all(status == statuses[0] for status in statuses):  # one, or outputs that share their columns
        return replace(statuses[0], message=statuses[0].message + note)
    failed = [status for status in statuses if not status.converged]
    if failed:
        message = f"{len(failed)} of {len(statuses)} outputs: {failed[0].message}{note}"
        return Status(False, message, all(status.stopped for status in failed))
    first = statuses[0].message
    return Status(True, f"All {len(statuses)} outputs converged; the first: {first}{note}")
