"""Feature maps of a reference: independent weights of one variance on them are its prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._protocols import Array, Index
from ..basis import KernelBasis
from ..kernels import Kernel
from ..linalg import Triangle, as_dense, row_blocks, symmetric_eigen

# The fraction of a row's prior variance that may be outside the inducing rows by rounding alone.
_SPAN_TOLERANCE = 2e-6
# Directions whose eigenvalue is below this fraction of the largest are rounding.
_RANK_TOLERANCE = 1e-12


@dataclass(frozen=True)
class KernelMap:
    r"""Features of a kernel on which independent weights of one variance give the prior of the latent.

    With :math:`k(x, X) \approx c(x)^TC`, :math:`c(x) = L^{-1}k(P, x)` for inducing rows :math:`P` that
    span the kernel matrix, the features :math:`c(x)` make the latent a Gaussian process whose covariance
    is the kernel. The *weight-space prior* has weights :math:`w \sim \mathcal N(0, I)` on the kernels of
    all rows, and so the covariance :math:`c(x)^TCC^Tc(x')`. Its features are
    :math:`c(x)^TA` with :math:`CC^T = AA^T`. It serves kernels that are no covariance.
    """

    kernel: Kernel
    rows: Any  # the inducing rows
    triangle: Triangle
    rotation: Array | None = None  # of the weight-space prior

    @classmethod
    def of(
        cls,
        basis: KernelBasis,
        pivots: Index | None = None,
        *,
        weight_space_prior: bool = False,
        rank_tol: float = 0.0,
        max_rank: int = 0,
    ) -> Self:
        """Return the map for the kernels of a basis.

        The inducing rows are the pivots; without pivots they are found if ``max_rank`` is given, and are
        all rows otherwise.
        """
        kernel, centres = basis.kernel, basis.centres
        if pivots is None and max_rank:
            factors = basis.factors(tol=rank_tol, max_rank=max_rank)
            pivots = None if factors is None else factors.pivots
        rows = centres if pivots is None else centres[pivots]
        triangle = Triangle.of(np.asarray(kernel(rows, rows), dtype=np.float64))
        if not weight_space_prior:
            return cls(kernel, rows, triangle)
        C = triangle.solve(np.asarray(kernel(rows, centres), dtype=np.float64))
        return cls(kernel, rows, triangle, Triangle.of(C @ C.T).lower)

    def weights(self, w: Array) -> Array:
        """Return the weights on the kernels of the inducing rows, given those of the features."""
        return self.triangle.solve_transposed(w if self.rotation is None else self.rotation @ w)

    def outside_variance(self, X: Any) -> Array:
        """Return the prior variance of each row outside the span of the inducing rows."""
        inside = (self.columns(X) ** 2).sum(axis=1)
        if self.rotation is not None:
            return np.zeros(inside.size)
        return np.asarray(np.maximum((1 - _SPAN_TOLERANCE) * self.kernel.diag(X) - inside, 0.0))

    def columns(self, X: Any) -> Array:
        """Return the features of each row."""
        X = X if hasattr(X, "shape") else np.asarray(X)
        size = self.triangle.lower.shape[0] if self.rotation is None else self.rotation.shape[1]
        found = np.empty((X.shape[0], size))
        for part in row_blocks(X.shape[0], self.triangle.lower.shape[0]):
            K = np.asarray(self.kernel(self.rows, X[part]), dtype=np.float64)
            c = self.triangle.solve(K).T
            found[part] = c if self.rotation is None else c @ self.rotation
        return found


@dataclass(frozen=True)
class FeatureMap:
    """Standardised features; if they outnumber the rows, rotated into at most as many as rows."""

    centre: Array
    rotation: Array | None
    scale: Array
    source: Index | None = None  # the features it uses, if not all

    @classmethod
    def of(cls, X: Array, weight: Array) -> Self:
        """Return the map for these rows."""
        share = weight / weight.sum()
        centre = share @ X
        spread = np.sqrt(share @ (X - centre) ** 2)
        noise = 8 * np.finfo(X.dtype).eps * np.abs(centre)
        scale = np.where(spread > noise, 1 / np.where(spread > noise, spread, 1.0), 0.0)
        if X.shape[1] <= X.shape[0]:
            return cls(centre, None, scale)
        Z = (X - centre) * scale
        values, U = symmetric_eigen(Z @ Z.T)
        kept = np.flatnonzero(values > _RANK_TOLERANCE * max(values[-1], np.finfo(float).tiny))
        return cls(centre, (Z.T @ U[:, kept]) / np.sqrt(values[kept]), scale)

    def keep(self, index: Index) -> Self:
        """Return the map to some of the standardised features."""
        return type(self)(self.centre[index], None, self.scale[index], index)

    def over_all_features(self, n_features: int) -> tuple[Array, Array]:
        """Return scale and rotation with a row for every feature, zero for those it does not use."""
        index = np.arange(n_features) if self.source is None else self.source
        scale, rotation = np.zeros(n_features), np.zeros((n_features, self.width))
        scale[index] = self.scale
        own = np.eye(index.size) if self.rotation is None else self.rotation
        rotation[index] = self.scale[:, None] * own
        return scale, rotation

    @property
    def width(self) -> int:
        """The number of features after the rotation."""
        return self.scale.size if self.rotation is None else self.rotation.shape[1]

    def standardise(self, X: Any) -> Array:
        """Return the features it uses, standardised."""
        X = as_dense(X)
        features = X if self.source is None else X[:, self.source]
        return np.asarray((features - self.centre) * self.scale)

    def outside_variance(self, X: Any) -> Array:
        """Return the squared length of each row outside the span of the training rows."""
        Z = self.standardise(X)
        if self.rotation is None:
            return np.zeros(Z.shape[0])
        inside = ((Z @ self.rotation) ** 2).sum(axis=1)
        return np.asarray(np.maximum((Z**2).sum(axis=1) - inside, 0.0))

    def columns(self, X: Any) -> Array:
        """Return the features of each row."""
        Z = self.standardise(X)
        return Z if self.rotation is None else np.asarray(Z @ self.rotation)
