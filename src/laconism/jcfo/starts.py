"""Scales at which a search starts: short trials through few centres, and the best of them.

The objective has many local minima. All features weak, some of them strong, one of them sharp, and the
end of a path of ascending rates are tried by a few iterations each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np

from .._protocols import Array, Index
from ..kernels import Polynomial
from ..likelihoods import Binary
from .problem import JointProblem, JointState, OutputWeights
from .variable_projection import variable_projection
from .weights import project

# Iterations of a trial.
TRIAL_ITERATIONS = 8
# Iterations at each rate of an ascending path.
PATH_ITERATIONS = 30
# Relative gain of an iteration at which a trial ends.
TRIAL_TOLERANCE = 1e-3
# Starts, or features, that are tried of each kind: those that look best before any iteration.
N_TRIED = 3
# Centres that a trial uses.
_N_TRIAL_CENTRES = 100

by_objective = attrgetter("value")


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
    uniform = best_trials(problem, [uniform_scales(problem, -k / 3) for k in thirds])
    path = short_descent(problem, end_of_path(problem), TRIAL_ITERATIONS)
    best = min((path, *uniform), key=by_objective)
    return min((best, *sharpened_trials(problem, best.theta)), key=by_objective).theta


def end_of_path(problem: JointProblem, start_rate: float = 0.3, factor: float = 0.3) -> Array:
    """Return the scales at the end of a path of ascending rates of the weights, short of the last rate.

    At a low rate all features have an influence before few are selected: a product of two features,
    neither of which has an effect alone, is found in no other way.
    """
    theta, rates = uniform_scales(problem), [factor * problem.weight_rate]
    while rates[-1] > start_rate:
        rates.append(factor * rates[-1])
    for rate in reversed(rates):
        at_rate = replace(problem, weight_rate=rate)
        theta = short_descent(at_rate, theta, PATH_ITERATIONS).theta
    return theta


def short_descent(
    problem: JointProblem,
    theta: Array,
    max_iter: int,
    tol: float = TRIAL_TOLERANCE,
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

    return variable_projection(
        problem, theta, max_iter=max_iter, tol=tol, exact=False, warm=warm, callback=cannot_end_below
    )


def best_trials(problem: JointProblem, starts: Sequence[Array]) -> list[JointState]:
    """Return short descents from the starts where the objective is lowest."""
    first = sorted((project(problem, theta, tol=TRIAL_TOLERANCE) for theta in starts), key=by_objective)
    trials: list[JointState] = []
    for here in first[:N_TRIED]:
        lowest = min((trial.value for trial in trials), default=np.inf)
        trial = short_descent(problem, here.theta, TRIAL_ITERATIONS, warm=here.outputs, below=lowest)
        trials.append(trial)
    return trials


def sharpened_trials(problem: JointProblem, theta: Array, max_features: int = 16) -> list[JointState]:
    """Return trials with one of the strongest features sharp, or with the strongest features alone.

    Many weak features make a smooth model, which is a local minimum; no descent leads from it to few
    strong ones. With a kernel of distances a feature that bends the boundary is found by raising its
    scale alone: the objective falls at once, however weak the feature was. Scales of inner products are
    traded for weights, so there only the order of the features counts; and so it does for regressions,
    which have no boundary.
    """
    n_strongest = min(int(np.count_nonzero(theta)), max_features)
    strongest, places = np.argsort(-theta, kind="stable")[:n_strongest], np.arange(theta.size)
    if problem.on_distances and isinstance(problem.likelihood, Binary):
        # At a scale of one, standardised rows are near each other in few directions only.
        starts = [np.where(places == k, 1.0, theta) for k in strongest if theta[k] < 1]
    else:
        sizes = [2**power for power in range(strongest.size.bit_length())]
        starts = [np.where(np.isin(places, strongest[:size]), theta, 0.0) for size in sizes]
    return best_trials(problem, starts)
