"""The evidence of a dense model for all signal-to-noise ratios at once."""

from __future__ import annotations

import numpy as np

from .._protocols import Array
from ..likelihoods._noise import UNIDENTIFIED_NOISE_FRACTION
from ..linalg import symmetric_eigen
from ..solvers import Problem

# Signal-to-noise ratios of the strongest direction.
_RATIOS = np.logspace(-2, 14, 97)


def signal_to_noise(problem: Problem) -> tuple[Array, Array, Array]:
    r"""Return signal-to-noise ratios, and log evidence and noise variance of each under one precision.

    A fixed point would end in one of several local maxima. With Gaussian noise, of the targets or of
    labels taken as targets, one eigendecomposition gives the evidence for all ratios :math:`\rho`,
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
    values, projected = np.maximum(values, 0.0), (vectors.T @ t) ** 2
    rest = max(float(weight @ (target - level) ** 2 - projected.sum()), 0.0)
    largest = max(float(values.max(initial=0.0)), np.finfo(float).tiny * _RATIOS[-1])  # if all are zero
    ratios = _RATIOS / largest
    shrink = 1 + np.outer(ratios, values)
    missed = np.maximum((projected / shrink).sum(axis=1) + rest, np.finfo(float).tiny)
    n = max(total - problem.intercept, 0.5 * total)  # less one for a free intercept
    evidence = -0.5 * np.log(shrink).sum(axis=1) - 0.5 * n * np.log(missed)
    return ratios, evidence, missed / n


def expected_noise(problem: Problem) -> float:
    """Return the mean of the noise variance under the evidence of a dense model.

    With many columns the evidence is often largest for no noise at all, by a small margin; the mean is
    more robust. It is at least a thousandth of the target's variance.
    """
    _, evidence, noise = signal_to_noise(problem)
    # At the first ratio nearly all variance is noise.
    some = noise >= UNIDENTIFIED_NOISE_FRACTION * noise[0]
    posterior = np.exp(evidence[some] - evidence[some].max())
    return float(posterior @ noise[some] / posterior.sum())
