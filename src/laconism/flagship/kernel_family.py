"""The kernels that a flagship chooses from: one of each width, on standardised features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from .._protocols import Array, Kernel
from ..basis import Features, KernelBasis
from ..kernels import Scaled, resolve_kernel
from ..kernels.scaled import squash
from .reference import FeatureMap, KernelMap

# Those that only know the distance: where the origin is does not matter to them.
_RADIAL = ("rbf", "matern")
# How much of a kernel matrix a comparison of kernels may miss, and the directions that it looks at.
_RANK_TOL, _MOST_RANK = 1e-5, 600
# Values of a sparse feature that are so many times as large or small as others are in another unit;
# frequencies of words are not, weighted or counted.
_LIKE = 10.0
# A feature has long tails if less than this part of its variance is in its squashed self (of a Gaussian
# one it is 0.98), and the distance of a Gaussian's quartiles in its deviations.
_STRAIGHT, _QUARTILES = 0.9, 1.349


def _sparse_units(variance: Array, present: Array, varies: Any) -> Array:
    """Return the squared units of sparse features: one for all, as far as they are of one size.

    What counts is how large values are where there are any, and not how often that is: the others are
    brought to the size of the typical one. Those that do not vary among the rows may do so in others.
    """
    square = variance[varies] / present[varies]
    ratio = np.ones(varies.size)
    ratio[varies] = square / np.median(square)
    alike = (ratio < _LIKE**2) & (ratio > _LIKE**-2)
    return np.asarray(variance[alike & varies].mean() * np.where(alike, 1.0, ratio))


@dataclass(frozen=True)
class KernelFamily:
    """A kernel of every width, or of the one that was given.

    A named kernel sees standardised features. Those of a sparse matrix are not moved, since it has to
    stay sparse, and scaled all alike as far as their values are: a rare one is no more telling than a
    frequent one, nor an income in thousands than a category of 0 and 1. An object is taken as it is.
    """

    kernel: Any
    degree: int
    coef0: float
    gamma: float | None  # the one width, if there is no choice
    unit: Array  # squared unit of each feature, zero for one that does not vary
    origin: Array | None
    distance: float  # mean squared distance of rows in those units: it makes gamma a number without any
    radial: bool
    spread: Array | None = None  # of features that are squashed

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
        noise = (8 * np.finfo(X.dtype).eps * np.abs(mean)) ** 2
        varies = variance > noise + 1e-300
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
        """Return the kernels of squashed features, if there are any with long tails.

        A few values that are far away make the unit of a feature, and all others are alike in it. Beyond
        its quartiles a squashed one counts by its logarithm (:class:`~laconism.kernels.Scaled`).
        """
        if not self.radial or self.gamma is not None:
            return None
        X, varies = np.asarray(X, dtype=np.float64), self.unit > 0
        low, centre, high = weighted_quartiles(X, weight)
        deviation = np.where(varies, np.sqrt(self.unit), 1.0)
        apart = (high - low) / _QUARTILES
        spread = np.where(varies & (apart > 0), np.minimum(apart, deviation), deviation)
        Z = squash(X - centre, spread)
        share = weight / weight.sum()
        Z -= share @ Z
        unit = np.where(varies, share @ Z**2, 0.0)
        together = share @ (Z * (X - share @ X))
        if not (together**2 < _STRAIGHT * unit * self.unit).any():
            return None
        return replace(self, unit=unit, origin=centre, spread=spread)

    def rough(self) -> Self | None:
        """Return the Matern kernels, whose functions have one derivative, if there is a choice."""
        searched = self.radial and self.gamma is None
        return replace(self, kernel="matern") if searched and self.kernel != "matern" else None

    @property
    def positive(self) -> bool:
        """Whether the kernels are positive semi-definite, as the covariance of a process has to be."""
        return self.kernel_at(0, np.ones(self.unit.size)).positive

    def gamma_at(self, width: float) -> float:
        """Return ``gamma`` for a power of two of the width."""
        return float(2.0**width / self.distance) if self.gamma is None else self.gamma

    def kernel_at(self, width: float, theta: Array) -> Kernel:
        """Return the kernel of a width for features of these weights."""
        made = resolve_kernel(
            self.kernel, gamma=self.gamma_at(width), degree=self.degree, coef0=self.coef0
        )
        if not isinstance(self.kernel, str):
            return made
        varies = self.unit > 0
        scales = np.where(varies, theta, 0.0) / np.where(varies, self.unit, 1.0)
        return Scaled(made, scales, self.origin, self.spread)


def weighted_quartiles(X: Array, weight: Array) -> tuple[Array, Array, Array]:
    """Return the three quartiles of each feature, a weight of two being a row written twice.

    Between two values that are both quartiles it is the middle, so that signs do not matter.
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
    """The coordinates of a reference for kernels of every width, or for the features themselves."""

    family: KernelFamily | None
    max_rank: int

    def on(
        self, X: Any, weight: Array, width: float, theta: Array, smooth: bool
    ) -> KernelMap | FeatureMap:
        """Return the map to the coordinates for these rows."""
        if self.family is None:
            return FeatureMap.of(X, weight)
        return KernelMap.on(
            self.basis(X, width, theta), smooth=smooth, rank_tol=_RANK_TOL, max_rank=self._rank
        )

    def columns(self, X: Any, weight: Array, width: int, theta: Array, smooth: bool) -> Array:
        """Return the coordinates of these rows for themselves."""
        if self.family is not None and not smooth:
            factors = self.basis(X, width, theta).factors(tol=_RANK_TOL, max_rank=self._rank)
            if factors is not None and factors.G.shape[1] == X.shape[0]:
                return np.ascontiguousarray(factors.G.T, dtype=np.float64)
        return np.ascontiguousarray(self.on(X, weight, width, theta, smooth).columns(X))

    @property
    def _rank(self) -> int:
        return min(self.max_rank, _MOST_RANK)

    def basis(self, X: Any, width: float, theta: Array) -> Any:
        """Return the columns: features, or kernels of a width on the rows."""
        if self.family is None:
            return Features(np.arange(X.shape[1]))
        return KernelBasis.on_rows(self.family.kernel_at(width, theta), X)
