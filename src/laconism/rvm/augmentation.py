"""Error bars that grow away from the data: one more kernel, at the point where one asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._protocols import Array, Basis, Kernel
from ..linalg import Triangle, upper_root
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
    :class:`laconism.rvm.sequential.Sequential`,

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
        variance: Array,
        X: Any,
        y: Array,
        r: Array,
    ) -> Self:
        r"""Gather what is needed from the training rows, a block at a time.

        The weights of the posterior have the prior ``variance``. All of it is in one triangle,
        :math:`T^TT = A^TA` with

        .. math:: A = \begin{pmatrix}R^{1/2}\Phi & R^{1/2}G^T & R^{1/2}(y - m) \\
            V^{-1/2} & 0 & -V^{-1/2}w\end{pmatrix}:

        what :math:`\Phi` says of :math:`G` is a solve with its first block, and all that it leaves is in
        the others, as roots. As differences of products there would be nothing left of it where there is
        next to no noise.
        """
        triangle = Triangle.of(np.asarray(kernel(rows, rows), dtype=np.float64))
        rank, k, share = rows.shape[0], posterior.mean.size, r / r.sum()
        target = float(share @ y)  # the latent is measured from here, or it would cancel
        step = max(1, _ENTRIES // max(rank, 1))
        parts = [slice(start, start + step) for start in range(0, X.shape[0], step)]

        def seen(part: slice) -> tuple[Array, Array]:
            G = triangle.solve(np.asarray(kernel(rows, X[part]), dtype=np.float64))
            return G, np.asarray(basis.columns(X[part]), dtype=np.float64)

        middle, mean, second, level = np.zeros(rank), 0.0, 0.0, 0.0
        for part in parts:
            G, Phi = seen(part)
            m, v = posterior.latent(Phi)
            middle += G @ share[part]
            mean += float(share[part] @ (m - target))
            second += float(share[part] @ ((m - target) ** 2 + v))
            level += float(share[part] @ kernel.diag(X[part]))
        if posterior.spread == 0:  # only a free intercept takes the mean from every column
            middle = np.zeros(rank)
        precision = 1 / np.sqrt(np.maximum(variance, np.finfo(float).tiny))
        root = np.column_stack([np.diag(precision), np.zeros((k, rank)), -precision * posterior.mean])
        for part in parts:
            G, Phi = seen(part)
            left = y[part] - posterior.latent(Phi)[0] + (mean if posterior.spread > 0 else 0.0)
            beside = np.column_stack([Phi - posterior.centre, G.T - middle, left])
            root = upper_root(np.vstack([root, np.sqrt(r[part])[:, None] * beside]))
        gain = Triangle(root[:k, :k].T).solve_transposed(root[:k, k:-1])
        height = max(second - mean**2, (_FLAT * level) ** 2)
        # A kernel that vanishes at all rows has no height to be measured in: it is left out.
        alpha = level * (level / max(height, np.finfo(float).tiny)) if level > 0 else np.inf
        excess, slope = root[k:, k:-1].T @ root[k:, k:-1], root[k:, k:-1].T @ root[k:, -1]
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
