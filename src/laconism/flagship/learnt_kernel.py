"""Kernels whose parameters maximise the evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize

from .._protocols import Array, Index
from ..judging.rows import canonical_columns
from ..kernels import Additive
from ..linalg import as_dense
from .ard import rounded
from .evidence import ProcessEvidence, evidence_of

if TYPE_CHECKING:
    from .rows import TrainingRows

# Prior of the squared inverse width of a standardised feature: median, and deviation of its logarithm.
_WIDTH_MEDIAN = 0.25
_WIDTH_LOG_DEVIATION = 1.5
# Weight of all features together at the start, in units of the noise variance. An order has the inverse
# of it as its variance, relative to one order less.
_FIRST_WEIGHT = 10.0
# All logarithms are between this and its negative.
_LOG_BOUND = 18.0
# A feature is removed if the prior variance of its effects times the number of rows is below this.
_MIN_VARIANCE_TIMES_ROWS = 0.3


@dataclass(frozen=True)
class AdditiveParameters:
    r"""The parameters of a centred additive kernel, as logarithms: weights, widths, variances of orders.

    The variance of the first order is one, so weights are in units of the noise variance. Let
    :math:`s_j` be the prior variance of all effects that feature j is part of. Its prior is exponential
    with an unknown rate, :math:`p(s) \propto 1/(1 + Ns)` for N rows: the slope at zero keeps features
    out whose effects cannot be told from noise, and large effects cost little.
    """

    mean: Array
    deviation: Array
    n_rows: float
    order: int
    sparse: bool = True  # whether weights have that prior

    def first(self) -> Array:
        """Return the first parameters: equal weights and widths."""
        k = self.mean.size
        weights, widths = np.full(k, np.log(_FIRST_WEIGHT / k)), np.full(k, np.log(_WIDTH_MEDIAN))
        return np.concatenate([weights, widths, -np.log(_FIRST_WEIGHT) * np.arange(1, self.order)])

    def after(self, lower: Array) -> Array:
        """Return the first parameters, given those of an additive kernel of lower order.

        No weight is below that of the first parameters: a feature may have an effect with others only.
        """
        first, k = self.first(), self.mean.size
        first[: lower.size] = lower
        first[:k] = np.maximum(first[:k], np.log(_FIRST_WEIGHT / k))
        return first

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
        without = np.stack(_sums_without(w, v.size))
        by_order = v * (without @ (each * w))
        off = (np.log(a) - np.log(_WIDTH_MEDIAN)) / _WIDTH_LOG_DEVIATION
        on = float(self.sparse)
        value = -on * float(np.log1p(self.n_rows * s).sum()) - 0.5 * float(off @ off)
        slopes = [on * by_weight, off / _WIDTH_LOG_DEVIATION, on * by_order[1:]]
        return value, -np.concatenate(slopes)

    def on(self, features: Index, at: Array) -> tuple[AdditiveParameters, Array]:
        """Return the parameters of some of the features."""
        k = self.mean.size
        kept = np.concatenate([features, k + features, np.arange(2 * k, at.size)])
        parts = self.mean[features], self.deviation[features]
        return AdditiveParameters(*parts, self.n_rows, self.order), at[kept]

    def embedded(self, features: Index, at: Array) -> Array:
        """Return the parameters of all features, given those of some; the others have no effect."""
        k, n = self.mean.size, features.size
        whole = self.first()
        whole[:k] = -_LOG_BOUND
        whole[features], whole[k + features], whole[2 * k :] = at[:n], at[n : 2 * n], at[2 * n :]
        return whole

    def used(self, at: Array) -> Array:
        """Return which features have an effect."""
        return np.asarray(self.n_rows * self.variances(at) >= _MIN_VARIANCE_TIMES_ROWS)


def _sums_without(w: Array, order: int) -> list[Array]:
    """Return, for orders 0 to ``order - 1``, the elementary symmetric polynomial without each weight."""
    whole = np.zeros(order)
    whole[0] = 1.0
    for each in w:
        whole[1:] += each * whole[:-1].copy()
    found: list[Array] = [np.ones(w.size)]
    for o in range(1, order):
        found.append(np.maximum(whole[o] - w * found[-1], 0.0))
    return found


def _sums_without_pairs(w: Array, order: int) -> list[Array]:
    """Return the same without each pair of weights, for orders 0 to ``order - 2``.

    The diagonal is zero.
    """
    single = _sums_without(w, order)
    found: list[Array] = [1.0 - np.eye(w.size)]
    for o in range(1, order - 1):
        found.append((1 - np.eye(w.size)) * np.maximum(single[o][:, None] - w * found[-1], 0.0))
    return found


def maximise(
    parameters: AdditiveParameters,
    evidence: ProcessEvidence,
    X: Array,
    first: Array,
    max_iter: int = 60,
    gain: float = 1e-5,
) -> tuple[Array, float]:
    """Return the most probable parameters, and the logarithm of their probability.

    An iteration that gains less than this fraction of it is the last.
    """

    def loss(at: Array) -> tuple[float, Array]:
        value, W = evidence.at(np.asarray(parameters.kernel(at)(X, X)))
        prior, slope = parameters.log_prior(at)
        return -value - prior, -parameters.gradient(at, X, W) - slope

    found = minimize(
        loss,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-_LOG_BOUND, _LOG_BOUND)] * first.size,
        options={"maxiter": max_iter, "ftol": gain},
    )
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
        w, a, v = self.parameters.split(rounded(self.at))
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
    rows: TrainingRows, unit: Array, order: int, lower: LearntAdditive | None
) -> LearntAdditive | None:
    """Return the most probable additive kernel of the features that vary, in these squared units.

    The search starts at the parameters of one order less, if there are any, and from features that are
    found without the prior of the weights. There is no kernel where the evidence has no formula.
    """
    rows = rows.learnt_on()
    evidence, X = evidence_of(rows), as_dense(rows.X)
    columns = canonical_columns(X, np.flatnonzero(unit > 0)) if lower is None else lower.columns
    if evidence is None or not columns.size:
        return None
    X = np.ascontiguousarray(X[:, columns])
    parameters = AdditiveParameters(rows.share @ X, np.sqrt(unit[columns]), rows.total, order)
    if lower is None:
        found = maximise(parameters, evidence, X, parameters.first())
    else:
        starts = (
            maximise(parameters, evidence, X, parameters.after(lower.at)),
            _screened(parameters, evidence, X),
        )
        found = max(starts, key=lambda each: each[1])
    return LearntAdditive(parameters, found[0], columns, unit, found[1])


def _screened(
    parameters: AdditiveParameters, evidence: ProcessEvidence, X: Array, max_iter: int = 10
) -> tuple[Array, float]:
    """Return the most probable parameters of the features of largest effect, and their log probability.

    Effects are found without the prior of the weights, which would remove many features that have an
    effect together before any of them shows.
    """
    free = replace(parameters, sparse=False)
    at, _ = maximise(free, evidence, X, free.first(), max_iter=max_iter)
    s = parameters.variances(at)
    few = np.flatnonzero(s >= s.max() / 10)  # the effects of others are small
    some = parameters.on(few, at)[0]
    at, value = maximise(some, evidence, np.ascontiguousarray(X[:, few]), some.first())
    return parameters.embedded(few, at), value


def relearn(learnt: LearntAdditive, rows: TrainingRows) -> LearntAdditive:
    """Return the kernel of the features in use, learnt again on other rows from its parameters."""
    rows = rows.learnt_on()
    evidence = evidence_of(rows)
    used = np.flatnonzero(learnt.parameters.used(learnt.at))
    if evidence is None or not used.size:
        return learnt
    parameters, at = learnt.parameters.on(used, learnt.at)
    columns = learnt.columns[used]
    X = np.ascontiguousarray(as_dense(rows.X)[:, columns])
    at, value = maximise(parameters, evidence, X, at)
    return LearntAdditive(parameters, at, columns, learnt.unit, value)
