"""The dense design: an array, columns in memory, and the last Gram matrix of a design."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Self

import numpy as np

from .._protocols import Array, Compressed, Design, Index
from ..linalg import CACHED_ENTRIES, row_blocks


def is_everything(index: Index, size: int) -> bool:
    """Whether this index is all columns in their order."""
    return index.size == size and bool(np.array_equal(index, np.arange(size)))


class GramMemory:
    """The last ``Phi' diag(r) Phi`` that a design has computed, with its weights r.

    EM for the probit model needs the same matrix at every iteration, a regression a multiple of it, and
    pruning only removes rows and columns.
    """

    def __init__(self, known: tuple[Array, Array] | None = None) -> None:
        self._known = known

    def __call__(self, r: Array, compute: Callable[[], Array]) -> Array:
        """Return the Gram matrix for these weights, computed only if it is not known."""
        ratio = None if self._known is None else _proportion(r, self._known[0])
        if self._known is None or ratio is None:
            self._known, ratio = (r.copy(), compute()), 1.0
        gram = self._known[1]
        return gram if ratio == 1.0 else ratio * gram

    def rows(self, columns: Index, r: Array) -> Array | None:
        """Return these rows of the Gram matrix for these weights, if it is known."""
        ratio = None if self._known is None else _proportion(r, self._known[0])
        return None if self._known is None or ratio is None else ratio * self._known[1][columns]

    def keep(self, active: Index) -> GramMemory:
        """Return a cache with these columns only."""
        if self._known is None:
            return GramMemory()
        r, gram = self._known
        return GramMemory((r, gram[np.ix_(active, active)]))

    def share(self) -> GramMemory:
        """Return an independent cache with the same content."""
        return GramMemory(self._known)


def _proportion(r: Array, known: Array) -> float | None:
    """Return ``r / known`` if that is one number (the noise of a regression has changed), else None."""
    if not known.size:
        return None
    if np.array_equal(r, known):
        return 1.0
    ratio = float(r.sum() / known.sum())
    expected = ratio * known  # of weights, so not negative
    return ratio if (np.abs(r - expected) <= 1e-14 * expected).all() else None


class DenseDesign(Design):
    """A dense matrix behind the design interface.

    A float32 matrix stays float32. Its products are computed in double precision, chunk by chunk, and a
    small subset of its columns is converted to double.
    """

    def __init__(self, matrix: Array, memory: GramMemory | None = None) -> None:
        self.matrix = matrix
        self._memory = memory or GramMemory()

    @classmethod
    def knowing(cls, matrix: Array, r: Array, gram: Array) -> Self:
        """Return the design of a matrix whose ``gram(r)`` is known."""
        return cls(matrix, GramMemory((r, gram)))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n, p = self.matrix.shape
        return n, p

    def _slices(self) -> Iterator[slice]:
        """Return slices of rows that stay in the cache while they are converted or weighted."""
        return row_blocks(*self.shape, CACHED_ENTRIES)

    def _chunks(self) -> Iterator[tuple[slice, Array]]:
        """Yield row slices and those rows in double precision."""
        for rows in self._slices():
            yield rows, np.asarray(self.matrix[rows], dtype=np.float64)

    def matvec(self, w: Array) -> Array:
        """Return ``Phi w``, for one vector or for each column of a matrix."""
        if self.matrix.dtype == np.float64:
            return np.asarray(self.matrix @ w)
        return np.concatenate([part @ w for _, part in self._chunks()])

    def rmatvec(self, g: Array) -> Array:
        """Return ``Phi' g``, for one vector or for each column of a matrix."""
        if self.matrix.dtype == np.float64:
            return np.asarray(self.matrix.T @ g)
        return np.asarray(np.sum([part.T @ g[rows] for rows, part in self._chunks()], axis=0))

    def square_rmatvec(self, r: Array) -> Array:
        """Return ``(Phi * Phi)' r``."""
        total = np.zeros(self.matrix.shape[1])
        for rows, part in self._chunks():
            total += r[rows] @ (part * part)
        return total

    def gram_rows(self, columns: Index, r: Array) -> Array:
        """Return the rows of ``gram(r)`` that belong to these columns."""
        known = self._memory.rows(columns, r)
        return self.rmatvec(r[:, None] * self.matrix[:, columns]).T if known is None else known

    def gram(self, r: Array) -> Array:
        """Return ``Phi' diag(r) Phi``."""
        return self._memory(r, lambda: self._gram(r))

    def _gram(self, r: Array) -> Array:
        half, total = np.sqrt(r), np.zeros((self.matrix.shape[1],) * 2)
        for rows, part in self._chunks():
            weighted = half[rows, None] * part
            total += weighted.T @ weighted
        return total

    def compress(self, r: Array, z: Array) -> Compressed:
        """Return ``R^(1/2) Phi, R^(1/2) z, R^(1/2) 1``."""
        half = np.sqrt(r)
        return Compressed(half[:, None] * self.matrix, (half * z.T).T, half, None)

    def rows(self, index: Index) -> Design:
        """Return the design of these rows only."""
        return DenseDesign(self.matrix[index])

    def share(self) -> Design:
        """Return the same matrix with an independent cache."""
        return DenseDesign(self.matrix, self._memory.share())

    def keep(self, active: Index) -> Design:
        """Return the design of these columns only."""
        if is_everything(active, self.matrix.shape[1]):
            return self
        few = 2 * active.size <= self.matrix.shape[1]
        part = np.empty((self.matrix.shape[0], active.size), np.float64 if few else self.matrix.dtype)
        for rows in self._slices():  # in chunks, so that each row is read from memory once
            part[rows] = self.matrix[rows, active]
        return DenseDesign(part, self._memory.keep(active))
