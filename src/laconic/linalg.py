"""Weighted ridge regression, primal and dual: the only place that factorises a matrix.

Everything is written in ``D = sqrt(variance)``, never in precisions: the matrix that is factorised is
``I + D G D``, whose eigenvalues are at least one, and a weight of prior variance zero stays exactly
zero without an epsilon (eq. (16) of [FJ01]).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ._protocols import Array, Design


class Factor:
    """A symmetric matrix whose eigenvalues are at least one, factorised.

    Cholesky; where rounding has made the matrix indefinite (eigenvalues spread over more than
    sixteen decades), its eigenvalues are put back to where they must be.
    """

    def __init__(self, matrix: Array) -> None:
        self._lower: Array | None
        try:
            self._lower = linalg.cholesky(matrix, lower=True, check_finite=False)
        except linalg.LinAlgError:
            self._lower = None
            values, self._vectors = linalg.eigh(matrix, check_finite=False)
            self._values = np.maximum(values, 1.0)

    def whiten(self, b: Array) -> Array:
        """Return ``h`` with ``h'h = b' M^-1 b``, column by column."""
        if self._lower is not None:
            return np.asarray(linalg.solve_triangular(self._lower, b, lower=True, check_finite=False))
        return np.asarray(((self._vectors.T @ b).T / np.sqrt(self._values)).T)

    def solve(self, b: Array) -> Array:
        """Return ``M^-1 b``."""
        if self._lower is not None:
            return np.asarray(linalg.cho_solve((self._lower, True), b, check_finite=False))
        return np.asarray(self._vectors @ ((self._vectors.T @ b).T / self._values).T)

    @property
    def log_det(self) -> float:
        """Log-determinant."""
        if self._lower is not None:
            return float(2 * np.log(np.diag(self._lower)).sum())
        return float(np.log(self._values).sum())


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
    dual: Array | None  # T = R^(1/2) (Phi - centre) D, or None in the primal

    @property
    def log_det(self) -> float:
        """Log-determinant of ``I + D G D``, the same in both forms."""
        return self.factor.log_det


def ridge(design: Design, r: Array, z: Array, variance: Array, *, intercept: bool) -> Ridge:
    """Solve the weighted ridge problem in whichever form is smaller.

    A free intercept is eliminated exactly, by centring with the weights ``r``.
    """
    if design.shape[1] <= design.shape[0]:
        return ridge_primal(design, r, z, variance, intercept=intercept)
    return ridge_dual(design, r, z, variance, intercept=intercept)


def _centre(design: Design, r: Array, z: Array, intercept: bool) -> tuple[Array, float, float]:
    """Return the weighted mean of the columns, that of the target, and the variance at the centre."""
    if not intercept:
        return np.zeros(design.shape[1]), 0.0, 0.0
    total = float(r.sum())
    return design.rmatvec(r) / total, float(r @ z) / total, 1 / total


def ridge_primal(design: Design, r: Array, z: Array, variance: Array, *, intercept: bool) -> Ridge:
    """Solve through ``I + D G D``, of the number of columns."""
    centre, level, spread = _centre(design, r, z, intercept)
    root = np.sqrt(variance)
    gram = design.gram(r)
    if intercept:
        gram = gram - np.outer(centre, centre) / spread
    matrix = root[:, None] * gram * root
    matrix.flat[:: root.size + 1] += 1.0
    factor = Factor(matrix)
    # Phi' R z is centred with the target alone: Phi_c' R z_c = Phi' R z_c.
    weights = root * factor.solve(root * design.rmatvec(r * (z - level)))
    return Ridge(weights, level - float(centre @ weights), centre, spread, root, factor, None)


def ridge_dual(design: Design, r: Array, z: Array, variance: Array, *, intercept: bool) -> Ridge:
    """Solve through ``I + T T'``, of the number of rows (Woodbury)."""
    centre, level, spread = _centre(design, r, z, intercept)
    root = np.sqrt(variance)
    T, t, one = design.compress(r, z)
    if intercept:
        T = T - np.outer(one, centre)
        t = t - level * one
    T = T * root
    matrix = T @ T.T
    matrix.flat[:: matrix.shape[0] + 1] += 1.0
    factor = Factor(matrix)
    weights = root * (T.T @ factor.solve(t))
    return Ridge(weights, level - float(centre @ weights), centre, spread, root, factor, T)


def damped_least_squares(A: Array, b: Array, damping: float) -> Array:
    """Return the minimiser of ``|A w - b|^2 + damping |w|^2``, through the singular values of ``A``.

    The normal equations would square the condition of ``A``, 1e17 for a smooth kernel matrix.
    """
    U, s, Vt = linalg.svd(A, full_matrices=False, check_finite=False)
    return np.asarray(Vt.T @ (s / (s**2 + damping) * (U.T @ b)))


def newton_direction(
    design: Design, r: Array, slope: Array, level: float, *, intercept: bool
) -> tuple[Array, float]:
    """Return the Newton step in the weights and the intercept for these slopes.

    Solves ``(Phi' R Phi) d = slope`` with the intercept eliminated and every curvature raised by
    1e-10 of itself: columns that repeat each other then share the step.
    """
    gram, centre, total = design.gram(r), design.rmatvec(r), float(r.sum())
    if intercept:
        gram = gram - np.outer(centre, centre) / total
        slope = slope - centre * (level / total)
    diagonal = np.maximum(np.diag(gram), np.finfo(float).tiny)
    root = 1 / np.sqrt(diagonal * 1e-10)
    matrix = root[:, None] * gram * root
    matrix.flat[:: root.size + 1] += 1.0
    d = root * Factor(matrix).solve(root * slope)
    return d, (level - float(centre @ d)) / total if intercept else 0.0
