"""The sparse design: a scipy matrix or array, never made dense as a whole."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

from .._protocols import Array, Compressed, Design, Index
from .dense import DenseDesign, GramMemory, is_everything

# A column with more than this fraction of entries that are not zero is faster as a dense one.
_MIN_DENSE_FRACTION = 0.1


def _with(matrix: Any, data: Array) -> Any:
    """Return a sparse matrix with the same pattern, without scipy's checks."""
    twin = copy(matrix)
    twin.data = data
    return twin


def _outer(often: tuple[Array, Array], rarely: tuple[Array, Any], variance: Array) -> Array:
    """Return ``Phi diag(variance) Phi'`` from the columns in two parts."""
    (which, dense), (others, sparse) = often, rarely
    scaled = dense * np.sqrt(variance[which])
    product: Any = sparse.multiply(variance[others]).tocsr() @ sparse.T
    return np.asarray(scaled @ scaled.T + product.toarray(), dtype=float)


class SparseDesign(Design):
    """A sparse matrix behind the design interface.

    Columns are not centred, since that would make them dense. A free intercept is eliminated in the
    normal equations instead.
    """

    def __init__(self, matrix: Any, memory: GramMemory | None = None) -> None:
        self._memory = memory or GramMemory()
        self._outer_memory = GramMemory()  # with equal variances the matrix only changes by a factor
        self.by_row = csr_array(matrix)
        self.by_column = csc_array(matrix)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n, p = self.by_row.shape
        return int(n), int(p)

    def matvec(self, w: Array) -> Array:
        """Return ``Phi w``, for one vector or for each column of a matrix."""
        return np.asarray(self.by_row @ w, dtype=float)

    def rmatvec(self, g: Array) -> Array:
        """Return ``Phi' g``, for one vector or for each column of a matrix."""
        return np.asarray(self.by_column.T @ g, dtype=float)

    def square_rmatvec(self, r: Array) -> Array:
        """Return ``(Phi * Phi)' r``."""
        return np.asarray(self._squares.T @ r, dtype=float)

    @cached_property
    def _squares(self) -> Any:
        return _with(self.by_column, self.by_column.data**2)

    def gram_rows(self, columns: Index, r: Array) -> Array:
        """Return the rows of ``gram(r)`` that belong to these columns."""
        return self.rmatvec(r[:, None] * self.by_column[:, columns].toarray()).T

    def gram(self, r: Array) -> Array:
        """Return ``Phi' diag(r) Phi``."""
        return self._memory(r, lambda: self._gram(r))

    def _gram(self, r: Array) -> Array:
        rows = self.by_row
        weighted = _with(rows, rows.data * np.repeat(r, np.diff(rows.indptr)))
        # The transpose of a CSC matrix is CSR: the product needs no conversion.
        return np.asarray((self.by_column.T @ weighted).toarray(), dtype=float)

    def compress(self, r: Array, z: Array) -> Compressed:
        """Return ``R^(1/2) Phi, R^(1/2) z, R^(1/2) 1`` as dense arrays, for few rows."""
        half = np.sqrt(r)
        T = np.asarray(half[:, None] * self.by_row.toarray(), dtype=float)
        return Compressed(T, (half * z.T).T, half, None)

    def outer(self, variance: Array) -> Array | None:
        """Return ``Phi diag(variance) Phi'``, or None if a dense product is faster.

        Columns with many entries are multiplied as dense ones: they would dominate a sparse product.
        """
        often, rarely, cheap = self._by_frequency
        return self._outer_memory(variance, lambda: _outer(often, rarely, variance)) if cheap else None

    @cached_property
    def _by_frequency(self) -> tuple[Any, Any, bool]:
        """Columns with many entries, dense; the other columns; whether their product is cheap."""
        (n, p), counts = self.shape, np.diff(self.by_column.indptr)
        often = counts > _MIN_DENSE_FRACTION * n
        cost = np.where(often, _MIN_DENSE_FRACTION * n, counts)  # of each product, its root
        cheap = (cost**2).sum() < p * (_MIN_DENSE_FRACTION * n) ** 2
        parts = (often, self.by_column[:, often].toarray()), (~often, self.by_column[:, ~often].tocsr())
        return *parts, bool(cheap)

    def rows(self, index: Index) -> Design:
        """Return the design of these rows only."""
        return SparseDesign(self.by_row[index])

    def share(self) -> Design:
        """Return the same matrix with an independent cache."""
        twin = copy(self)  # converting the matrix again would be slow
        twin._memory, twin._outer_memory = self._memory.share(), self._outer_memory.share()
        return twin

    def keep(self, active: Index) -> Design:
        """Return these columns: dense if they are few and full enough, sparse otherwise."""
        if is_everything(active, self.shape[1]):
            return self
        part = self.by_column[:, active]
        if part.nnz >= _MIN_DENSE_FRACTION * part.shape[0] * part.shape[1]:
            return DenseDesign(np.asarray(part.toarray(), dtype=float), self._memory.keep(active))
        return SparseDesign(part, self._memory.keep(active))
