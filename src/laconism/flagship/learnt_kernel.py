"""Kernels whose parameters maximise the evidence."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from .._protocols import Array, Index
from ..judging.rows import canonical_columns
from ..kernels import Additive
from ..kernels._category_term import as_codes
from ..kernels._term import ParameterGradients
from ..linalg import as_dense
from .evidence import LOG_BOUND, EvidenceSearch, ProcessEvidence, evidence_of, maximise, rounded

if TYPE_CHECKING:
    from .rows import TrainingRows

# Prior of the squared inverse width of a standardised feature: median, and deviation of its logarithm.
_WIDTH_MEDIAN = 0.25
_WIDTH_LOG_DEVIATION = 1.5
# Weight of all features together at the start, in units of the noise variance.
_FIRST_WEIGHT = 10.0
# A feature is removed if the prior variance of its effects times the number of rows is below this.
_MIN_VARIANCE_TIMES_ROWS = 0.3
# Iterations after which features without an effect are removed.
_FEW_ITERATIONS = 5


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
    categories: tuple[dict[float, float] | None, ...]  # the frequencies of the codes of each feature

    @classmethod
    def of(cls, rows: TrainingRows, X: Array, unit: Array, order: int, is_code: Sequence[bool]) -> Self:
        """Return those of features ``X`` of the rows, some of which are codes, with their units."""
        found = [
            _frequencies(x, rows.share) if codes else None for x, codes in zip(X.T, is_code, strict=True)
        ]
        return cls(rows.share @ X, unit, rows.total, order, tuple(found))

    def first(self) -> Array:
        """Return the first parameters: equal weights and widths, and sums over sets of an order."""
        k = self.mean.size
        weights = np.full(k, np.log(_FIRST_WEIGHT / max(k, 1)))
        return self._with_orders(np.append(weights, np.full(k, np.log(_WIDTH_MEDIAN))))

    def _with_orders(self, at: Array) -> Array:
        """Append variances of further orders, such that all effects of each have that of the first."""
        k = self.mean.size
        sums = np.zeros(self.order)
        for w in np.exp(at[:k]):
            sums[1:] += w * sums[:-1].copy()
            sums[0] += w
        logs = np.log(np.maximum(sums, np.finfo(float).tiny))
        return np.append(at, np.clip(logs[0] - logs, -LOG_BOUND, LOG_BOUND)[1 + at.size - 2 * k :])

    def split(self, at: Array) -> tuple[Array, Array, Array]:
        """Return weights, squared inverse widths and variances of the orders."""
        k = self.mean.size
        return np.exp(at[:k]), np.exp(at[k : 2 * k]), np.append(1.0, np.exp(at[2 * k :]))

    def kernel(self, at: Array) -> Additive:
        """Return the kernel with these parameters."""
        w, a, v = self.split(at)
        known = {k: codes for k, codes in enumerate(self.categories) if codes is not None}
        return Additive(
            self.order, a / self.deviation**2, w, v, self.mean, self.deviation, known or None
        )

    def gradient(self, at: Array, slopes: ParameterGradients) -> Array:
        """Return the gradient of the evidence, given that in the parameters of the kernel."""
        w, a, v = self.split(at)
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
        value = -float(np.log1p(self.n_rows * s).sum()) - 0.5 * float(off @ off)
        return value, -np.concatenate([by_weight, off / _WIDTH_LOG_DEVIATION, by_order[1:]])

    def on(self, features: Index) -> AdditiveParameters:
        """Return those of some of the features."""
        categories = tuple(self.categories[k] for k in features)
        return replace(
            self,
            mean=self.mean[features],
            deviation=self.deviation[features],
            categories=categories,
        )

    def part(self, features: Index, at: Array) -> Array:
        """Return the values of the parameters of some of the features."""
        k = self.mean.size
        return np.asarray(at[np.concatenate([features, k + features, np.arange(2 * k, at.size)])])

    def with_features(self, features: Index, at: Array, log_weight: float | None = None) -> Array:
        """Return the first parameters, but for those of some features and of lower orders.

        ``log_weight`` is that of all other features.
        """
        whole, k, n = self.first()[: 2 * self.mean.size], self.mean.size, features.size
        if log_weight is not None:
            whole[:k] = log_weight
        whole[features], whole[k + features] = at[:n], at[n : 2 * n]
        return self._with_orders(np.append(whole, at[2 * n :]))

    def used(self, at: Array) -> Array:
        """Return which features have an effect."""
        return np.asarray(self.n_rows * self.variances(at) >= _MIN_VARIANCE_TIMES_ROWS)


def _frequencies(x: Array, share: Array) -> dict[float, float]:
    codes, at = np.unique(as_codes(x), return_inverse=True)
    return dict(zip(codes.tolist(), np.bincount(at, share).tolist(), strict=True))


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


def _loss(
    parameters: AdditiveParameters, evidence: ProcessEvidence, X: Array, at: Array
) -> tuple[float, Array]:
    """Return minus the logarithm of the probability of parameters, and its gradient."""
    K, gradients = parameters.kernel(at).with_gradients(X, X)
    value, W = evidence.at(K)
    prior, slope = parameters.log_prior(at)
    return -value - prior, -parameters.gradient(at, gradients(W)) - slope


def most_probable(
    parameters: AdditiveParameters, evidence: ProcessEvidence, X: Array, first: Array
) -> tuple[Index, Array, float]:
    """Return features, their most probable parameters, and the log evidence there.

    Features that have no effect after a few iterations are removed.
    """
    features, at, is_last = np.arange(parameters.mean.size), first, False
    while features.size:
        some = parameters.on(features)
        loss = partial(_loss, some, evidence, np.ascontiguousarray(X[:, features]))
        bounds, few = (
            [(-LOG_BOUND, LOG_BOUND)] * at.size,
            {} if is_last else {"max_iter": _FEW_ITERATIONS},
        )
        at, value = maximise(loss, at, bounds, **few)
        used = np.flatnonzero(some.used(at))
        if used.size < features.size:
            features, at = features[used], some.part(used, at)
        elif is_last:
            return features, at, value - some.log_prior(at)[0]
        else:
            is_last = True
    return features, at, evidence.at(np.zeros((X.shape[0],) * 2))[0]


def missing(
    parameters: AdditiveParameters, evidence: ProcessEvidence, X: Array, features: Index, at: Array
) -> Index:
    """Return the features without an effect whose weight should be positive: its slope at zero is."""
    whole = parameters.with_features(features, at, -LOG_BOUND)
    slopes = -_loss(parameters, evidence, X, whole)[1][: parameters.mean.size]
    slopes[features] = 0.0
    return np.flatnonzero(slopes > 0)


def interacting(parameters: AdditiveParameters, evidence: ProcessEvidence, X: Array, at: Array) -> Index:
    """Return the features of pairs whose joint effect is worth its price, without any fit of it.

    The slope of the evidence in the variance of an effect, divided by the number of rows, is
    ``u = (t^2 - 1) / 2`` for an effect of one direction with t-value t; its variance then gains
    ``u - log(1 + 2u) / 2`` nats. The best of m pairs of noise gains about log m.
    """
    kernel = parameters.kernel(at)
    W = evidence.at(kernel(X, X))[1]
    u = np.maximum(kernel.pair_gradients(X, W) / parameters.n_rows, 0.0)
    p = parameters.mean.size
    pairs = u - np.log1p(2 * u) / 2 > np.log(max(p * (p - 1) // 2, 1))
    return np.flatnonzero(pairs.any(axis=0))


class LearntAdditive(NamedTuple):
    """An additive kernel as it was learnt, of the features that have an effect."""

    parameters: AdditiveParameters
    at: Array
    columns: Index
    unit: Array  # squared unit of each feature, zero for one that does not vary
    log_evidence: float

    def kernel(self) -> Additive:
        """Return the kernel of all features."""
        w, a, v = self.parameters.split(rounded(self.at))
        weights, mean = np.zeros(self.unit.size), np.zeros(self.unit.size)
        gamma, deviation = np.ones(self.unit.size), np.ones(self.unit.size)
        weights[self.columns], mean[self.columns] = w, self.parameters.mean
        deviation[self.columns] = self.parameters.deviation
        gamma[self.columns] = a / self.parameters.deviation**2
        codes = zip(self.columns.tolist(), self.parameters.categories, strict=True)
        known = {j: each for j, each in codes if each is not None}
        return Additive(v.size, gamma, weights, v, mean, deviation, known or None)

    def optimism(self, rows: TrainingRows) -> Array:
        """Return what the left-out log density of each row loses without the row."""
        evidence = evidence_of(rows)
        assert evidence is not None  # as there is a kernel
        X = np.ascontiguousarray(as_dense(rows.X)[:, self.columns])
        loss = partial(_loss, self.parameters, evidence, X)
        return EvidenceSearch(evidence, lambda at: self.parameters.kernel(at)(X, X), loss).optimism(
            self.at
        )


def learn_additive(
    rows: TrainingRows,
    unit: Array,
    order: int,
    lower: LearntAdditive | None,
    codes: Collection[int] = (),
) -> LearntAdditive | None:
    """Return the most probable additive kernel of the features that vary, in these squared units.

    The features ``codes`` hold codes of categories, which are equal or not.

    The search starts from the kernel of one order less, if there is any, and from pairs of features that
    have an effect together. There is no kernel where the evidence has no formula.
    """
    rows = rows.learnt_on()
    evidence, X = evidence_of(rows), as_dense(rows.X)
    columns = canonical_columns(X, np.flatnonzero(unit > 0))
    if evidence is None or columns.size < order:
        return None
    X = np.ascontiguousarray(X[:, columns])
    is_code = [j in codes for j in columns.tolist()]
    whole = AdditiveParameters.of(rows, X, np.sqrt(unit[columns]), order, is_code)
    features = np.arange(columns.size)
    first = whole.first()
    if lower is not None:
        known, below = np.flatnonzero(np.isin(columns, lower.columns)), replace(whole, order=order - 1)
        pairs = interacting(below, evidence, X, below.with_features(known, lower.at, -LOG_BOUND))
        features = np.union1d(known, pairs)
        first = whole.on(features).with_features(np.searchsorted(features, known), lower.at)
    kept, at, value = most_probable(whole.on(features), evidence, X[:, features], first)
    features = features[kept]
    more = missing(whole, evidence, X, features, at)
    if more.size:
        both = np.union1d(features, more)
        start = whole.with_features(features, at, -np.log(whole.n_rows))
        kept, at, value = most_probable(whole.on(both), evidence, X[:, both], whole.part(both, start))
        features = both[kept]
    return LearntAdditive(whole.on(features), at, columns[features], unit, value)


def relearn(learnt: LearntAdditive, rows: TrainingRows) -> LearntAdditive:
    """Return the kernel of the same features, learnt again on other rows from its parameters."""
    rows = rows.learnt_on()
    evidence = evidence_of(rows)
    assert evidence is not None  # as there was a kernel
    X = np.ascontiguousarray(as_dense(rows.X)[:, learnt.columns])
    kept, at, value = most_probable(learnt.parameters, evidence, X, learnt.at)
    return LearntAdditive(learnt.parameters.on(kept), at, learnt.columns[kept], learnt.unit, value)
