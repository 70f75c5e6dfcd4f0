"""After features were selected: those that are not worth their price leave, others may come in."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .._protocols import Index
from ..kernels import Stationary
from .problem import Joint, JointProblem, project
from .trials import ENOUGH, PATH, PROMISING, TRIAL, objective, of_features, quick, sharper

# Part of the price of a feature that the end of a trial may be off.
_OFF = 0.1


class Few(NamedTuple):
    """An answer of some of the features, and which they are."""

    answer: Joint
    features: Index


def exchange_features(question: JointProblem, strict: Joint, price: float) -> Few:
    """Return the answer of features that are each worth their price, when no other one is.

    An l1 rate that keeps noise out shrinks so much that it may leave out what matters, and one that
    does not lets noise in. So the features of a ``strict`` answer are only a beginning. Every step
    lowers the objective plus the price of the features, so it ends.
    """
    here = _dismiss(question, _beginning(question, strict), price)
    while grown := _admit(question, here, price):
        here = _dismiss(question, grown, price)
    return here


def _beginning(question: JointProblem, strict: Joint) -> Few:
    """Return the answer with the features of a stricter one, which may have none."""
    kept = np.flatnonzero(strict.theta)
    if strict.empty:  # but for an intercept, which may be a kernel of no width
        nothing = project(question, np.zeros_like(strict.theta), tol=ENOUGH)
        return Few(replace(nothing, theta=np.zeros(0)), kept[:0])
    part, theta = of_features(question, kept), strict.theta[kept]
    starts = [quick(part, theta, TRIAL)]
    if isinstance(part.kernel, Stationary):  # smooth and sharp are optima of their own
        starts += sharper(part, theta)
    # What a trial gains must be due to its features, not to a beginning that had not ended.
    return Few(quick(part, min(starts, key=objective).theta, PATH), kept)


def _dismiss(question: JointProblem, here: Few, price: float) -> Few:
    """Return the answer without the features that it can do without; the last one stays."""
    while here.features.size > 1:
        less = _without_the_least(question, here, price)
        if less is None:
            break
        here = less
    return here


def _without_the_least(question: JointProblem, here: Few, price: float) -> Few | None:
    """Return the answer without the features that are needed least, or None if all are needed.

    Half of them go at once, or fewer, where they are not worth the price of one together. Not all that
    are cheap: the others take over what the first ones said, and are cheap no more.
    """
    (answer, features), alone = here, []
    for k in range(features.size):
        part = of_features(question, np.delete(features, k))
        alone.append(project(part, np.delete(answer.theta, k), answer.outputs, ENOUGH).value)
    order, count = np.argsort(alone, kind="stable"), features.size // 2
    while count:
        left = np.sort(order[count:])
        part, tol = of_features(question, features[left]), _tolerance(answer, price)
        limit = answer.value + price
        less = quick(part, answer.theta[left], TRIAL, tol, warm=answer.outputs, below=limit)
        if less.value < limit and not less.empty:
            return Few(less, features[left])
        count //= 2
    return None


def _admit(question: JointProblem, here: Few, price: float) -> Few | None:
    """Return the answer with the feature that is worth the most, or None if none is worth its price."""
    answer, best = here.answer, None
    lowest = answer.value - price
    for feature in _wanted(question, here):
        features = np.append(here.features, feature)
        theta = np.append(answer.theta, answer.theta.min(initial=1.0))
        part, tol = of_features(question, features), _tolerance(answer, price)
        trial = quick(part, theta, TRIAL, tol, warm=answer.outputs, below=lowest)
        if trial.value < lowest:
            best, lowest = Few(trial, features), trial.value
    return best


def _wanted(question: JointProblem, here: Few) -> list[int]:
    """Return a few features that go with what is left to explain: in a line, or by their scale."""
    theta, outputs = np.zeros(question.X.shape[1]), here.answer.outputs
    theta[here.features] = here.answer.theta
    size = np.sqrt(question.weight @ question.X**2)
    left = np.array([question.weight * output.slope for output in outputs])
    line = np.linalg.norm(left @ question.X, axis=0) / np.where(size > 0, size, np.inf)
    wanted: list[int] = []
    for score in (line, -question.slope(theta, outputs)):
        score[here.features] = -np.inf
        best = np.argsort(-score, kind="stable")[:PROMISING]
        wanted += [int(k) for k in best if score[k] > 0 and k not in wanted]
    return wanted


def _tolerance(answer: Joint, price: float) -> float:
    """Return the relative gain at which a trial is near enough to its end to be judged."""
    return min(ENOUGH, _OFF * price / max(1.0, abs(answer.value)))
