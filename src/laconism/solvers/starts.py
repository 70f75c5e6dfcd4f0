"""Starts of Newton's method: the lasso, the likelihood alone, and which of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from .._protocols import Array
from ..judging.compare import Rule
from ..judging.price import JEFFREYS_NATS, prior_price
from ..linalg import CONSTANT_VARIANCE_FRACTION
from ..priors import Gaussian, Laplace
from .loop import Solver, solve
from .problem import MAX_CURVATURE_CHANGE, Metric, Problem, State, objective_converged
from .proximal import Proximal
from .steps import newton_step

# Rate of the lasso start as a fraction of the universal threshold sqrt(2 log p): low enough to include
# useful columns, high enough to exclude most noise. Higher for a regression, whose threshold falls as
# its noise is learnt; lower for kernels, which are many columns in few directions. See
# docs/decisions/011-lasso-start.md.
_START_RATE = {"features": 0.3, "features and noise": 0.5, "kernels": 0.02, "kernels and noise": 0.005}
# The two rates that are tried for kernels on few rows, in descending order.
_KERNEL_RATES = (0.03, 0.005)
# Expected number of columns of noise that may enter the start.
_MAX_NOISE_COLUMNS = 500
# The maximum of the likelihood is first found on a subset of at least this many rows,
_MIN_SUBSET_ROWS = 5_000
# and of this many times sqrt(n p), so that their curvature is accurate enough for all rows.
_MIN_SUBSET_ROWS_PER_ROOT = 2.0
# The rule of ten events per variable: fewer rows of the rarer class do not determine the weights.
_MIN_EVENTS_PER_COLUMN = 10
# When the start from all features replaces the lasso's: the lasso errs less often.
_REPLACES_LASSO = Rule(nats=10.0)
# A start ends when a step gains less than this many nats per observation (record 011).
_START_NATS_PER_ROW = 5e-4


def _start_tol(problem: Problem, rough: bool = False) -> float:
    """Return the tolerance of a start, in nats per observation: over all rows, the price of a column.

    Ten times as much where kernels are exchanged at the end for better ones.
    """
    exact = min(_START_NATS_PER_ROW, JEFFREYS_NATS / float(problem.weight.sum()))
    return 10 * exact if rough else exact


def smooth_start(problem: Problem) -> State:
    """Return the maximum of the likelihood, under a nearly flat prior.

    Of many rows a subset determines the weights to a few standard errors and the curvature to a few per
    cent; a Newton step with that curvature and the gradient of all rows follows.
    """
    n, p = problem.design.shape
    stride = int(n // max(_MIN_SUBSET_ROWS, _MIN_SUBSET_ROWS_PER_ROOT * np.sqrt(n * p)))
    part = problem if stride <= 1 else problem.rows(np.arange(0, n, stride))
    if _events(part) < _MIN_EVENTS_PER_COLUMN * p:
        part = problem
    empty = part.empty()
    free = _flat_prior(part, part.curvature(empty))
    answer = free.with_objective(empty)
    for _ in range(20):
        before, answer = answer, newton_step(free, answer)
        if objective_converged(free, before, answer, _start_tol(part)):
            break
    if _nearly_separable(problem, part, empty, answer):
        return l1_start(problem)
    state = problem.refit(answer.w, answer.b, answer.likelihood)
    if part is problem:
        return state
    metric = _scale_metric(problem, part, answer, state)
    free = _flat_prior(problem, np.diag(metric.gram))
    return problem.with_objective(newton_step(free, free.with_objective(replace(state, metric=metric))))


def _nearly_separable(problem: Problem, part: Problem, empty: State, found: State) -> bool:
    """Return whether the curvature at the maximum understates the gain, so that all would be pruned.

    The quadratic gain is then below the price of the columns and half of the true gain (Hauck, Donner).
    """
    weight = part.weight * found.curvature
    level = weight @ found.f / max(weight.sum(), np.finfo(float).tiny) if part.intercept else 0.0
    quadratic_gain = float(weight @ (found.f - level) ** 2) / 2
    scale = float(problem.weight.sum() / part.weight.sum())
    price = found.w.size * prior_price(problem.prior)
    return quadratic_gain * scale < price and 2 * quadratic_gain < found.fit - empty.fit


def _events(problem: Problem) -> float:
    """Return the effective number of rows off the mean: those of the rarer class, or about all."""
    away = (problem.y - problem.weight @ problem.y / problem.weight.sum()) ** 2
    return float(problem.weight @ away / max(away.max(), np.finfo(float).tiny))


def _flat_prior(problem: Problem, curvature: Array, width: float = 100.0) -> Problem:
    """Return the problem with a nearly flat prior, given the curvature along each weight.

    Its width, in standard errors, is finite for separable classes.
    """
    scale = np.sqrt(np.where(curvature > 0, curvature, 1.0))
    return replace(problem, prior=Gaussian(width=width), scale=scale)


def _scale_metric(problem: Problem, part: Problem, found: State, state: State) -> Metric:
    """Return the metric of a subset of the rows, scaled to all of them.

    A column that is zero in the subset is taken to be orthogonal to the others.
    """
    metric = part.metric(found) if found.metric is None else found.metric
    factor = float(problem.weight.sum() / part.weight.sum())
    gram = factor * metric.gram
    zero = np.flatnonzero(part.squares == 0)
    if zero.size:
        gram[zero, zero] = problem.keep(zero).squares * state.curvature.mean()
    return Metric(state.curvature, gram, metric.centre, metric.spread / factor)


def _curvature_about_mean(problem: Problem, state: State) -> Array:
    """Return the curvature along each weight about the mean of its column.

    A wide kernel matters by its variation; a constant column by its mean, if there is no intercept.
    """
    if not problem.kernels:
        return problem.curvature(state)
    raw, about_mean = (replace(problem, intercept=free).curvature(state) for free in (False, True))
    varies = about_mean > CONSTANT_VARIANCE_FRACTION * raw
    return np.where(varies, about_mean, 0.0 if problem.intercept else raw)


def best_start(problem: Problem, solver: Solver) -> State:
    """Return the lasso start that leads to the best model of its size.

    A prior that absorbs zeros has many optima, whose objectives do not compare.
    """
    if problem.empty().likelihood is not problem.likelihood:
        return l1_start(problem)  # a regression has one good start
    first = l1_start(problem, _KERNEL_RATES[0])
    starts = [first, l1_start(problem, _KERNEL_RATES[1], first)]
    return max(starts, key=lambda start: _worth(problem, solver, start, JEFFREYS_NATS))


def better_start(problem: Problem, solver: Solver) -> State:
    """Return the lasso start or the maximum of the likelihood, whichever leads to the better model.

    A lasso does not find differences of strongly correlated features, such as those of a spectrum.
    """
    lasso, price = l1_start(problem), prior_price(problem.prior)
    if problem.empty().likelihood is problem.likelihood:
        return lasso  # labels, or targets of known noise
    full = smooth_start(problem)
    gain = _worth(problem, solver, full, price) - _worth(problem, solver, lasso, price)
    return full if _REPLACES_LASSO.prefers_total(gain) else lasso


def _worth(problem: Problem, solver: Solver, start: State, price: float) -> float:
    """Return the log-likelihood of the model that a start leads to, less the price of its columns."""
    return solve(problem, solver, start=start).state.worth(price)


def l1_start(
    problem: Problem, rate: float | None = None, begin: State | None = None, max_sweeps: int = 3
) -> State:
    r"""Return the lasso solution at the level of the noise, independent of units.

    Each weight is measured in standard errors and penalised at a fixed fraction of
    :math:`\sqrt{2\log p}`. Standard errors and lasso are alternated, beginning at the empty model (for a
    regression this is the scaled lasso). ``begin`` only saves iterations.
    """
    state = problem.empty()
    learns_noise = state.likelihood is not problem.likelihood
    kind = "kernels" if problem.kernels else "features"
    part = _START_RATE[f"{kind} and noise" if learns_noise else kind] if rate is None else rate
    rough = problem.allows_exchange and not learns_noise
    for _ in range(max_sweeps):
        scale = np.sqrt(_curvature_about_mean(problem, state))
        candidates = max(int(np.count_nonzero(scale)), 2)  # without constant columns
        level = part * float(np.sqrt(2 * np.log(candidates)))
        if not problem.kernels:
            # The threshold that this many of p columns of noise exceed on average.
            level = max(level, float(ndtri(1 - min(_MAX_NOISE_COLUMNS / (2 * candidates), 0.5))))
        fixed = replace(problem, prior=Laplace(rate=level), scale=np.where(scale > 0, scale, 1.0))
        lasso = Proximal(fit_noise=False, certify=False)
        start = fixed.with_objective(state if begin is None else begin)
        answer = solve(fixed, lasso, start=start, tol=_start_tol(problem, rough)).state
        if rough and answer.fit <= state.fit + JEFFREYS_NATS:  # the first of wide kernels gain nothing
            answer = solve(fixed, lasso, start=answer, tol=_start_tol(problem)).state
        before, state = state, problem.reestimate(answer)
        if problem.kernels and state.likelihood is answer.likelihood:
            break
        change = abs(problem.weight @ (state.curvature - before.curvature))
        if not problem.kernels and change <= MAX_CURVATURE_CHANGE * (problem.weight @ state.curvature):
            break
    return state
