"""Interfaces of bases and designs, and types that every layer uses. Imports no other module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.floating[Any]]
Index: TypeAlias = NDArray[np.intp]
Seed: TypeAlias = int | np.random.Generator | None


class Factors(NamedTuple):
    """A matrix of columns as a product ``G' C`` of thin matrices."""

    G: Array  # (rank, rows)
    C: Array  # (rank, columns)
    pivots: Index  # the columns that span it
    left: float  # largest error of the product, as a fraction of the largest entry


class Compressed(NamedTuple):
    """A weighted least-squares problem in its smallest equivalent form.

    ``T'T = Phi'RPhi``, ``T't = Phi'Rz``, ``T'one = Phi'R1``, ``one'one = sum(r)``, ``one't = r'z``.
    """

    T: Array
    t: Array
    one: Array
    # Computes the orthonormal U with U T = R^(1/2) Phi, which is rarely needed; None is the identity.
    U: Callable[[], Array] | None


class Prior(Protocol):
    """What a price depends on; the interface of priors is :class:`laconism.priors.Prior`."""

    def variance(self, u: Array) -> Array:
        """Return the variance of the Gaussian that touches the prior at ``u = w**2``."""


class Basis(Protocol):
    """Columns made from rows: ``X -> Phi``."""

    source: Index  # where each column comes from: a training row for kernels, a feature otherwise

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.source.size)

    def columns(self, X: Any) -> Array:
        """Return the matrix of columns evaluated at the rows of ``X``."""

    def keep(self, active: Index) -> Self:
        """Return the basis of these columns only."""

    def factors(self, *, tol: float, max_rank: int) -> Factors | None:
        """Return the columns on the training rows as thin factors, or None if there are none."""
        return None


class Design(Protocol):
    """A matrix, accessed by its products only, so that solvers do not depend on how it is stored."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def height(self) -> int:
        """Rows of the compressed problem: the number of rows, or a bound on the rank."""
        return self.shape[0]

    def matvec(self, w: Array) -> Array:
        """Return ``Phi w``, for one vector or for each column of a matrix."""

    def rmatvec(self, g: Array) -> Array:
        """Return ``Phi' g``, for one vector or for each column of a matrix."""

    def square_rmatvec(self, r: Array) -> Array:
        """Return ``(Phi * Phi)' r``."""

    def gram_rows(self, columns: Index, r: Array) -> Array:
        """Return the rows of ``gram(r)`` that belong to these columns."""

    def gram(self, r: Array) -> Array:
        """Return ``Phi' diag(r) Phi``."""

    def compress(self, r: Array, z: Array) -> Compressed:
        """Return the least-squares problem with at most as many rows as the design has rank.

        ``z`` is one target, or a column for each of several.
        """

    def outer(self, variance: Array) -> Array | None:
        """Return ``Phi diag(variance) Phi'`` where that is cheaper than :meth:`compress`, else None."""
        return None

    def rows(self, index: Index) -> Design:
        """Return the design of these rows only."""

    def share(self) -> Design:
        """Return the same design with memories of its own, for a solver in another thread."""

    def keep(self, active: Index) -> Design:
        """Return the design of these columns only."""
