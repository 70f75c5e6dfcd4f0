"""Exchange of features: those that are not worth their price are dropped, others are added."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._protocols import Array, Index
from .problem import JointProblem, JointState
from .starts import (
    N_TRIED,
    PATH_ITERATIONS,
    TRIAL_ITERATIONS,
    TRIAL_TOLERANCE,
    by_objective,
    sharpened_trials,
    short_descent,
    with_features,
)
from .weights import project


class FeatureSubset(NamedTuple):
    """The state of the problem with some of the features, and which they are."""

    state: JointState
    features: Index


def exchange_features(problem: JointProblem, selected: JointState, price: float) -> FeatureSubset:
    """Return features that are each worth their price, when no other one is.

    An l1 rate that keeps noise out shrinks so much that it may leave out what matters, and one that
    does not lets noise in. So the features of a ``selected`` state, found at another rate, are only a
    start. Every step lowers the objective plus the price of the features, so it ends.
    """
    here = _drop_features(problem, _restrict(problem, selected), price)
    while (grown := _add_step(problem, here, price)) is not None:
        here = _drop_features(problem, grown, price)
    return here


def _restrict(problem: JointProblem, selected: JointState) -> FeatureSubset:
    """Return the state with the selected features only; there may be none."""
    kept = np.flatnonzero(selected.theta)
    if selected.empty:  # a kernel with all scales zero may stand for the intercept
        nothing = project(problem, np.zeros_like(selected.theta), tol=TRIAL_TOLERANCE)
        return FeatureSubset(replace(nothing, theta=np.zeros(0)), kept[:0])
    part, theta = with_features(problem, kept), selected.theta[kept]
    trials = [short_descent(part, theta, TRIAL_ITERATIONS)]
    if part.on_distances:  # smooth and sharp models are different local minima
        trials += sharpened_trials(part, theta)
    # Longer than a trial, so that what a later trial gains is due to its features.
    best = min(trials, key=by_objective).theta
    return FeatureSubset(short_descent(part, best, PATH_ITERATIONS), kept)


def _drop_features(problem: JointProblem, here: FeatureSubset, price: float) -> FeatureSubset:
    """Return the subset without the features that are not worth their price; the last one stays."""
    while here.features.size > 1 and (fewer := _drop_step(problem, here, price)) is not None:
        here = fewer
    return here


def _drop_step(problem: JointProblem, here: FeatureSubset, price: float) -> FeatureSubset | None:
    """Return the subset without its least important features, or None if all are worth their price.

    Half of them are dropped at once, or fewer, if together they are not worth the price of one. Not all
    that are cheap alone: of correlated features one must stay.
    """
    (state, features), objectives = here, []
    for k in range(features.size):
        part = with_features(problem, np.delete(features, k))
        without = project(part, np.delete(state.theta, k), state.outputs, TRIAL_TOLERANCE)
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
    tol = min(TRIAL_TOLERANCE, price / 10 / max(1.0, abs(state.value)))
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
        best = np.argsort(-score, kind="stable")[:N_TRIED]
        promising += [int(k) for k in best if score[k] > 0 and k not in promising]
    return promising
