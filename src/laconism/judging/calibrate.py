"""Calibration: the few numbers that make a model's predictive probabilities fit left-out rows.

Each function returns a scale, a shift, a coupling, a variance factor or a noise. All that are found by a
search in one dimension use :func:`maximum_within`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import softmax

from .._protocols import Array, Index
from ..likelihoods import Binary, Likelihood
from .row_scores import RowScores

# Prior deviation of the logarithm of a mean scale.
_LOG_SCALE_DEVIATION = 0.3
# Prior deviation of a shift, in deviations of a latent.
_SHIFT_DEVIATION = 0.5
# Slope at which the search for scale and shift ends.
_MAX_SLOPE_NATS = 1e-8
# Prior mean and deviation of the coupling of several classes, and its upper bound.
_COUPLING_MEAN = 0.5
_COUPLING_DEVIATION = 1.0
_MAX_COUPLING = 10.0
# Prior deviation of the logarithm of a variance factor.
_LOG_FACTOR_DEVIATION = 1.0
# The share of the rows below which a class is rare.
_RARE_CLASS_SHARE = 0.05
# Ratio of expected to observed rows of a rare class above which the variance is reduced.
_MAX_EXPECTED_RATIO = 2.0
# The lower bound of the factor of the variance, as a logarithm.
_MIN_LOG_VARIANCE_FACTOR = float(np.log(1e-6))


def maximum_within(
    slope: Callable[[float], float], low: float, high: float, xtol: float = 1e-12
) -> float:
    """Return where a concave function has its maximum between two bounds, given its slope."""
    if slope(low) <= 0:
        return low
    return high if slope(high) >= 0 else float(brentq(slope, low, high, xtol=xtol))


def fit_scale_and_shift(
    y: Array,
    m: Array,
    v: Array,
    weight: Array,
    likelihood: Likelihood,
    intercept: float,
    *,
    free_intercept: bool,
) -> tuple[float, float]:
    r"""Return scale and shift of the latent means under which left-out labels are most probable.

    Laplace's approximation is underconfident: the posterior is skewed away from zero, so its mean is
    further out than its mode. A sparse model is overconfident, since it leaves out the uncertainty of
    the selection. The intercept :math:`b` holds the class frequencies, so the scale applies to the rest
    of the latent, :math:`s(m - b) + b'` with :math:`b'` close to :math:`b`. Gaussian priors on
    :math:`\log s` and :math:`b' - b` keep both where rows are few.

    ``m`` and ``v`` are mean and variance of each row's latent as if the row had not been seen.
    """
    binary: Any = likelihood
    latent = float(np.sqrt(1 + weight @ v / weight.sum()))
    deviation = np.array([_LOG_SCALE_DEVIATION, _SHIFT_DEVIATION * latent])[: 1 + free_intercept]

    def parts(at: Array) -> tuple[Array, Any]:
        """Return the derivatives of the latents by log s and b', and the likelihood's there."""
        along = np.exp(at[0]) * (m - intercept)
        moves = np.column_stack([along, np.ones_like(along)])[:, : at.size]
        return moves, binary.integrated(y, along + intercept + at[1:].sum(), v)

    def cost(at: Array) -> tuple[float, Array]:
        moves, (log_p, slope, _) = parts(at)
        value = 0.5 * float(((at / deviation) ** 2).sum()) - float(weight @ log_p)
        return value, at / deviation**2 - moves.T @ (weight * slope)

    def hessian(at: Array) -> Array:
        moves, (_, slope, curvature) = parts(at)
        second = np.diag(deviation**-2) + (moves.T * (weight * curvature)) @ moves
        second[0, 0] -= moves[:, 0] @ (weight * slope)  # a latent is not linear in log s
        return np.asarray(second)

    start, options = np.zeros(deviation.size), {"gtol": _MAX_SLOPE_NATS}
    found: Any = minimize(  # type: ignore[call-overload]
        cost, start, jac=True, hess=hessian, method="trust-exact", options=options
    )
    s = float(np.exp(found.x[0]))
    return s, (1 - s) * intercept + float(found.x[1:].sum())


def fit_coupling(yes: Array, no: Array, codes: Index, weight: Array) -> float:
    r"""Return the coupling of several classes under which left-out labels are most probable.

    Their log probability is concave in c. The prior :math:`c \sim \mathcal N(1/2, 1)` keeps it finite
    where classes are separable. ``yes`` and ``no`` are the logarithms of the probabilities of each class
    and of the rest, of each row as if it had not been seen (:func:`laconism.model.multiclass.couple`).
    """
    truth = np.take_along_axis(no, codes[:, None], axis=1)[:, 0]

    def slope(c: float) -> float:
        expected = (softmax(yes - c * no, axis=1) * no).sum(axis=1)
        return float(weight @ (expected - truth)) - (c - _COUPLING_MEAN) / _COUPLING_DEVIATION**2

    return maximum_within(slope, 0.0, _MAX_COUPLING)


def best_variance_factor(folds: Sequence[RowScores], factors: Array) -> int:
    r"""Return the index of the variance factor under which all folds are most probable.

    Where classes are nearly separable, Laplace's variances grow with the scale of the weights and the
    mode does not, so dense models are underconfident. Sparse models leave out the uncertainty of the
    selection and are overconfident. One factor per candidate, :math:`\log c \sim \mathcal N(0, 1)` and
    at most 2, corrects both; the predicted labels stay the same.
    """
    total: Array = np.sum([fold.log_p @ fold.weight for fold in folds], axis=0)
    return int(np.argmax(total - 0.5 * (np.log(factors) / _LOG_FACTOR_DEVIATION) ** 2))


def has_rare_class(y: Array, weight: Array, likelihood: Likelihood) -> bool:
    """Return whether labels have a class with few of the rows."""
    first, total = float(weight @ (y > 0)), float(weight.sum())
    return isinstance(likelihood, Binary) and min(first, total - first) < _RARE_CLASS_SHARE * total


def match_class_frequency(y: Array, m: Array, v: Array, weight: Array, likelihood: Likelihood) -> float:
    r"""Return the factor of the variances under which a rare class is predicted as often as it occurs.

    Where a class has a handful of rows among thousands, the likelihood hardly bounds the weights on one
    side. Laplace's Gaussian is as wide on the other side, and integrated probabilities come out near one
    half for all rows. Where they expect more than twice the rows of the rarer class, the variances are
    multiplied by the number :math:`c < 1` with

    .. math:: \sum_i P(y_i = 1 \mid m_i, c\,v_i) = \#\{i : y_i = 1\}.
    """
    first, total = float(weight @ (y > 0)), float(weight.sum())
    label = np.full_like(m, 1.0 if 2 * first < total else -1.0)  # of the rarer class
    count = min(first, total - first)

    def expected(log_factor: float) -> float:
        return float(weight @ np.exp(likelihood.predictive(label, m, np.exp(log_factor) * v)))

    if expected(0.0) <= _MAX_EXPECTED_RATIO * count:
        return 1.0
    # Without an intercept even the mode may expect more: then the factor is at its lower bound.
    found = maximum_within(lambda at: count - expected(at), _MIN_LOG_VARIANCE_FACTOR, 0.0)
    return float(np.exp(found))


def press_noise(error: Array, variance: Array, weight: Array, at_least: float) -> float:
    """Return the noise variance with which squared leave-one-out residuals have their expected size.

    In units of their predictive variance they are then one on average.

    ``error`` is the residual of each row without it, and ``variance`` that of its latent there.
    """
    total = float(weight.sum())
    at_most = float(weight @ error**2) / total
    if at_most <= at_least:
        return at_least

    def excess(noise: float) -> float:
        return float(weight @ (error**2 / (noise + variance))) / total - 1

    return maximum_within(excess, at_least, at_most, xtol=1e-14 * at_most)
