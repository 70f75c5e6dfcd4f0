"""The kernels that a flagship chooses from: one of each width, on standardised features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from .._protocols import Array, Kernel
from ..kernels import Scaled, resolve_kernel

# Those that only know the distance: where the origin is does not matter to them.
_RADIAL = ("rbf", "matern")


@dataclass(frozen=True)
class Family:
    """A kernel of every width, or of the one that was given.

    A named kernel sees standardised features. Those of a sparse matrix are scaled all alike and not
    moved: a rare one is no more telling than a frequent one, and the matrix has to stay sparse. An
    object is taken as it is.
    """

    kernel: Any
    degree: int
    coef0: float
    gamma: float | None  # the one width, if there is no choice
    unit: Array  # squared unit of each feature, zero for one that does not vary
    origin: Array | None
    distance: float  # mean squared distance of rows in those units: it makes gamma a number without any
    radial: bool

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
        if sparse and varies.any():
            unit, varying = np.full(mean.size, variance.mean()), mean.size
        else:
            unit, varying = np.where(varies, variance, 0.0), int(varies.sum())
        radial = isinstance(kernel, str) and kernel in _RADIAL
        origin = None if radial or sparse else mean
        return cls(
            kernel, degree, coef0, gamma, unit, origin, 2.0 * max(varying, 1), radial and not sparse
        )

    def gamma_at(self, width: int) -> float:
        """Return ``gamma`` for a power of two of the width."""
        return float(2.0**width / self.distance) if self.gamma is None else self.gamma

    def kernel_at(self, width: int, theta: Array) -> Kernel:
        """Return the kernel of a width for features of these weights."""
        made = resolve_kernel(
            self.kernel, gamma=self.gamma_at(width), degree=self.degree, coef0=self.coef0
        )
        if not isinstance(self.kernel, str):
            return made
        varies = self.unit > 0
        scales = np.where(varies, theta, 0.0) / np.where(varies, self.unit, 1.0)
        return Scaled(made, scales, self.origin)
