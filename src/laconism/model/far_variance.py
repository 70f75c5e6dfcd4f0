"""Error bars far from the data, where the kept kernels vanish: two methods with one protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from .._protocols import Array, Basis
from ..kernels import Kernel
from ..linalg import Triangle, as_dense, row_blocks, upper_root
from ..posterior import GaussianPosterior

# Added to the diagonal of a kernel matrix, relative to its largest entry, so that the residual can be
# evaluated in single precision.
_RELATIVE_JITTER = 1e-6
_TINY = float(np.finfo(float).tiny)


def kernel_triangle(K: Array) -> Triangle:
    """Return ``L`` with ``L L' = h (K + jitter)``, ``h`` the largest entry of the diagonal of ``K``."""
    largest = K.diagonal().max(initial=0.0)
    return Triangle.of(largest * (K + _RELATIVE_JITTER * largest * np.eye(len(K))))


def relative_residual(triangle: Triangle, Phi: Array, relative_height: Array | float = 1.0) -> Array:
    """Return ``1 - k_xM K_MM^-1 k_Mx / k(x, x)`` at each row of ``Phi = k_XM``, never below zero.

    ``relative_height`` is ``k(x, x)`` over ``h``, one if it is the same everywhere.
    """
    known = (triangle.solve(Phi.T) ** 2).sum(axis=0)
    known = np.divide(known, relative_height, out=np.ones_like(known), where=relative_height > known)
    return np.asarray(np.maximum(1 - known, 0.0))


@dataclass(frozen=True)
class PriorResidualVariance:
    r"""The prior variance that the kept kernels lack.

    With the kept rows :math:`M`, the fraction :math:`e(x) = 1 - k_{xM}K_{MM}^{-1}k_{Mx}/k(x, x)` of the
    prior variance is not determined by :math:`f(M)` (Quinonero-Candela and Rasmussen 2005). All of it
    would be too much near training rows that were not kept; a power of :math:`e` is right in both
    limits, zero at a kept row and one far from all of them.
    """

    triangle: Triangle  # of the kernel matrix of the kept rows
    height: float  # largest variance of the prior at a kept row
    power: float
    kernel: Kernel | None = None  # if its height differs between rows
    largest: float = 1.0  # its largest height at a kept row

    @classmethod
    def of(cls, basis: Any, unit: float, power: float) -> Self:
        """Return the variance for the kernels of a basis, given that of a weight."""
        K = np.asarray(basis.columns(basis.centres), dtype=np.float64)
        diagonal = K.diagonal()
        if not diagonal.size:
            return cls(kernel_triangle(K), unit, power, basis.kernel)
        largest = float(diagonal.max())
        kernel = None if (diagonal == largest).all() else basis.kernel
        return cls(kernel_triangle(K), unit * largest, power, kernel, largest)

    def apply(self, X: Any, Phi: Array, m: Array, v: Array) -> tuple[Array, Array]:
        """Return the mean unchanged, and the variance with the residual added."""
        ratio = 1.0 if self.kernel is None else self.kernel.diag(X) / self.largest
        return m, v + self.height * ratio * relative_residual(self.triangle, Phi, ratio) ** self.power


@dataclass(frozen=True)
class Augmentation:
    r"""The relevance vector machine with one more kernel at each new row (RVM*).

    An additional kernel :math:`k(\cdot, x_*)` restores the variance that the latent loses away from the
    kept kernels (Rasmussen and Quinonero-Candela, ICML 2005). With
    :math:`e = k(x_*, x_*) - \phi_*^T\Sigma\Phi^T R k_*` and :math:`s, q` as in
    :class:`laconism.rvm.evidence.Sequential`,

    .. math:: m_* \mathrel{+}= \frac{e q}{\alpha + s}, \qquad v_* \mathrel{+}= \frac{e^2}{\alpha + s}.

    :math:`k_* = k(X, x_*)` is computed from the few rows :math:`P` that span the kernel matrix,
    :math:`k_* \approx G^T L^{-1} k(P, x_*)` with :math:`K_{PP} = LL^T` and :math:`G = L^{-1}K_{PX}`, so
    that the stored model does not grow with the number of rows. The prior variance :math:`1/\alpha` of
    the new weight makes the latent far away vary as much as it does over the training rows.
    """

    kernel: Kernel
    rows: Any  # P
    centre: Array  # mean of the kept columns over the training rows, if there is an intercept
    halves: Array  # L with its diagonal, and above it one half of the excess
    middle: Array  # mean of the columns of G
    gain: Array  # Sigma Phi' R G'
    diagonal: Array  # of the excess G R G' - G R Phi Sigma Phi' R G', for s
    slope: Array  # G R (y - m), for q
    alpha: float

    @classmethod
    def learn(
        cls,
        kernel: Kernel,
        rows: Any,
        basis: Basis,
        posterior: GaussianPosterior,
        variance: Array,
        X: Any,
        y: Array,
        r: Array,
    ) -> Self:
        r"""Return the augmentation of a posterior, by sums over the training rows in blocks.

        The weights have the prior ``variance``. All sums are in the triangle of
        :math:`[R^{1/2}\Phi, R^{1/2}G^T, R^{1/2}(y - m)]` above :math:`[V^{-1/2}, 0, -V^{-1/2}w]`: its
        first block projects on :math:`\Phi`, the others hold the residuals, as roots that do not cancel.
        """
        triangle = Triangle.of(np.asarray(kernel(rows, rows), dtype=np.float64))
        rank, k = rows.shape[0], posterior.mean.size

        def blocks() -> Iterator[tuple[slice, Array, Array]]:
            """Yield slices of rows with ``G`` and ``Phi`` there."""
            for part in row_blocks(X.shape[0], rank):
                G = triangle.solve(np.asarray(kernel(rows, X[part]), dtype=np.float64))
                yield part, G, as_dense(basis.columns(X[part]))

        share = r / r.sum()
        target = float(share @ y)  # subtracted, so that the variance of the latent does not cancel
        middle, mean, second, level = np.zeros(rank), 0.0, 0.0, 0.0
        for part, G, Phi in blocks():
            m, v = posterior.latent(Phi)
            middle += G @ share[part]
            mean += float(share[part] @ (m - target))
            second += float(share[part] @ ((m - target) ** 2 + v))
            level += float(share[part] @ kernel.diag(X[part]))
        # A kernel that vanishes at all rows is left out: its precision is infinite.
        alpha = level * (level / max(second - mean**2, _TINY)) if level > 0 else np.inf
        if posterior.spread == 0:  # without a free intercept columns are not centred
            middle, mean = np.zeros(rank), 0.0
        precision = 1 / np.sqrt(np.maximum(variance, _TINY))
        root = np.column_stack([np.diag(precision), np.zeros((k, rank)), -precision * posterior.mean])
        for part, G, Phi in blocks():
            residual = y[part] - posterior.latent(Phi)[0] + mean
            beside = np.column_stack([Phi - posterior.centre, G.T - middle, residual])
            root = upper_root(np.vstack([root, np.sqrt(r[part])[:, None] * beside]))
        gain = Triangle(root[:k, :k].T).solve_transposed(root[:k, k:-1])
        excess, slope = root[k:, k:-1].T @ root[k:, k:-1], root[k:, k:-1].T @ root[k:, -1]
        # A triangular and a symmetric matrix share one array, since they are most of a saved model.
        halves = np.asfortranarray(triangle.lower + np.triu(excess, 1))
        diagonal, centre = np.diag(excess).copy(), posterior.centre
        return cls(kernel, rows, centre, halves, middle, gain, diagonal, slope, alpha)

    @property
    def triangle(self) -> Triangle:
        """``L``; a solve does not read the part above its diagonal."""
        return Triangle(self.halves)

    @property
    def excess(self) -> Array:
        """``G R G' - G R Phi Sigma Phi' R G'``."""
        above = np.triu(self.halves, 1)
        return above + above.T + np.diag(self.diagonal)

    def apply(self, X: Any, Phi: Array, m: Array, v: Array) -> tuple[Array, Array]:
        """Return mean and variance of the latent with the new kernel at each row."""
        c = self.triangle.solve(np.asarray(self.kernel(self.rows, X), dtype=np.float64))
        away = Phi - self.centre
        e = self.kernel.diag(X) - self.middle @ c - np.einsum("ik,ki->i", away, self.gain @ c)
        s = np.maximum(np.einsum("ri,ri->i", c, self.excess @ c), 0.0)
        known = np.maximum(self.alpha + s, _TINY)
        return m + e * (self.slope @ c) / known, v + e**2 / known


# The correction of a latent far from the training rows.
FarVariance: TypeAlias = PriorResidualVariance | Augmentation
