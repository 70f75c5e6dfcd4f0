"""Classes so rare that the doubt about a model's weights drowns what it knows."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from .._protocols import Array, Index, Likelihood
from ..likelihoods import Binary
from ..linalg import row_blocks
from ..posterior import GaussianPosterior
from ..solvers import Problem

# The part of all rows below which a class is rare; of others no doubt makes as many again.
_RARE = 0.05
# How many times as many rows of it may be expected as there are.
_TOO_MANY = 2.0
# The least that variances are multiplied by, as a logarithm: next to nothing is left of them.
_LEAST = float(np.log(1e-6))


def match_class_frequency(
    problem: Problem, active: Index, posterior: GaussianPosterior, likelihood: Likelihood
) -> GaussianPosterior:
    r"""Return the posterior, of classes with variances that their frequencies allow.

    Where a class has a handful of rows among thousands the weights have a long way to go before the
    likelihood notices, on one side. Laplace's Gaussian goes as far on the other, and integrated
    probabilities come out near one half for all: worse than the frequencies of the classes alone. At the
    mode the mean of the probabilities is the frequency of the class. Where the integrated ones expect
    twice as many of the rarer one and more, they are held to it: the covariance is multiplied by the
    number :math:`c < 1` with

    .. math:: \sum_i P(y_i = 1 \mid m_i, c\,v_i) = \#\{i : y_i = 1\}.
    """
    y, weight = problem.y, problem.weight
    first, total = float(weight @ (y > 0)), float(weight.sum())
    rare = min(first, total - first) < _RARE * total
    if not (rare and active.size and isinstance(likelihood, Binary)):
        return posterior
    m, v = _latents(problem.keep(active), posterior)
    sign = 1.0 if 2 * first < total else -1.0  # of the rarer class
    count = min(first, total - first)

    def expected(log_factor: float) -> float:
        log_p = likelihood.predictive(np.full_like(m, sign), m, np.exp(log_factor) * v)
        return float(weight @ np.exp(log_p))

    if expected(0.0) <= _TOO_MANY * count:
        return posterior
    # At the mode without an intercept the mean may be elsewhere: then the mode itself is believed.
    log_factor = _LEAST
    if expected(_LEAST) < count:
        log_factor = brentq(lambda at: expected(at) - count, _LEAST, 0.0, xtol=1e-12)
    return posterior.times(float(np.exp(log_factor)))


def _latents(problem: Problem, posterior: GaussianPosterior) -> tuple[Array, Array]:
    """Return mean and variance of the latent at each row, a block at a time."""
    n, k = problem.design.shape
    unit, index = np.eye(k), np.arange(n)
    blocks = [index[rows] for rows in row_blocks(n, k)]
    found = [posterior.latent(problem.design.rows(block).matvec(unit)) for block in blocks]
    m, v = (np.concatenate(each) for each in zip(*found, strict=True))
    return m, v
