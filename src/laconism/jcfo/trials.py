"""Short trials through few centres: where a search starts, and the exchange of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from .._protocols import Array, Index
from ..kernels import Polynomial
from ..likelihoods import Binary
from .problem import JointProblem, JointState, OutputWeights
from .variable_projection import descend
from .weights import project

# Iterations of a trial.
TRIAL_ITERATIONS = 8
# Iterations at each rate of an ascending path.
_PATH_ITERATIONS = 30
# Relative gain of an iteration at which a trial ends.
_TRIAL_TOLERANCE = 1e-3
# Starts, or features, that are tried of each kind: those that look best before any iteration.
_N_TRIED = 3
# Centres that a trial uses.
_N_TRIAL_CENTRES = 100

_by_objective = attrgetter("value")


def with_few_centres(problem: JointProblem, trial_order: Index) -> JointProblem:
    """Return the problem with the first centres of this order only."""
    return replace(problem, centres=problem.centres[trial_order[:_N_TRIAL_CENTRES]])


def with_features(problem: JointProblem, features: Index) -> JointProblem:
    """Return the problem with these features only."""
    return replace(problem, X=problem.X[:, features], centres=problem.centres[:, features])


def uniform_scales(problem: JointProblem, power: float = -1.0) -> Array:
    """Return equal scales, this power of the number of features."""
    p = problem.X.shape[1]
    return np.full(p, float(p) ** power)


def best_start(problem: JointProblem, trial_order: Index) -> Array:
    """Return the scales from which the full search starts: those of the best trial."""
    if problem.X.shape[1] == 1:
        return uniform_scales(problem)
    problem = with_few_centres(problem, trial_order)
    # From weak features, 1 / p, to strong ones, 1; a polynomial of strong features overflows.
    thirds = (3,) if isinstance(problem.kernel, Polynomial) else (3, 2, 1, 0)
    uniform = _best_trials(problem, [uniform_scales(problem, -k / 3) for k in thirds])
    path = short_descent(problem, end_of_path(problem), TRIAL_ITERATIONS)
    best = min((path, *uniform), key=_by_objective)
    return min((best, *_sharpened_trials(problem, best.theta)), key=_by_objective).theta


def end_of_path(problem: JointProblem, start_rate: float = 0.3, factor: float = 0.3) -> Array:
    """Return the scales at the end of a path of ascending rates of the weights, short of the last rate.

    At a low rate all features have an influence: a product of two features is found in no other way.
    """
    theta, rates = uniform_scales(problem), [factor * problem.weight_rate]
    while rates[-1] > start_rate:
        rates.append(factor * rates[-1])
    for rate in reversed(rates):
        at_rate = replace(problem, weight_rate=rate)
        theta = short_descent(at_rate, theta, _PATH_ITERATIONS).theta
    return theta


def short_descent(
    problem: JointProblem,
    theta: Array,
    max_iter: int,
    tol: float = _TRIAL_TOLERANCE,
    *,
    warm: Sequence[OutputWeights] | None = None,
    below: float = np.inf,
) -> JointState:
    """Return the state after a few iterations, fewer if they cannot end ``below`` this objective.

    Descents slow down, so they cannot if the iterations left, each as good as the last, would not do.
    """
    values: list[float] = []

    def cannot_end_below(here: JointState) -> bool:
        values.append(here.value)
        if len(values) < 2:  # the length of the first step is arbitrary
            return False
        return here.value - (max_iter - len(values)) * (values[-2] - here.value) > below

    return descend(problem, theta, max_iter, tol, cannot_end_below, warm)


def _best_trials(problem: JointProblem, starts: Sequence[Array]) -> list[JointState]:
    """Return short descents from the starts where the objective is lowest."""
    first = sorted(
        (project(problem, theta, tol=_TRIAL_TOLERANCE) for theta in starts), key=_by_objective
    )
    trials: list[JointState] = []
    for here in first[:_N_TRIED]:
        lowest = min((trial.value for trial in trials), default=np.inf)
        trial = short_descent(problem, here.theta, TRIAL_ITERATIONS, warm=here.outputs, below=lowest)
        trials.append(trial)
    return trials


def _sharpened_trials(problem: JointProblem, theta: Array, max_features: int = 16) -> list[JointState]:
    """Return trials with one of the strongest features sharp, or with the strongest features alone.

    A feature that bends a boundary is found by raising its scale alone; for inner products, whose scales
    are traded for weights, and for regressions only the order of the features counts.
    """
    n_strongest = min(int(np.count_nonzero(theta)), max_features)
    strongest, places = np.argsort(-theta, kind="stable")[:n_strongest], np.arange(theta.size)
    if problem.on_distances and isinstance(problem.likelihood, Binary):
        # At a scale of one, standardised rows are near each other in few directions only.
        starts = [np.where(places == k, 1.0, theta) for k in strongest if theta[k] < 1]
    else:
        sizes = [2**power for power in range(strongest.size.bit_length())]
        starts = [np.where(np.isin(places, strongest[:size]), theta, 0.0) for size in sizes]
    return _best_trials(problem, starts)


class FeatureSubset(NamedTuple):
    """The state of the problem with some of the features, and which they are."""

    state: JointState
    features: Index


def exchange_features(problem: JointProblem, selected: JointState, price: float) -> FeatureSubset:
    """Return features that are each worth their price, when no other one is.

    Those of a ``selected`` state are only a start. Each step lowers the objective plus the prices.
    """
    here = _restrict(problem, selected)
    while True:
        while here.features.size > 1 and (fewer := _drop_step(problem, here, price)) is not None:
            here = fewer
        grown = _add_step(problem, here, price)
        if grown is None:
            return here
        here = grown


def _restrict(problem: JointProblem, selected: JointState) -> FeatureSubset:
    """Return the state with the selected features only; there may be none."""
    kept = np.flatnonzero(selected.theta)
    if selected.empty:  # a kernel with all scales zero may stand for the intercept
        nothing = project(problem, np.zeros_like(selected.theta), tol=_TRIAL_TOLERANCE)
        return FeatureSubset(replace(nothing, theta=np.zeros(0)), kept[:0])
    part, theta = with_features(problem, kept), selected.theta[kept]
    # Longer than a trial, so that what a later trial gains is due to its features.
    return FeatureSubset(short_descent(part, theta, _PATH_ITERATIONS), kept)


def _drop_step(problem: JointProblem, here: FeatureSubset, price: float) -> FeatureSubset | None:
    """Return the subset without its least important features, or None if all are worth their price.

    Half of them at once, or fewer, if together they are not worth the price of one: of correlated
    features, each cheap alone, one must stay.
    """
    (state, features), objectives = here, []
    for k in range(features.size):
        part = with_features(problem, np.delete(features, k))
        without = project(part, np.delete(state.theta, k), state.outputs, _TRIAL_TOLERANCE)
        objectives.append(without.value)
    order, n_dropped = np.argsort(objectives, kind="stable"), features.size // 2
    limit = state.value + price
    while n_dropped:
        left = np.sort(order[n_dropped:])
        fewer = _trial(problem, here, features[left], state.theta[left], price, limit)
        if fewer.value < limit and not fewer.empty:
            return FeatureSubset(fewer, features[left])
        n_dropped //= 2
    return None


def _add_step(problem: JointProblem, here: FeatureSubset, price: float) -> FeatureSubset | None:
    """Return the subset with the best further feature, or None if none is worth its price."""
    state, best = here.state, None
    lowest = state.value - price
    for feature in _promising_features(problem, here):
        features = np.append(here.features, feature)
        theta = np.append(state.theta, state.theta.min(initial=1.0))
        trial = _trial(problem, here, features, theta, price, lowest)
        if trial.value < lowest:
            best, lowest = FeatureSubset(trial, features), trial.value
    return best


def _trial(
    problem: JointProblem, here: FeatureSubset, features: Index, theta: Array, price: float, below: float
) -> JointState:
    """Return a trial with these features, near enough to its end to be compared with the price."""
    part, state = with_features(problem, features), here.state
    tol = min(_TRIAL_TOLERANCE, price / 10 / max(1.0, abs(state.value)))
    return short_descent(part, theta, TRIAL_ITERATIONS, tol, warm=state.outputs, below=below)


def _promising_features(problem: JointProblem, here: FeatureSubset) -> list[int]:
    """Return features by their correlation with the residuals and by the gradient in their scales."""
    theta, outputs = np.zeros(problem.X.shape[1]), here.state.outputs
    theta[here.features] = here.state.theta
    size = np.sqrt(problem.weight @ problem.X**2)
    residuals = np.array([problem.weight * output.slope for output in outputs])
    correlation = np.linalg.norm(residuals @ problem.X, axis=0) / np.where(size > 0, size, np.inf)
    promising: list[int] = []
    for score in (correlation, -problem.scale_gradient(theta, outputs)):
        score[here.features] = -np.inf
        best = np.argsort(-score, kind="stable")[:_N_TRIED]
        promising += [int(k) for k in best if score[k] > 0 and k not in promising]
    return promising
