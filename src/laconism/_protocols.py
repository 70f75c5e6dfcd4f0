"""The interfaces of the library: what each kind of object must offer. Imports no other module."""

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
    """A scale mixture of Gaussians over one weight ``w``, seen through ``u = w**2`` (or ``E[w**2]``).

    LAW: ``2 * d penalty/du * variance(u) == 1``.
    """

    @property
    def kink(self) -> float:
        """Slope of the penalty in ``|w|`` at 0+; 0 gives no exact zeros, ``inf`` makes zeros stay."""

    @property
    def is_l1(self) -> bool:
        """Whether the penalty is exactly ``kink * |w|``."""

    @property
    def convex(self) -> bool:
        """Whether the penalty is convex in the weight."""

    @property
    def learns(self) -> bool:
        """Whether a hyper-parameter is estimated together with the weights."""

    def penalty(self, u: Array) -> Array:
        """Return minus the log density, up to a constant."""

    def variance(self, u: Array) -> Array:
        """Return the variance of the Gaussian that touches the prior at ``u``."""

    def bind(self, n_columns: int, *, kernel: bool, labels: bool = False) -> Self:
        """Return the prior with the hyper-parameters that depend on the problem's size as numbers."""

    def charges(self, *, kernel: bool) -> bool:
        """Whether it is stricter with more columns; selected columns are refitted without it."""


class Likelihood(Protocol):
    """The distribution of a target given its latent ``f ~ N(m, v)``; ``v = 0`` is a point estimate.

    LAW: ``d bound/dm == r (z - m)``, ``d bound/dv == -r/2``, ``bound(y, m, 0) == log_prob(y, m)``.
    """

    @property
    def concave(self) -> bool:
        """Whether ``log_prob`` is concave in the latent."""

    def log_prob(self, y: Array, f: Array) -> Array:
        """Return ``log p(y | f)``."""

    def bound(self, y: Array, m: Array, v: Array) -> Array:
        """Return a lower bound of ``E[log p(y | f)]``."""

    def surrogate(self, y: Array, m: Array, v: Array) -> tuple[Array, Array]:
        """Return target ``z`` and precision ``r`` of the Gaussian that touches the bound."""

    def predictive(self, y: Array, m: Array, v: Array) -> Array:
        """Return ``log p(y)`` for a latent ``f ~ N(m, v)``, integrated."""

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array]:
        """Return the first derivative of ``log_prob`` in ``f`` and minus the second."""

    def evaluate(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """Return ``log_prob`` and both ``derivatives`` at once."""

    def first_target(self, y: Array) -> Array:
        """Return the target of the first least-squares fit."""

    def squares(self, y: Array, f: Array) -> Array:
        """Return the squared residuals, each times its relative precision."""

    def refit(self, y: Array, f: Array, weight: Array, n_columns: float, v: float = 0.0) -> Self:
        """Return the likelihood with its parameters re-estimated.

        ``v`` is the mean variance of the latent around ``f``, ``n_columns`` the number of fitted
        parameters.
        """

    def hold(self) -> Self:
        """Return the likelihood with its parameters fixed at their present values."""


class Kernel(Protocol):
    """A similarity between rows."""

    @property
    def positive(self) -> bool:
        """Whether every kernel matrix is positive semi-definite, and so can be factored."""

    def __call__(self, X: Any, C: Any) -> Array:
        """Return the matrix of similarities, one row per row of ``X``, one column per row of ``C``."""

    def diag(self, X: Any) -> Array:
        """Return the similarity of each row with itself."""

    def scale_gradient(self, X: Array, C: Array, theta: Array, W: Array) -> Array:
        """Return ``sum_ij W_ij dK_ij / dtheta_k`` for features scaled by ``sqrt(theta)``."""


class Basis(Protocol):
    """Columns made from rows: ``X -> Phi``."""

    @property
    def n_columns(self) -> int:
        """Number of columns."""

    @property
    def source(self) -> Index:
        """Where each column comes from: a training row for kernels, a feature otherwise."""

    def columns(self, X: Any) -> Array:
        """Return the matrix of columns evaluated at the rows of ``X``."""

    def keep(self, active: Index) -> Self:
        """Return the basis of these columns only."""

    def factors(self, *, tol: float, max_rank: int) -> Factors | None:
        """Return the columns on the training rows as thin factors, or None if there are none."""


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
