"""The dense design: an array, columns in memory."""

from __future__ import annotations

from typing import Self

import numpy as np

from .._protocols import Array, Index


class DenseDesign:
    """A dense matrix behind the design interface.

    The last Gram matrix is remembered together with its weights: EM for the probit model asks for
    the same one at every iteration, and pruning only strikes rows and columns from it.

    Parameters
    ----------
    matrix : ndarray of shape (n, p)
        The columns.

    Examples
    --------
    >>> import numpy as np
    >>> from laconic.design import DenseDesign
    >>> design = DenseDesign(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> design.matvec(np.array([1.0, 1.0]))
    array([3., 7.])
    """

    def __init__(self, matrix: Array, gram: tuple[Array, Array] | None = None) -> None:
        self.matrix = matrix
        self._gram = gram

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n, p = self.matrix.shape
        return n, p

    def matvec(self, w: Array) -> Array:
        """Return ``Phi w``."""
        return np.asarray(self.matrix @ w)

    def rmatvec(self, g: Array) -> Array:
        """Return ``Phi' g``."""
        return np.asarray(self.matrix.T @ g)

    def square_rmatvec(self, r: Array) -> Array:
        """Return ``(Phi * Phi)' r``."""
        return np.asarray(np.einsum("ij,ij,i->j", self.matrix, self.matrix, r))

    def gram(self, r: Array) -> Array:
        """Return ``Phi' diag(r) Phi``."""
        if self._gram is None or not np.array_equal(self._gram[0], r):
            weighted = np.sqrt(r)[:, None] * self.matrix
            self._gram = (r, weighted.T @ weighted)
        return self._gram[1]

    def compress(self, r: Array, z: Array) -> tuple[Array, Array, Array]:
        """Return ``R^(1/2) Phi, R^(1/2) z, R^(1/2) 1``."""
        half = np.sqrt(r)
        return half[:, None] * self.matrix, half * z, half

    def keep(self, active: Index) -> Self:
        """Return the design of these columns only."""
        gram = None
        if self._gram is not None:
            gram = (self._gram[0], self._gram[1][np.ix_(active, active)])
        return type(self)(self.matrix[:, active], gram)
