"""The factored design: a kernel matrix by its low-rank factors, never formed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from .._protocols import Array, Compressed, Design, Index
from ..linalg import Triangle, thin_qr
from .dense import DenseDesign, is_everything


class _Span:
    """The row factor, and what is computed from it once for all sets of columns."""

    def __init__(self, G: Array) -> None:
        self.G = G

    @cached_property
    def orthogonal(self) -> tuple[Array, Array]:
        """Return an orthonormal basis ``Q`` of the constant and the rows of ``G``, and ``Q'G'``."""
        Q = thin_qr(np.column_stack([np.ones(self.G.shape[1]), self.G.T]))[0]
        return Q, np.asarray(Q.T @ self.G.T)


class FactoredDesign(Design):
    r"""Columns :math:`\Phi \approx G^T C` of low rank, with the exact ones at hand.

    Operations on all columns use the factors, in :math:`O((n + p)r)` time and memory. Few columns are
    evaluated exactly. So the approximation affects only which columns are selected: the weights of a
    sparse model are exact.
    The rows of ``G`` are centred if the columns are. ``exact(index)`` returns these columns themselves;
    ``index`` is the place of each column there.
    """

    def __init__(
        self,
        G: Array,
        C: Array,
        exact: Callable[[Index], Array],
        index: Index | None = None,
        _span: _Span | None = None,
    ) -> None:
        self.G = G
        self.C = C
        self.exact = exact
        self.index = np.arange(C.shape[1]) if index is None else index
        self._span = _Span(G) if _span is None else _span

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.G.shape[1], self.C.shape[1]

    @property
    def height(self) -> int:
        """Rows of the compressed problem: the rank, and one for the constant."""
        return int(self.G.shape[0]) + 1

    def matvec(self, w: Array) -> Array:
        """Return ``Phi w``, for one vector or for each column of a matrix."""
        return np.asarray(self.G.T @ (self.C @ w), dtype=float)

    def rmatvec(self, g: Array) -> Array:
        """Return ``Phi' g``, for one vector or for each column of a matrix."""
        return np.asarray(self.C.T @ (self.G @ g), dtype=float)

    def square_rmatvec(self, r: Array) -> Array:
        """Return ``(Phi * Phi)' r``."""
        half = self.G * np.sqrt(r).astype(self.G.dtype)  # a symmetric product takes half the time
        return np.asarray(np.einsum("ij,ij->j", self.C, (half @ half.T) @ self.C), dtype=float)

    def gram_rows(self, columns: Index, r: Array) -> Array:
        """Return the rows of ``gram(r)`` that belong to these columns."""
        return self.rmatvec((r * (self.C[:, columns].T @ self.G)).T).T

    def gram(self, r: Array) -> Array:
        """Return ``Phi' diag(r) Phi``."""
        return np.asarray(self.C.T @ ((self.G * r) @ self.G.T) @ self.C, dtype=float)

    @cached_property
    def _coordinates(self) -> Array:
        """The columns in the orthonormal basis of the span."""
        return np.asarray(self._span.orthogonal[1] @ self.C)

    def compress(self, r: Array, z: Array) -> Compressed:
        """Return the problem projected onto the span of the factor and the constant.

        :math:`R^{1/2}Q = UL^T` with ``U`` orthonormal and the Cholesky factor of :math:`Q^TRQ = LL^T`,
        or by a QR decomposition where rows of very small weight make that inaccurate.
        """
        Q, half = self._span.orthogonal[0], np.sqrt(r)
        root = Triangle.exact(DenseDesign(Q).gram(r))
        if root is None:
            U, upper = thin_qr(half[:, None] * Q)
            return Compressed(upper @ self._coordinates, U.T @ (half * z.T).T, U.T @ half, lambda: U)
        t, one = root.solve(Q.T @ (r * z.T).T), root.solve(Q.T @ r)
        T = root.product_transposed(self._coordinates)
        return Compressed(T, t, one, lambda: root.solve((half[:, None] * Q).T).T)

    def rows(self, index: Index) -> Design:
        """Return the design of these rows only."""
        exact = self.exact
        return FactoredDesign(
            self.G[:, index], self.C, lambda columns: exact(columns)[index], self.index
        )

    def share(self) -> Design:
        """Return this design: it has no memory that a solver changes."""
        return self

    def keep(self, active: Index) -> Design:
        """Return these columns: themselves if they are few, their factors otherwise."""
        if is_everything(active, self.C.shape[1]):
            return self
        if active.size < self.height:
            return DenseDesign(self.exact(self.index[active]))
        C, index = self.C[:, active], self.index[active]
        used = C.any(axis=1)  # with per-feature kernels, factors of dropped features are unused
        if used.all():
            return FactoredDesign(self.G, C, self.exact, index, self._span)
        return FactoredDesign(self.G[used], C[used], self.exact, index)
