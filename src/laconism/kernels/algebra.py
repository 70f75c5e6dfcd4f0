"""Sums and products of kernels, which are kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._component import require
from .._protocols import Array
from ._base import Kernel
from ._pairwise import finite, scale_pair

REMEDY = "scale the features"


class _Pair(Kernel):
    """Two kernels and what both of their combinations share."""

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    def check(self) -> None:
        """Raise ``ValueError`` unless both parts are kernels whose parameters make sense."""
        require(isinstance(self.left, Kernel), self, "left must be a kernel", self.left)
        require(isinstance(self.right, Kernel), self, "right must be a kernel", self.right)
        self.left.check()
        self.right.check()

    @property
    def positive(self) -> bool:
        """Whether both parts are positive semi-definite; then so are their sum and product."""
        return self.left.positive and self.right.positive


class Sum(_Pair):
    """The sum of two kernels, ``K(x, c) = left(x, c) + right(x, c)``.

    Parameters
    ----------
    left, right : Kernel

    Examples
    --------
    >>> from laconism.kernels import Linear, Polynomial
    >>> kernel = Linear() + Polynomial(degree=2)
    >>> kernel([[1.0], [2.0]], [[3.0]])
    array([[19.],
           [55.]])
    """

    def __call__(self, X: Any, C: Any) -> Array:
        """Return ``left(X, C) + right(X, C)``."""
        with np.errstate(over="ignore"):
            return finite(self.left(X, C) + self.right(X, C), self, REMEDY)

    def diag(self, X: Any) -> Array:
        """Return the sum of the diagonals."""
        with np.errstate(over="ignore"):
            return finite(self.left.diag(X) + self.right.diag(X), self, REMEDY)

    def scale_gradient(self, X: Any, C: Any, theta: Any, W: Any) -> Array:
        """Return the sum of the gradients."""
        left = self.left.scale_gradient(X, C, theta, W)
        return left + self.right.scale_gradient(X, C, theta, W)


class Product(_Pair):
    """The product of two kernels, ``K(x, c) = left(x, c) * right(x, c)``.

    Parameters
    ----------
    left, right : Kernel

    Examples
    --------
    >>> from laconism.kernels import Linear, Polynomial
    >>> kernel = Linear() * Polynomial(degree=2)
    >>> kernel([[1.0], [2.0]], [[3.0]])
    array([[ 48.],
           [294.]])
    """

    def __call__(self, X: Any, C: Any) -> Array:
        """Return ``left(X, C) * right(X, C)``."""
        with np.errstate(over="ignore", under="ignore"):
            return finite(self.left(X, C) * self.right(X, C), self, REMEDY)

    def diag(self, X: Any) -> Array:
        """Return the product of the diagonals."""
        with np.errstate(over="ignore", under="ignore"):
            return finite(self.left.diag(X) * self.right.diag(X), self, REMEDY)

    def scale_gradient(self, X: Any, C: Any, theta: Any, W: Any) -> Array:
        """Return the gradient by the product rule."""
        A, B = scale_pair(X, C, theta)
        # the product rule, with the other factor moved into the weights
        left = self.left.scale_gradient(X, C, theta, W * self.right(A, B))
        return left + self.right.scale_gradient(X, C, theta, W * self.left(A, B))
