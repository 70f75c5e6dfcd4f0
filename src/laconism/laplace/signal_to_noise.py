"""What the evidence of a dense model says of signal and noise, for all their ratios at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._protocols import Array
from ..linalg import symmetric_eigen
from ..solvers import Problem

# Signal-to-noise ratios of the strongest direction that are looked at.
_RATIOS = np.logspace(-2, 14, 97)
# Less noise than this part of the target's variance is none: the evidence knows no difference.
_NONE = 1e-3


class SignalToNoise(NamedTuple):
    """Signal-to-noise ratios, the log evidence of each, and the variance of the noise there."""

    ratios: Array
    evidence: Array
    noise: Array


def signal_to_noise(problem: Problem) -> SignalToNoise:
    r"""Return what is known of signal and noise under one precision for all weights.

    The eigenvalues of a smooth kernel spread over many decades, and the evidence has an optimum
    wherever there is a gap between those that matter: a fixed point ends in the next one. With
    Gaussian noise, of the targets or of the labels as if they were targets, its value is at hand for
    all signal-to-noise ratios :math:`\rho` at once,
    :math:`-\tfrac12\sum_i\log(1 + \rho\lambda_i) - \tfrac n2\log\sum_i t_i^2/(1 + \rho\lambda_i)`, at
    the most probable noise :math:`\tfrac1n\sum_i t_i^2/(1 + \rho\lambda_i)`.
    """
    target, weight = problem.likelihood.first_target(problem.y), problem.weight
    T, t, one, _ = problem.design.compress(weight, target)
    total, level = float(weight.sum()), 0.0
    if problem.intercept:
        level = float(one @ t) / total
        T, t = T - np.outer(one, (one @ T) / total), t - level * one
    values, vectors = symmetric_eigen(T @ T.T)
    values, seen = np.maximum(values, 0.0), (vectors.T @ t) ** 2
    rest = max(float(weight @ (target - level) ** 2 - seen.sum()), 0.0)
    ratios = _RATIOS / max(float(values.max(initial=0.0)), np.finfo(float).tiny)
    shrink = 1 + np.outer(ratios, values)
    missed = np.maximum((seen / shrink).sum(axis=1) + rest, np.finfo(float).tiny)
    n = max(total - problem.intercept, 0.5 * total)  # a free intercept takes one
    evidence = -0.5 * np.log(shrink).sum(axis=1) - 0.5 * n * np.log(missed)
    return SignalToNoise(ratios, evidence, missed / n)


def expected_noise(problem: Problem) -> float:
    """Return the mean of the noise variance under the evidence of a dense model.

    Where columns are many for the rows the largest evidence is often that of no noise at all, by next
    to nothing. The mean over all ratios, each as likely as any other before, is not taken in. Where
    there is none it is a thousandth of the target's variance.
    """
    _, evidence, noise = signal_to_noise(problem)
    some = noise >= _NONE * noise[0]  # the first is all of it, but for a hundredth
    belief = np.exp(evidence[some] - evidence[some].max())
    return float(belief @ noise[some] / belief.sum())
