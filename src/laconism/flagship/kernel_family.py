"""Kernel families: a kernel of every width, on standardised features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from .._protocols import Array, Index
from ..basis import Features, KernelBasis
from ..kernels import Kernel, Scaled, resolve_kernel
from ..kernels.scaled import squash
from .reference_features import FeatureMap, KernelMap

# Kernels of a distance, which do not depend on the origin.
_RADIAL = ("rbf", "matern")
# The fraction of a kernel matrix that the search of hyper-parameters may miss.
_RANK_TOLERANCE = 1e-5
# Sparse features whose size differs from the median by more than this factor have a separate unit.
_MAX_SIZE_RATIO = 10.0
# A feature has long tails if its squashed values explain less than this fraction of its variance.
_MAX_SQUASHED_R2 = 0.9
# The distance of the quartiles of a Gaussian, in standard deviations.
_GAUSSIAN_QUARTILE_RANGE = 1.349
# Rounding errors of a mean, in units of the machine precision.
_ROUNDING_UNITS = 8


def _sparse_units(variance: Array, present: Array, varies: Any) -> Array:
    """Return the squared units of sparse features: one unit for all features of similar size.

    The size of a feature is that of its nonzero values, whatever their frequency. Features of a
    different size are scaled to the median size. Features that are constant here may vary in other rows.
    """
    square = variance[varies] / present[varies]
    ratio = np.ones(varies.size)
    ratio[varies] = square / np.median(square)
    alike = (ratio < _MAX_SIZE_RATIO**2) & (ratio > _MAX_SIZE_RATIO**-2)
    return np.asarray(variance[alike & varies].mean() * np.where(alike, 1.0, ratio))


@dataclass(frozen=True)
class KernelFamily:
    """A kernel of every width, or of the given width.

    A named kernel is applied to standardised features. Features of a sparse matrix are not centred, so
    that it stays sparse, and those of similar size share one unit. A kernel object is used unchanged.
    """

    kernel: Any
    degree: int
    coef0: float
    gamma: float | None  # None if the width is searched
    unit: Array  # squared unit of each feature, zero for one that does not vary
    origin: Array | None  # subtracted from the features
    distance: float  # mean squared distance of rows in those units; gamma is relative to it
    radial: bool
    spread: Array | None = None  # scales of the squashing, if features are squashed

    @classmethod
    def of(
        cls, kernel: Any, degree: int, coef0: float, gamma: float | None, X: Any, weight: Array
    ) -> Self:
        """Return the family for features like these."""
        share = weight / weight.sum()
        sparse: bool = issparse(X)
        mean = np.asarray(share @ X, dtype=np.float64)
        if sparse:
            square = np.asarray(share @ X.multiply(X), dtype=np.float64)
            variance = np.maximum(square - mean**2, 0.0)
        else:
            variance = np.asarray(share @ (X - mean) ** 2, dtype=np.float64)
        noise = (_ROUNDING_UNITS * np.finfo(X.dtype).eps * np.abs(mean)) ** 2
        varies = variance > noise + np.finfo(float).tiny
        unit = np.where(varies, variance, 0.0)
        if sparse and varies.any():
            present = np.asarray(share @ (X != 0), dtype=np.float64)
            unit = _sparse_units(variance, present, varies)
        radial = isinstance(kernel, str) and kernel in _RADIAL
        origin = None if radial or sparse else mean
        return cls(
            kernel,
            degree,
            coef0,
            gamma,
            unit,
            origin,
            2.0 * (float((variance[varies] / unit[varies]).sum()) or 1.0),
            radial and not sparse,
        )

    def squashed(self, X: Any, weight: Array) -> Self | None:
        """Return the family with squashed features, if any feature has long tails.

        A few far values dominate the variance of such a feature. A squashed feature is logarithmic
        beyond its quartiles (:class:`~laconism.kernels.Scaled`).
        """
        if not self.radial or self.gamma is not None:
            return None
        X, varies = np.asarray(X, dtype=np.float64), self.unit > 0
        low, centre, high = weighted_quartiles(X, weight)
        deviation = np.where(varies, np.sqrt(self.unit), 1.0)
        robust = (high - low) / _GAUSSIAN_QUARTILE_RANGE
        spread = np.where(varies & (robust > 0), np.minimum(robust, deviation), deviation)
        Z = squash(X - centre, spread)
        share = weight / weight.sum()
        Z -= share @ Z
        unit = np.where(varies, share @ Z**2, 0.0)
        covariance = share @ (Z * (X - share @ X))
        if not (covariance**2 < _MAX_SQUASHED_R2 * unit * self.unit).any():
            return None
        return replace(self, unit=unit, origin=centre, spread=spread)

    def matern(self) -> Self | None:
        """Return the Matern family, of once differentiable functions, if the width is searched."""
        searched = self.radial and self.gamma is None
        return replace(self, kernel="matern") if searched and self.kernel != "matern" else None

    def rotated(self, X: Any, weight: Array) -> tuple[Self, Array] | None:
        """Return family and rows in as many coordinates as there are rows, with the same distances.

        There are none unless the rows have more features than that, and the family depends on distances.
        """
        if not self.radial or self.spread is not None or X.shape[1] <= X.shape[0]:
            return None
        Z = FeatureMap.of(np.asarray(X, dtype=np.float64), weight).columns(X)
        return (replace(self, unit=np.ones(Z.shape[1])), Z) if Z.shape[1] else None

    def on_features(self, index: Index) -> Self:
        """Return the family of some of the features, of the same widths."""
        origin = None if self.origin is None else self.origin[index]
        spread = None if self.spread is None else self.spread[index]
        return replace(self, unit=self.unit[index], origin=origin, spread=spread)

    @property
    def positive(self) -> bool:
        """Whether the kernels are positive semi-definite, as the covariance of a process must be."""
        return self.kernel_at(0, np.ones(self.unit.size)).positive

    def feature_scales(self, theta: Array) -> Array:
        """Return the weight of each feature, on average one; those of an additive kernel are its own."""
        weights = getattr(self.kernel, "weights", None)
        if weights is None:
            return np.where(self.unit > 0, theta, 0.0)
        mean = float(np.mean(np.asarray(weights)[self.unit > 0]))
        return np.asarray(weights) / (mean if mean > 0 else 1.0)

    def gamma_at(self, width: float) -> float:
        """Return ``gamma`` for a power of two of the width."""
        return float(2.0**width / self.distance) if self.gamma is None else self.gamma

    def kernel_at(self, width: float, theta: Array) -> Kernel:
        """Return the kernel of a width with these feature weights."""
        made = resolve_kernel(
            self.kernel, gamma=self.gamma_at(width), degree=self.degree, coef0=self.coef0
        )
        if not isinstance(self.kernel, str):
            return made
        varies = self.unit > 0
        scales = np.where(varies, theta, 0.0) / np.where(varies, self.unit, 1.0)
        return Scaled(made, scales, self.origin, self.spread)


def weighted_quartiles(X: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Return the three quartiles of each feature; weight 2 equals a row written twice.

    If two values are both quartiles, their mean is returned, so that signs do not matter.
    """
    order = np.argsort(X, axis=0, kind="stable")
    below = np.cumsum(weight[order], axis=0)
    values, rounding = np.take_along_axis(X, order, axis=0), 1e-9 * float(weight.sum())

    def first(above: Array) -> Array:
        at = np.minimum((below <= above).sum(axis=0), len(X) - 1)
        return np.asarray(np.take_along_axis(values, at[None], axis=0)[0])

    low, middle, high = (
        (first(part * below[-1] - rounding) + first(part * below[-1] + rounding)) / 2
        for part in (0.25, 0.5, 0.75)
    )
    return low, middle, high


@dataclass(frozen=True)
class ReferenceFeatures:
    """The features of references: those of kernels of every width, or the standardised features."""

    family: KernelFamily | None  # None for the features themselves
    max_rank: int
    moments: bool = False  # whether labels are fitted by moment matching

    @cached_property
    def weight_space_prior(self) -> bool:
        """Whether the prior is that of weights on all kernels, since they are no covariance."""
        return self.family is not None and not self.family.positive

    def map_on(self, X: Any, weight: Array, width: float, theta: Array) -> KernelMap | FeatureMap:
        """Return the feature map learnt on these rows."""
        if self.family is None:
            return FeatureMap.of(X, weight)
        return KernelMap.of(
            self.basis(X, width, theta),
            weight_space_prior=self.weight_space_prior,
            rank_tol=_RANK_TOLERANCE,
            max_rank=self.max_rank,
        )

    def exact_map(
        self, basis: Any, pivots: Index | None, X: Any, weight: Array
    ) -> KernelMap | FeatureMap:
        """Return the feature map of a basis whose pivots are known."""
        if self.family is None:
            return FeatureMap.of(X, weight)
        return KernelMap.of(basis, pivots, weight_space_prior=self.weight_space_prior)

    def columns(self, X: Any, weight: Array, width: int, theta: Array) -> Array:
        """Return the features of these rows under the map learnt on them."""
        if self.family is not None and not self.weight_space_prior:
            factors = self.basis(X, width, theta).factors(tol=_RANK_TOLERANCE, max_rank=self.max_rank)
            if factors is not None and factors.G.shape[1] == X.shape[0]:
                return np.ascontiguousarray(factors.G.T, dtype=np.float64)
        return np.ascontiguousarray(self.map_on(X, weight, width, theta).columns(X))

    def basis(self, X: Any, width: float, theta: Array) -> Any:
        """Return the columns: features, or kernels of a width on the rows."""
        if self.family is None:
            return Features(np.arange(X.shape[1]))
        return KernelBasis.on_rows(self.family.kernel_at(width, theta), X)
