"""Short trials of a joint search, through few kernels or with few features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._protocols import Array, Index
from ..kernels import Stationary
from ..likelihoods import Binary
from .problem import Joint, JointProblem, project
from .variable_projection import variable_projection
from .weights import Weights

# Iterations of a trial, and of a step of a path; relative gain at which they have seen enough.
TRIAL, PATH, ENOUGH = 8, 30, 1e-3
# Of all starts so many are tried: those that begin lowest.
PROMISING = 3
# Centres through which trials look.
_FEW = 100
# Of the features found so many are looked at, the strongest; alone, or one after the other with this
# scale, at which standardised rows are near each other in a few directions only.
_SHARPEST, _SHARP = 16, 1.0


def quick(
    question: JointProblem,
    theta: Array,
    max_iter: int,
    tol: float = ENOUGH,
    *,
    warm: Sequence[Weights] | None = None,
    below: float = np.inf,
) -> Joint:
    """Return where a few iterations lead, or where it is clear that they will not lead ``below``.

    It is clear when what is left of them, each as good as the last, would not do: descents slow down.
    """
    values: list[float] = []

    def hopeless(here: Joint) -> bool:
        values.append(here.value)
        if len(values) < 2:  # the first step of a descent is a blind one
            return False
        return here.value - (max_iter - len(values)) * (values[-2] - here.value) > below

    return variable_projection(
        question, theta, max_iter=max_iter, tol=tol, exact=False, warm=warm, callback=hopeless
    )


def objective(here: Joint) -> float:
    """Return the objective, for those who look for the lowest."""
    return here.value


def through(question: JointProblem, few: Index) -> JointProblem:
    """Return the question with few of its centres."""
    return replace(question, centres=question.centres[few[:_FEW]])


def of_features(question: JointProblem, features: Index) -> JointProblem:
    """Return the question with some of its features."""
    return replace(question, X=question.X[:, features], centres=question.centres[:, features])


def promising(question: JointProblem, starts: Sequence[Array]) -> list[Joint]:
    """Return trials from those starts where the objective is lowest."""
    first = sorted((project(question, theta, tol=ENOUGH) for theta in starts), key=objective)
    trials: list[Joint] = []
    for here in first[:PROMISING]:
        lowest = min((trial.value for trial in trials), default=np.inf)
        trials.append(quick(question, here.theta, TRIAL, warm=here.outputs, below=lowest))
    return trials


def sharper(question: JointProblem, theta: Array) -> list[Joint]:
    """Return trials with one of the strongest features sharp, or with the strongest features alone.

    Many weak features make a smooth model, which is an optimum of its own; few strong ones do not come
    out of it by descent. With kernels of distances a feature that bends the boundary betrays itself when
    its scale alone is raised: the objective falls at once, however weak it was. Scales of inner products
    trade with weights, so there it is the order of the features that counts; and so it is of values,
    whose boundary is none.
    """
    strongest = np.argsort(-theta, kind="stable")[: min(int(np.count_nonzero(theta)), _SHARPEST)]
    if isinstance(question.kernel, Stationary) and isinstance(question.likelihood, Binary):
        starts = [_with(theta, k, _SHARP) for k in strongest if theta[k] < _SHARP]
        return promising(question, starts)
    sizes = [2**power for power in range(strongest.size.bit_length())]
    return promising(question, [_alone(theta, strongest[:size]) for size in sizes])


def _with(theta: Array, feature: int, scale: float) -> Array:
    """Return the scales with another one for a feature."""
    changed = theta.copy()
    changed[feature] = scale
    return changed


def _alone(theta: Array, features: Index) -> Array:
    """Return the scales of these features, and zero for the others."""
    alone = np.zeros_like(theta)
    alone[features] = theta[features]
    return alone
