"""Error bars that grow away from the data: one more kernel, at the point where one asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._protocols import Array, Basis, Kernel
from ..linalg import Triangle
from ..posterior import GaussianPosterior

# A function is at least this tall, as a part of a kernel: flatter ones have no error to speak of.
_FLAT = 1e-100
# Entries of a kernel matrix that are held at once.
_ENTRIES = 1 << 22


@dataclass(frozen=True)
class Augmentation:
    r"""The relevance vector machine with one more kernel at each new row (RVM*) [RQ05]_.

    All kernels of a sparse model vanish away from their centres, and the variance with them: the model
    is surest where it knows nothing. A kernel :math:`k(\cdot, x_*)` with a prior variance of its own
    restores it. With :math:`e = k(x_*, x_*) - \phi_*^T\Sigma\Phi^T R k_*` and :math:`s, q` as in
    :class:`laconic.relevance.Sequential`,

    .. math:: m_* \mathrel{+}= \frac{e q}{\alpha + s}, \qquad v_* \mathrel{+}= \frac{e^2}{\alpha + s}.

    That needs :math:`k_* = k(X, x_*)` at all training rows. It is taken from the few rows :math:`P` that
    span the kernel matrix, :math:`k_* \approx G^T L^{-1} k(P, x_*)` with :math:`K_{PP} = LL^T` and
    :math:`G = L^{-1}K_{PX}`, so what is kept does not grow with the number of rows.

    The new weight's variance :math:`1/\alpha` is that of the latent over the training rows: far away
    the error bar is as wide as the function is tall.

    References
    ----------
    .. [RQ05] C. Rasmussen, J. Quinonero-Candela, Healing the relevance vector machine through
       augmentation, ICML 2005.
    """

    kernel: Kernel
    rows: Any  # P
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
        X: Any,
        y: Array,
        r: Array,
    ) -> Self:
        """Gather what is needed from the training rows, a block at a time."""
        triangle = Triangle.of(np.asarray(kernel(rows, rows), dtype=np.float64))
        rank, share = rows.shape[0], r / r.sum()
        target = float(share @ y)  # the latent is measured from here, or it would cancel
        square, cross = np.zeros((rank, rank)), np.zeros((rank, basis.n_columns))
        middle, slope = np.zeros(rank), np.zeros(rank)
        mean = second = level = 0.0
        step = max(1, _ENTRIES // max(rank, 1))
        for start in range(0, X.shape[0], step):
            part = slice(start, start + step)
            G = triangle.solve(np.asarray(kernel(rows, X[part]), dtype=np.float64))
            Phi = np.asarray(basis.columns(X[part]), dtype=np.float64)
            m, v = posterior.latent(Phi)
            square += (G * r[part]) @ G.T
            cross += (G * r[part]) @ (Phi - posterior.centre)
            middle += G @ share[part]
            slope += G @ (r[part] * (y[part] - m))
            mean += float(share[part] @ (m - target))
            second += float(share[part] @ ((m - target) ** 2 + v))
            level += float(share[part] @ kernel.diag(X[part]))
        if posterior.spread > 0:  # a free intercept takes the mean from every column
            square -= r.sum() * np.outer(middle, middle)
        else:
            middle = np.zeros(rank)
        gain = posterior.covariance_dot(cross.T)
        height = max(second - mean**2, (_FLAT * level) ** 2)
        # A kernel that vanishes at all rows has no height to be measured in: it is left out.
        alpha = level * (level / max(height, np.finfo(float).tiny)) if level > 0 else np.inf
        excess = square - cross @ gain
        # Neither half of a triangular or symmetric matrix is kept twice: this is most of a saved model.
        halves = np.asfortranarray(triangle.lower + np.triu(excess, 1))
        return cls(kernel, rows, halves, middle, gain, np.diag(excess).copy(), slope, alpha)

    @property
    def triangle(self) -> Triangle:
        """``L``; what is above its diagonal is not looked at."""
        return Triangle(self.halves)

    @property
    def excess(self) -> Array:
        """``G R G' - G R Phi Sigma Phi' R G'``."""
        above = np.triu(self.halves, 1)
        return above + above.T + np.diag(self.diagonal)

    def apply(
        self, posterior: GaussianPosterior, X: Any, Phi: Array, m: Array, v: Array
    ) -> tuple[Array, Array]:
        """Return mean and variance of the latent with the new kernel at each row."""
        c = self.triangle.solve(np.asarray(self.kernel(self.rows, X), dtype=np.float64))
        away = Phi - posterior.centre
        e = self.kernel.diag(X) - self.middle @ c - np.einsum("ik,ki->i", away, self.gain @ c)
        s = np.maximum(np.einsum("ri,ri->i", c, self.excess @ c), 0.0)
        known = np.maximum(self.alpha + s, np.finfo(float).tiny)
        return m + e * (self.slope @ c) / known, v + e**2 / known
