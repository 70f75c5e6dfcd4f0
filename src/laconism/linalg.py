"""Weighted ridge regression, primal and dual: the only place that factorises a matrix.

Everything is written in ``D = sqrt(variance)``, never in precisions: the matrix that is factorised is
``I + D G D``, whose eigenvalues are at least one, and a weight of prior variance zero stays exactly
zero without an epsilon (eq. (16) of Figueiredo and Jain, 2001).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import linalg
from scipy.linalg import blas, lapack
from scipy.sparse import issparse

if TYPE_CHECKING:
    from ._protocols import Array, Design, Index

# Entries of a block of rows that fits the cache.
CACHED_ENTRIES = 1 << 16
# Entries of a temporary block of rows: 32 megabytes.
BLOCK_ENTRIES = 1 << 22
# The smallest positive number relative to the largest: of a semi-definite matrix' diagonal, as a jitter,
# and of curvatures and precisions of rows.
RELATIVE_JITTER = 1e-10
# What is left of a quantity after an estimate of its explained part is at least this fraction of it.
LEAST_REMAINDER = 0.1
# A column whose variance is below this fraction of its mean square is constant up to rounding.
CONSTANT_VARIANCE_FRACTION = 1e-12


def remainder(whole: Any, part: Any, least: float = LEAST_REMAINDER) -> Any:
    """Return ``whole - part``, at least a fraction of the whole: the part is only an estimate."""
    return np.maximum(whole - part, least * whole)


def is_sparse(X: Any) -> bool:
    """Whether ``X`` is sparse; a plain bool, so that type checkers do not narrow ``X``."""
    return bool(issparse(X))


def as_dense(X: Any) -> Any:
    """Return the rows as an array of doubles."""
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def row_blocks(n_rows: int, n_columns: int, entries: int | None = None) -> Iterator[slice]:
    """Yield slices of rows that hold at most this number of entries, by default ``BLOCK_ENTRIES``."""
    step = max(1, (entries or BLOCK_ENTRIES) // max(n_columns, 1))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def dissimilar(
    score: Array, cosines: Callable[[int], Array], max_columns: int, max_cosine: float
) -> Index:
    """Return the columns of largest positive score, none of them similar to one before it.

    ``cosines(k)`` returns the absolute cosine between column k and each column.
    """
    picked: list[int] = []
    score = score.copy()
    while len(picked) < max_columns and score.any():
        best = int(np.argmax(score))
        picked.append(best)
        score[cosines(best) > max_cosine] = 0.0
        score[best] = 0.0
    return np.array(picked, dtype=np.intp)


def _cholesky(matrix: Array) -> tuple[Array, bool]:
    """Return the lower Cholesky factor and whether it failed.

    LAPACK is called directly: for small matrices the checks of scipy's wrappers would cost more.
    """
    if not matrix.size:
        return matrix, False
    lower, info = lapack.dpotrf(matrix, lower=1, clean=1)
    return np.asarray(lower), info != 0


def _forward(lower: Array, b: Array) -> Array:
    """Solve with a lower triangular matrix."""
    if not b.size:
        return b
    if b.ndim == 2 and b.flags.c_contiguous and lower.diagonal().all():
        # X' L' = B' avoids a copy to Fortran order.
        return np.asarray(blas.dtrsm(1.0, lower, b.T, side=1, lower=1, trans_a=1).T)
    return np.asarray(lapack.dtrtrs(lower, b, lower=1)[0])


class Factor:
    """A symmetric matrix whose eigenvalues are at least one, factorised.

    Cholesky; where rounding has made the matrix indefinite (eigenvalues spread over more than
    sixteen decades), eigenvalues below one are set to one.
    """

    def __init__(self, matrix: Array) -> None:
        lower, failed = _cholesky(matrix)
        self._lower = None if failed else lower
        # With a diagonal below this, multiplying by the inverse is as accurate as solving.
        self._tame = not failed and matrix.diagonal().max(initial=0.0) <= 1e6
        if failed:
            values, self._vectors = symmetric_eigen(matrix)
            self._values = np.maximum(values, 1.0)

    def whiten(self, b: Array) -> Array:
        """Return ``h`` with ``h'h = b' M^-1 b``, column by column."""
        if self._lower is not None:
            return _forward(self._lower, b)
        return np.asarray(((self._vectors.T @ b).T / np.sqrt(self._values)).T)

    @cached_property
    def inverse_root(self) -> Array:
        """``H`` with ``H'H = M^-1``."""
        if self._lower is None:
            return self.whiten(np.eye(self._values.size))
        return np.asarray(lapack.dtrtri(self._lower, lower=1)[0]) if self._lower.size else self._lower

    def squares(self, b: Array) -> Array:
        """Return ``b' M^-1 b`` for each column, a block at a time so that it stays in the cache."""
        found, root = np.empty(b.shape[1]), np.asfortranarray(self.inverse_root)
        for part in row_blocks(b.shape[1], b.shape[0], 8 * CACHED_ENTRIES):
            h = b[:, part].copy()
            if self._tame:  # a product is faster than a solve
                h = blas.dtrmm(1.0, root, h.T, side=1, lower=1, trans_a=1, overwrite_b=1).T
            else:
                h = self.whiten(h)
            found[part] = np.einsum("ij,ij->j", h, h)
        return found

    def solve(self, b: Array) -> Array:
        """Return ``M^-1 b``."""
        if self._lower is not None:
            return np.asarray(lapack.dpotrs(self._lower, b, lower=1)[0]) if b.size else b
        return np.asarray(self._vectors @ ((self._vectors.T @ b).T / self._values).T)

    @property
    def log_det(self) -> float:
        """Log-determinant."""
        if self._lower is not None:
            return float(2 * np.log(np.diag(self._lower)).sum())
        return float(np.log(self._values).sum())


@dataclass(frozen=True)
class Triangle:
    """The lower triangular root of a positive semi-definite matrix."""

    lower: Array

    @classmethod
    def of(cls, matrix: Array) -> Self:
        """Factor the matrix with a relative jitter on its diagonal, tenfold until it is positive."""
        diagonal = np.maximum(np.diag(matrix), np.finfo(float).tiny)
        for part in RELATIVE_JITTER * 10.0 ** np.arange(12):
            lower, failed = _cholesky(matrix + np.diag(part * diagonal))
            if not failed:
                break
        return cls(lower)

    @classmethod
    def of_positive(cls, matrix: Array) -> Self | None:
        """Factor the matrix as it is, or return None where it is not positive definite."""
        lower, failed = _cholesky(matrix)
        return None if failed else cls(lower)

    @classmethod
    def exact(cls, matrix: Array) -> Self | None:
        """Factor the matrix as it is, or return None where it costs more than half of the digits."""
        root = cls.of_positive(matrix)
        if root is None or not matrix.size:
            return root
        condition = lapack.dpocon(root.lower, np.abs(matrix).sum(axis=0).max(), uplo="L")[0]
        return root if condition > np.sqrt(np.finfo(float).eps) else None

    @property
    def well_conditioned(self) -> bool:
        """Whether a matrix keeps half of its digits if both of its sides are divided by the root."""
        if not self.lower.size:
            return True
        reciprocal, _ = lapack.dtrcon(self.lower, uplo="L")
        return bool(reciprocal > np.finfo(float).eps ** 0.25)

    def solve(self, b: Array) -> Array:
        """Return ``L^-1 b``."""
        return _forward(self.lower, b)

    def solve_transposed(self, b: Array) -> Array:
        """Return ``L^-T b``."""
        return np.asarray(lapack.dtrtrs(self.lower, b, lower=1, trans=1)[0]) if b.size else b.copy()

    def product_transposed(self, b: Array) -> Array:
        """Return ``L'b``."""
        return np.asarray(blas.dtrmm(1.0, self.lower, b.T, side=1, lower=1).T)


def pivoted_triangle(matrix: Array, least: float) -> tuple[Index, Triangle]:
    """Return the pivots of a small matrix down to diagonal elements of ``least``, and their root."""
    factor, pivots, rank, _ = lapack.dpstrf(matrix, lower=1, tol=least)
    rank = max(int(rank), 1)
    return np.asarray(pivots[:rank], dtype=np.intp) - 1, Triangle(np.tril(factor[:rank, :rank]))


@dataclass(frozen=True)
class Ridge:
    """Minimiser of ``sum r (z - b - Phi w)^2 / 2 + sum w^2 / (2 variance)`` and its curvature.

    ``centre`` is the weighted mean of the columns, ``intercept`` the value at that centre's origin:
    ``f(x) = intercept + phi(x)'w``. Without a free intercept both are zero and so is ``spread``, the
    variance of the fit at the centre.
    """

    weights: Array
    intercept: float
    centre: Array
    spread: float
    root: Array  # D: square roots of the prior variances
    factor: Factor  # of I + D G D (primal) or I + T T' (dual)
    make_dual: Callable[[], Array] | None  # makes T = R^(1/2) (Phi - centre) D; None in the primal
    # Makes U with U T = R^(1/2) (Phi - centre) D, where T has fewer rows.
    rows: Callable[[], Array] | None = None
    target: Array | None = None  # t: the problem is min |t - T x|^2 + |x|^2 with w = D x

    @cached_property
    def dual(self) -> Array | None:
        """``T`` itself, or None in the primal."""
        return None if self.make_dual is None else self.make_dual()

    @property
    def log_det(self) -> float:
        """Log-determinant of ``I + D G D``, the same in both forms."""
        return self.factor.log_det

    @property
    def n_well_determined(self) -> float:
        """Effective number of parameters: the sum of :meth:`well_determined`, computed faster."""
        inverse = self.factor.inverse_root
        return len(inverse) - float((inverse**2).sum())

    def well_determined(self) -> Array:
        r"""Return how far the data determine each weight, :math:`\gamma_k = 1 - \Sigma_{kk}/D_k^2`."""
        if self.dual is None:
            return np.asarray(1 - (self.factor.inverse_root**2).sum(axis=0))
        return self.factor.squares(self.dual)

    def latent_variance(self, design: Design, r: Array) -> Array:
        """Return the variance of the latent at each training row, intercept included."""
        if self.make_dual is None:
            # Sigma = root root'; the inverse of a triangle takes a third of as many solves.
            root = (self.factor.inverse_root * self.root).T
            variance = np.full(r.size, self.spread)
            for columns in row_blocks(root.shape[1], r.size):
                part = root[:, columns]
                away = design.matvec(part) - self.centre @ part
                variance += np.einsum("ij,ij->i", away, away)
            return variance
        # R^(1/2) Phi Sigma Phi' R^(1/2) = T T' (I + T T')^-1 = I - (I + T T')^-1.
        if self.rows is None:
            leverage = 1 - (self.factor.inverse_root**2).sum(axis=0)
        else:
            U = self.rows()
            leverage = (U**2).sum(axis=1) - (self.factor.whiten(U.T) ** 2).sum(axis=0)
        return np.asarray(np.maximum(leverage, 0.0) / r + self.spread)


def ridge(design: Design, r: Array, z: Array, variance: Array, *, intercept: bool) -> Ridge:
    """Solve the weighted ridge problem in whichever form is smaller.

    A free intercept is eliminated exactly, by centring with the weights ``r``.
    """
    if design.shape[1] <= design.height:
        return ridge_primal(design, r, z, variance, intercept=intercept)
    return ridge_dual(design, r, z, variance, intercept=intercept)


def _centre(design: Design, r: Array, z: Array, intercept: bool) -> tuple[Array, float, float]:
    """Return the weighted mean of the columns, that of the target, and the variance at the centre."""
    if not intercept:
        return np.zeros(design.shape[1]), 0.0, 0.0
    total = float(r.sum())
    return design.rmatvec(r) / total, float(r @ z) / total, 1 / total


@dataclass(frozen=True)
class Quadratic:
    """The normal equations of a weighted design, to be solved under several priors."""

    gram: Array
    slope: Array  # Phi' R z, the target centred
    centre: Array
    level: float
    spread: float

    @classmethod
    def of(cls, design: Design, r: Array, z: Array, *, intercept: bool) -> Self:
        """Return the quadratic in the weights, with a free intercept eliminated."""
        centre, level, spread = _centre(design, r, z, intercept)
        gram = design.gram(r)
        if intercept:
            gram = gram - np.outer(centre, centre) / spread
        # Only one side need be centred: Phi_c' R z_c = Phi' R z_c.
        return cls(gram, design.rmatvec(r * (z - level)), centre, level, spread)

    def keep(self, active: Index) -> Quadratic:
        """Return the quadratic in these weights, with the others zero."""
        gram, slope = self.gram[np.ix_(active, active)], self.slope[active]
        return Quadratic(gram, slope, self.centre[active], self.level, self.spread)

    def ridge(self, variance: Array) -> Ridge:
        """Solve through ``I + D G D``, of the number of columns."""
        root = np.sqrt(variance)
        matrix = root[:, None] * self.gram * root
        matrix.flat[:: root.size + 1] += 1.0
        factor = Factor(matrix)
        weights = root * factor.solve(root * self.slope)
        intercept = self.level - float(self.centre @ weights)
        return Ridge(weights, intercept, self.centre, self.spread, root, factor, None)


def ridge_primal(design: Design, r: Array, z: Array, variance: Array, *, intercept: bool) -> Ridge:
    """Solve through ``I + D G D``, of the number of columns."""
    return Quadratic.of(design, r, z, intercept=intercept).ridge(variance)


def ridge_dual(design: Design, r: Array, z: Array, variance: Array, *, intercept: bool) -> Ridge:
    """Solve through ``I + T T'``, of the number of rows (Woodbury)."""
    outer = design.outer(variance)
    if outer is not None:
        return ridge_of_rows(design, outer, 1.0, r, z, variance, intercept=intercept)
    centre, level, spread = _centre(design, r, z, intercept)
    root = np.sqrt(variance)
    whole, t, one, rows = design.compress(r, z)
    t = t - level * one if intercept else t
    T = _rotated(whole, one, centre, root)
    del whole
    matrix = T @ T.T
    matrix.flat[:: matrix.shape[0] + 1] += 1.0
    factor = Factor(matrix)
    weights = root * (T.T @ factor.solve(t))
    b = level - float(centre @ weights)
    return Ridge(weights, b, centre, spread, root, factor, lambda: T, rows, t)


def _rotated(whole: Array, one: Array, centre: Array, root: Array) -> Array:
    """Return ``(whole - one centre') D``, in blocks, so that each row is read from memory once."""
    T, moved = np.empty_like(whole), centre.any()
    for part in row_blocks(T.shape[0], T.shape[1], CACHED_ENTRIES):
        block = whole[part] - one[part, None] * centre if moved else whole[part]
        np.multiply(block, root, out=T[part])
    return T


def ridge_of_rows(
    design: Design, products: Array, unit: float, r: Array, z: Array, variance: Array, *, intercept: bool
) -> Ridge:
    r"""Solve through ``I + T T'``, whose entries are known: ``unit * products`` is ``Phi V Phi'``.

    :math:`TT^T = R^{1/2}(\Phi - 1c^T)V(\Phi - 1c^T)^TR^{1/2}` with :math:`c = \Phi^Tr/\sum r`: a matrix
    of rows by columns is needed only if ``T`` is.
    """
    centre, level, spread = _centre(design, r, z, intercept)
    aside: Array = products @ r * spread
    aside -= 0.5 * float(r @ aside) * spread
    half, root = np.sqrt(unit * r), np.sqrt(variance)
    matrix: Array = half[:, None] * products
    matrix *= half
    matrix.flat[:: r.size + 1] += 1.0
    # The lower triangle of A - u v' - v u', which overwrites A.
    lower = np.asarray(blas.dsyr2(-1.0, half, half * aside, a=matrix.T, lower=1, overwrite_a=1))
    factor, t = Factor(lower), half * (z - level)
    pull = half * factor.solve(t)
    weights = (variance / unit) * (design.rmatvec(pull) - pull.sum() * centre)
    b = level - float(centre @ weights)

    def make_dual() -> Array:
        return _rotated(design.compress(r, z).T, np.sqrt(r), centre, root)

    return Ridge(weights, b, centre, spread, root, factor, make_dual, None, t / np.sqrt(unit))


def thin_qr(A: Array) -> tuple[Array, Array]:
    """Return ``Q`` with orthonormal columns and upper triangular ``R``, ``A = Q R``."""
    Q, R = linalg.qr(A, mode="economic", check_finite=False)
    return np.asarray(Q), np.asarray(R)


def upper_root(A: Array) -> Array:
    """Return upper triangular ``R`` with ``R'R = A'A``, by a QR decomposition of ``A``."""
    (R,) = linalg.qr(A, mode="r", check_finite=False)
    return np.asarray(R[: min(A.shape)])


def symmetric_eigen(A: Array) -> tuple[Array, Array]:
    """Return eigenvalues, ascending, and eigenvectors of a symmetric matrix."""
    values, vectors = linalg.eigh(A, check_finite=False)
    return np.asarray(values), np.asarray(vectors)


def damped_least_squares(A: Array, b: Array, damping: float) -> Array:
    """Return the minimiser of ``|A w - b|^2 + damping |w|^2``, through the singular values of ``A``.

    The normal equations would square the condition of ``A``, 1e17 for a smooth kernel matrix.
    """
    U, s, Vt = linalg.svd(A, full_matrices=False, check_finite=False)
    return np.asarray(Vt.T @ (s / (s**2 + damping) * (U.T @ b)))


def steadied(H: Array, part: float) -> tuple[Array, Factor]:
    """Return ``u`` and the factor of ``I + U H U``, with ``u^-2`` this part of the diagonal of ``H``.

    So ``U (I + U H U)^-1 U`` is the inverse of ``H`` with a relative jitter of that size.
    """
    unit = 1 / np.sqrt(np.maximum(part * H.diagonal(), np.finfo(float).tiny))
    matrix = unit[:, None] * H * unit
    matrix.flat[:: unit.size + 1] += 1.0
    return unit, Factor(matrix)


def solve_semidefinite(H: Array, b: Array) -> Array:
    """Solve ``H x = b``, for one or more b, with a relative jitter on the diagonal.

    Duplicate columns make ``H`` singular; with the jitter they share the solution equally.
    """
    more, tiny, matrix = RELATIVE_JITTER * H.diagonal(), np.finfo(float).tiny, H.copy()
    if more.size and more.min() > tiny:
        matrix.flat[:: more.size + 1] += more
        _, x, failed = lapack.dposv(matrix, b, lower=1)
        if not failed:
            return np.asarray(x)
    unit, factor = steadied(H, RELATIVE_JITTER)
    return np.asarray((unit * factor.solve((unit * b.T).T).T).T)
