"""The parts of an additive kernel: the kernel of one feature, and gradients in its parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import blas

from .._protocols import Array


class ParameterGradients(NamedTuple):
    """The gradients of a weighted sum of kernel values in the parameters of an additive kernel."""

    weights: Array
    gamma: Array
    variances: Array


class Term(NamedTuple):
    """The kernel of one feature, in standardised units if it is centred."""

    feature: int
    gamma: float
    weight: float
    mean: float
    deviation: float
    is_centred: bool

    def diagonal(self, x: Array) -> Array:
        """Return the weighted kernel of each value with itself."""
        if not self.is_centred:
            return np.full(x.size, self.weight)
        return self.weight * (1 - self.mean_at(x) ** 2 / self.grand_mean) / self.height

    def mean_product(self, c: Array) -> Array:
        """Return ``E[k(S, c_i) k(S, c_j)]`` for a standard normal ``S``."""
        a, M = self.gamma, self.grand_mean
        middle, apart = np.add.outer(c, c) / 2, np.subtract.outer(c, c)
        both = np.exp(-2 * a * middle**2 / (1 + 4 * a) - a * apart**2 / 2) / np.sqrt(1 + 4 * a)
        b = a / (1 + 2 * a)
        total = 1 + 2 * (a + b)
        one = np.exp(-a * c**2 + 2 * (a * c) ** 2 / total) / np.sqrt(total * (1 + 2 * a))
        m = self.mean_at(c) / M
        square = 1 / ((1 + 2 * a) * np.sqrt(1 + 4 * b))
        cross = np.multiply.outer(one, m)
        return np.asarray((both - cross - cross.T + square * np.multiply.outer(m, m)) / self.height**2)

    def pairs(self, x: Array, c: Array) -> Pairs:
        """Return the term for every pair of a value of ``x`` and one of ``c``."""
        return Pairs.of(self, x, c)

    def mean_at(self, x: Array) -> Array:
        """Return ``E[exp(-a (x - S)^2)]`` for a standard normal ``S``."""
        spread = 1 + 2 * self.gamma
        return np.asarray(np.exp(-self.gamma * x**2 / spread) / np.sqrt(spread))

    def mean_slope(self, x: Array) -> Array:
        """Return the derivative of its logarithm in ``a``."""
        spread = 1 + 2 * self.gamma
        return np.asarray(-1 / spread - (x / spread) ** 2)

    @property
    def grand_mean(self) -> float:
        """``E[exp(-a (S - T)^2)]`` for independent standard normal ``S`` and ``T``."""
        return float(1 / np.sqrt(1 + 4 * self.gamma))

    @property
    def height(self) -> float:
        """The mean of ``k(S, S)`` for a standard normal ``S``, by which the kernel is divided."""
        if not self.is_centred:
            return 1.0
        a = self.gamma
        # 1 - sqrt(1 + 4a) / sqrt((1 + 2a)(1 + 6a)), without cancellation for small a.
        inner, outer = 1 + 4 * a, (1 + 2 * a) * (1 + 6 * a)
        root = np.sqrt(outer)
        return float((outer - inner) / (root * (root + np.sqrt(inner))))

    @property
    def height_slope(self) -> float:
        """The derivative of the logarithm of the height in ``a``."""
        a, h = self.gamma, self.height
        return (h - 1) / h * (2 / (1 + 4 * a) - 1 / (1 + 2 * a) - 3 / (1 + 6 * a))


@dataclass(frozen=True)
class Pairs:
    """A term for every pair of values, a block at a time.

    It is multiplied by its weight, unless that is zero.
    """

    term: Term
    x: Array
    c: Array
    left: Array | None  # left @ right are the logarithms
    right: Array
    squares: tuple[Array, Array]  # left @ right' are the squared distances
    means: tuple[Array, Array]
    changes: tuple[Array, Array]  # derivatives of the means

    @classmethod
    def of(cls, term: Term, x: Array, c: Array) -> Self:
        """Return the term for every pair of a value of ``x`` and one of ``c``."""
        a, means = term.gamma, (term.mean_at(x), term.mean_at(c))
        changes = (means[0] * term.mean_slope(x), means[1] * term.mean_slope(c))
        factor = (term.weight or 1.0) / term.height
        middle = c.mean() if c.size else 0.0
        x, c = x - middle, c - middle
        x_squares = np.stack([x**2, -2 * x, np.ones_like(x)], axis=1)
        c_squares = np.stack([np.ones_like(c), c, c**2], axis=1)
        largest = a * max(x_squares[:, 0].max(initial=0.0), c_squares[:, 2].max(initial=0.0))
        left = -a * x_squares
        left[:, 0] += math.log(factor)
        expands = bool(largest**2 < 1 / np.finfo(float).eps)  # otherwise half of the digits would cancel
        squares = (x_squares, c_squares)
        return cls(term, x, c, left if expands else None, c_squares.T, squares, means, changes)

    def block(self, rows: slice, columns: slice) -> Array:
        """Return the kernel of some of the pairs."""
        term = self.term
        factor = (term.weight or 1.0) / term.height
        if self.left is not None:
            E = self.left[rows] @ self.right[:, columns]
            np.exp(E, out=E)
        else:
            E = factor * np.exp(-term.gamma * np.subtract.outer(self.x[rows], self.c[columns]) ** 2)
        if term.is_centred and E.size:
            mx, mc = self.means
            blas.dger(-factor / term.grand_mean, mc[columns], mx[rows], a=E.T, overwrite_a=1)
        return E

    def slopes(
        self, rest: Sequence[Array], t: Array | None, rows: slice, columns: slice
    ) -> tuple[float, float]:
        """Return the gradients in weight and gamma of a sum over some of the pairs.

        ``rest`` has the coefficients of the gradient in a term, as a polynomial in minus the term, and
        ``t`` the term; None stands for zero.
        """
        term = self.term
        if t is None:
            return float(np.vdot(rest[0], self.block(rows, columns))), 0.0
        H: Any = derivative(rest, t)
        x_squares, c_squares = self.squares[0][rows], self.squares[1][columns]
        products = (H * t) @ c_squares
        whole = float(products[:, 0].sum())
        moved = -float(np.vdot(x_squares, products))
        if term.is_centred:
            mx, mc = self.means[0][rows], self.means[1][columns]
            change_x, change_c = self.changes[0][rows], self.changes[1][columns]
            products = H @ np.column_stack([c_squares * mc[:, None], change_c])
            outer = float(mx @ products[:, 0])
            far = float(np.vdot(x_squares * mx[:, None], products[:, :3]))
            change = float(change_x @ products[:, 0] + mx @ products[:, 3])
            change += 2 / (1 + 4 * term.gamma) * outer
            moved -= term.weight / (term.height * term.grand_mean) * (far + change)
            moved -= term.height_slope * whole
        return whole / term.weight, moved * term.deviation**2


def derivative(rest: Sequence[Array], t: Array) -> Array:
    """Return the gradient in a term, given its coefficients as a polynomial in minus the term."""
    H: Any = rest[-1]
    for each in rest[-2::-1]:  # Horner's rule
        H = each - t * H
    return np.asarray(H)
