"""Kernels whose parameters maximise the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize

from .._protocols import Array, Index
from ..kernels import Additive
from ..linalg import as_dense
from .evidence import Evidence, evidence_of

if TYPE_CHECKING:
    from .rows import TrainingRows

# An iteration that gains less of the objective is the last.
_RELATIVE_GAIN = 1e-5
# The same where the search starts at the parameters of more rows.
_REFIT_RELATIVE_GAIN = 1e-4
_MAX_ITERATIONS = 60
# Parameters are rounded to this fraction of a power of two, so that rounding errors do not move them.
_LOG2_RESOLUTION = 0.25
# Prior of the squared inverse width of a standardised feature: median, and deviation of its logarithm.
_WIDTH_MEDIAN = 0.25
_WIDTH_LOG_DEVIATION = 1.5
_WIDTH_BOUNDS = (1e-3, 1e3)
# Variance of an order at the start, relative to that of one less, and the bounds of variances.
_FIRST_ORDER_RATIO = 0.1
_ORDER_BOUNDS = (1e-8, 1e8)
# Weight of a feature at the start, over all features, and its bounds, in units of the noise variance.
_FIRST_WEIGHT = 10.0
_WEIGHT_BOUNDS = (1e-8, 1e8)
# A feature is removed if the prior variance of its effects times the number of rows is below this.
_MIN_VARIANCE_TIMES_ROWS = 0.3


@dataclass(frozen=True)
class AdditiveParameters:
    r"""The parameters of a centred additive kernel, as logarithms: weights, widths, variances of orders.

    The variance of the first order is one, so weights are in units of the noise variance. Let
    :math:`s_j` be the prior variance of all effects that feature j is part of. Its prior is exponential
    with an unknown rate, :math:`p(s) \propto 1/(1 + Ns)` for N rows: the slope at zero keeps features out
    whose effects cannot be told from noise, and large effects cost little.
    """

    mean: Array
    deviation: Array
    n_rows: float
    order: int

    def first(self) -> Array:
        """Return the first parameters: equal weights and widths."""
        k = self.mean.size
        weights, widths = np.full(k, np.log(_FIRST_WEIGHT / k)), np.full(k, np.log(_WIDTH_MEDIAN))
        return np.concatenate([weights, widths, np.log(_FIRST_ORDER_RATIO) * np.arange(1, self.order)])

    def after(self, lower: Array) -> Array:
        """Return the first parameters, given those of an additive kernel of the same or of a lower order.

        Of a lower one, no weight is below that of the first parameters: a feature may have an effect with
        others only.
        """
        first, k = self.first(), self.mean.size
        if lower.size == first.size:
            return lower
        first[: lower.size] = lower
        first[:k] = np.maximum(first[:k], np.log(_FIRST_WEIGHT / k))
        return first

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The bounds of the parameters."""
        k = self.mean.size
        ends = [*[_WEIGHT_BOUNDS] * k, *[_WIDTH_BOUNDS] * k, *[_ORDER_BOUNDS] * (self.order - 1)]
        return [(float(np.log(low)), float(np.log(high))) for low, high in ends]

    def split(self, at: Array) -> tuple[Array, Array, Array]:
        """Return weights, squared inverse widths and variances of the orders."""
        k = self.mean.size
        return np.exp(at[:k]), np.exp(at[k : 2 * k]), np.append(1.0, np.exp(at[2 * k :]))

    def kernel(self, at: Array) -> Additive:
        """Return the kernel with these parameters."""
        w, a, v = self.split(at)
        return Additive(self.order, a / self.deviation**2, w, v, self.mean, self.deviation)

    def gradient(self, at: Array, X: Array, W: Array) -> Array:
        """Return the gradient of the evidence, given that in the kernel matrix."""
        w, a, v = self.split(at)
        slopes = self.kernel(at).parameter_gradients(X, X, W)
        widths = slopes.gamma * a / self.deviation**2
        return np.concatenate([slopes.weights * w, widths, (slopes.variances * v)[1:]])

    def variances(self, at: Array) -> Array:
        """Return the prior variance of all effects that each feature is part of."""
        w, _, v = self.split(at)
        return np.asarray(w * sum(v[o] * without for o, without in enumerate(_sums_without(w, v.size))))

    def log_prior(self, at: Array) -> tuple[float, Array]:
        """Return the logarithm of the prior and its gradient."""
        w, a, v = self.split(at)
        s = self.variances(at)
        each = self.n_rows / (1 + self.n_rows * s)  # minus the slope in each s
        pairs = _sums_without_pairs(w, v.size)
        by_pair = sum((v[o] * pairs[o - 1] for o in range(1, v.size)), np.zeros((w.size, w.size)))
        by_weight = each * s + w * (by_pair @ (each * w))
        by_order = [
            v[o] * float(each @ (w * without)) for o, without in enumerate(_sums_without(w, v.size))
        ]
        off = (np.log(a) - np.log(_WIDTH_MEDIAN)) / _WIDTH_LOG_DEVIATION
        value = -float(np.log1p(self.n_rows * s).sum()) - 0.5 * float(off @ off)
        return value, -np.concatenate([by_weight, off / _WIDTH_LOG_DEVIATION, by_order[1:]])

    def used(self, at: Array) -> Array:
        """Return which features have an effect."""
        return np.asarray(self.n_rows * self.variances(at) >= _MIN_VARIANCE_TIMES_ROWS)


def _sums_without(w: Array, order: int) -> list[Array]:
    """Return, for orders 0 to ``order - 1``, the elementary symmetric polynomial without each weight."""
    whole = np.zeros(order)
    whole[0] = 1.0
    for each in w:
        whole[1:] += each * whole[:-1].copy()
    found = [np.ones(w.size)]
    for o in range(1, order):
        found.append(np.maximum(whole[o] - w * found[-1], 0.0))
    return found


def _sums_without_pairs(w: Array, order: int) -> list[Array]:
    """Return the same without each pair of weights, for orders 0 to ``order - 2``; zero on the diagonal."""
    single, found = _sums_without(w, order), [1.0 - np.eye(w.size)]
    for o in range(1, order - 1):
        found.append((1 - np.eye(w.size)) * np.maximum(single[o][:, None] - w * found[-1], 0.0))
    return found


def maximise(
    parameters: AdditiveParameters,
    evidence: Evidence,
    X: Array,
    first: Array,
    relative_gain: float = _RELATIVE_GAIN,
) -> tuple[Array, float]:
    """Return the most probable parameters, and the logarithm of their probability."""

    def loss(at: Array) -> tuple[float, Array]:
        value, W = evidence.at(np.asarray(parameters.kernel(at)(X, X)))
        prior, slope = parameters.log_prior(at)
        return -value - prior, -parameters.gradient(at, X, W) - slope

    options = {"maxiter": _MAX_ITERATIONS, "ftol": relative_gain}
    found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=parameters.bounds, options=options)
    return np.asarray(found.x), -float(found.fun)


class LearntAdditive(NamedTuple):
    """An additive kernel as it was learnt, of features in the order of ``columns``."""

    parameters: AdditiveParameters
    at: Array
    columns: Index
    unit: Array  # squared unit of each feature, zero for one that does not vary
    log_probability: float

    def kernel(self) -> Additive:
        """Return the kernel of all features."""
        w, a, v = self.parameters.split(_rounded(self.at))
        w = np.where(self.parameters.used(self.at), w, 0.0)
        weights, mean = np.zeros(self.unit.size), np.zeros(self.unit.size)
        gamma, deviation = np.ones(self.unit.size), np.ones(self.unit.size)
        weights[self.columns], mean[self.columns] = w, self.parameters.mean
        deviation[self.columns] = self.parameters.deviation
        gamma[self.columns] = a / self.parameters.deviation**2
        return Additive(v.size, gamma, weights, v, mean, deviation)

    def feature_weights(self) -> Array:
        """Return the squared inverse widths of the features in use, on average one."""
        _, a, _ = self.parameters.split(self.at)
        theta = np.zeros(self.unit.size)
        theta[self.columns] = np.where(self.parameters.used(self.at), a, 0.0)
        mean = theta[self.unit > 0].mean()
        return theta / mean if mean > 0 else (self.unit > 0).astype(float)


def learn_additive(
    rows: TrainingRows, columns: Index, unit: Array, order: int, start: Array | None = None
) -> LearntAdditive | None:
    """Return the most probable additive kernel of some columns, which vary.

    The search starts at parameters of the same order, or of a lower one. There is no kernel where the
    evidence has no formula.
    """
    evidence = evidence_of(rows)
    if evidence is None or not columns.size:
        return None
    X = np.ascontiguousarray(as_dense(rows.X)[:, columns])
    parameters = AdditiveParameters(rows.share @ X, np.sqrt(unit[columns]), rows.total, order)
    first = parameters.first() if start is None else parameters.after(start)
    refits = start is not None and start.size == first.size
    gain = _REFIT_RELATIVE_GAIN if refits else _RELATIVE_GAIN
    at, value = maximise(parameters, evidence, X, first, gain)
    return LearntAdditive(parameters, at, columns, unit, value)


def _rounded(at: Array) -> Array:
    """Return logarithms, rounded to a fraction of a power of two."""
    return np.log(2) * _LOG2_RESOLUTION * np.round(at / np.log(2) / _LOG2_RESOLUTION)
