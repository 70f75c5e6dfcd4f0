"""The base class of kernels, and their sums and products."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from .._component import Component, require
from .._protocols import Array
from ._pairwise import finite, scale_pair

REMEDY = "scale the features"


class Kernel(Component, ABC):
    """A positive semi-definite function of two points, evaluated for the rows of two matrices.

    Sums and products of kernels, written ``+`` and ``*``, are kernels again.

    Examples
    --------
    >>> from laconism.kernels import RBF, Linear
    >>> RBF(gamma=0.5) + Linear() * Linear()
    Sum(left=RBF(gamma=0.5), right=Product(left=Linear(), right=Linear()))
    """

    of_distances: ClassVar[bool] = False  # whether it depends on the squared distance only

    @property
    def positive(self) -> bool:
        """Whether every kernel matrix is positive semi-definite, and so can be factored."""
        return True

    @abstractmethod
    def __call__(self, X: Any, C: Any) -> Array:
        """Return the matrix ``K(x_i, c_j)``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, p)
        C : array or sparse matrix of shape (m, p)
            The centres.

        Returns
        -------
        ndarray of shape (n, m)
        """

    @abstractmethod
    def diag(self, X: Any) -> Array:
        """Return the diagonal ``K(x_i, x_i)``, of shape (n,)."""

    @abstractmethod
    def scale_gradient(self, X: Any, C: Any, theta: Any, W: Any) -> Array:
        """Return the gradient with respect to the feature scales of a weighted sum of kernel values.

        The k-th entry is ``sum_ij W_ij d K(sqrt(theta) o x_i, sqrt(theta) o c_j) / d theta_k``.

        Parameters
        ----------
        X : array of shape (n, p)
        C : array of shape (m, p)
        theta : array of shape (p,)
            Non-negative feature scales.
        W : array of shape (n, m)
            The weights of the sum.

        Returns
        -------
        ndarray of shape (p,)
        """

    def __add__(self, other: Kernel) -> Sum:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Kernel) -> Product:
        return Product(self, other) if isinstance(other, Kernel) else NotImplemented


class _Pair(Kernel):
    """A combination of two kernels."""

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
        # the other factor is absorbed in the weights
        left = self.left.scale_gradient(X, C, theta, W * self.right(A, B))
        return left + self.right.scale_gradient(X, C, theta, W * self.left(A, B))
