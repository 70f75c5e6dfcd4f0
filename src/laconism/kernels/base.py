"""Base classes of kernels: of the distance, of the inner product, and sums and products."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from .._component import Component, require
from .._protocols import Array
from ._pairwise import (
    as_float,
    as_pair,
    centred,
    dot_products,
    finite,
    scale_pair,
    squared_distances,
    squared_norms,
)

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
        """Return the matrix ``K(x_i, c_j)`` of the n rows of ``X`` and the m centres ``C``."""

    @abstractmethod
    def diag(self, X: Any) -> Array:
        """Return the diagonal ``K(x_i, x_i)``, of shape (n,)."""

    @abstractmethod
    def scale_gradient(self, X: Any, C: Any, theta: Any, W: Any) -> Array:
        """Return the gradient with respect to the feature scales of a weighted sum of kernel values.

        The k-th of p entries is ``sum_ij W_ij d K(sqrt(theta) o x_i, sqrt(theta) o c_j) / d theta_k``
        for n rows ``X``, m centres ``C``, p scales ``theta``, not negative, and n x m weights ``W``.
        """

    def __add__(self, other: object) -> Sum:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: object) -> Product:
        return Product(self, other) if isinstance(other, Kernel) else NotImplemented


class Stationary(Kernel):
    """A kernel of the squared distance, ``K(x, c) = profile(|x - c|^2)``.

    Subclasses define ``profile`` and ``profile_slope``; both must be finite for every squared distance
    from zero to infinity, both included.

    Examples
    --------
    >>> from laconism.kernels import Stationary
    >>> class Cauchy(Stationary):
    ...     def profile(self, sq):
    ...         return 1 / (1 + sq)
    ...     def profile_slope(self, sq):
    ...         return -1 / (1 + sq) ** 2
    >>> Cauchy()([[0.0], [1.0]], [[0.0], [2.0]])
    array([[1. , 0.2],
           [0.5, 0.5]])
    """

    of_distances: ClassVar[bool] = True

    @abstractmethod
    def profile(self, sq: Array) -> Array:
        """Return the kernel at the squared distances ``sq``."""

    @abstractmethod
    def profile_slope(self, sq: Array) -> Array:
        """Return the derivative of :meth:`profile` with respect to ``sq``."""

    def __call__(self, X: Any, C: Any) -> Array:
        """Return the profile of the squared distances."""
        return self.profile(squared_distances(X, C))

    def diag(self, X: Any) -> Array:
        """Return the profile at zero for each row."""
        A = as_float(X)
        return self.profile(np.zeros(A.shape[0], dtype=A.dtype))

    def scale_gradient(self, X: Any, C: Any, theta: Any, W: Any) -> Array:
        """Return ``sum_ij W_ij profile'(sq_ij) (x_ik - c_jk)^2``."""
        S = W * self.profile_slope(squared_distances(*scale_pair(X, C, theta)))
        A, B, unit = centred(*as_pair(X, C))
        # expanded, so that no n x m x p array appears
        squares = S.sum(axis=1) @ A**2 + S.sum(axis=0) @ B**2
        gradient: Array = squares - 2 * np.einsum("ik,ik->k", A, S @ B)
        return gradient if unit == 1.0 else gradient * unit * unit

    def slopes(self, X: Any, C: Any, w: Array) -> Array:
        """Return the gradient of ``sum_j w_j K(x, c_j)`` at every row of ``X``, of shape (n, p).

        ``w`` may have weights of its own for every row of ``X``, as a matrix.
        """
        S = self.profile_slope(squared_distances(X, C)) * w
        A, B, unit = centred(*as_pair(X, C))
        gradients: Array = 2 * unit * (S.sum(axis=1)[:, None] * A - S @ B)
        return gradients

    def feature_slopes(self, X: Any) -> Array:
        """Return the derivatives of the features that distances are computed in, at every row."""
        return np.ones(X.shape)


class DotProduct(Kernel):
    """A kernel of the inner product, ``K(x, c) = profile(x·c)``.

    Subclasses define ``profile`` and ``profile_slope``.

    Examples
    --------
    >>> import numpy as np
    >>> from laconism.kernels import DotProduct
    >>> class Exponential(DotProduct):
    ...     def profile(self, s):
    ...         return np.exp(s)
    ...     def profile_slope(self, s):
    ...         return np.exp(s)
    >>> Exponential()([[0.0], [1.0]], [[1.0], [2.0]]).round(2)
    array([[1.  , 1.  ],
           [2.72, 7.39]])
    """

    _remedy: ClassVar[str] = REMEDY

    @abstractmethod
    def profile(self, s: Array) -> Array:
        """Return the kernel at the inner products ``s``."""

    @abstractmethod
    def profile_slope(self, s: Array) -> Array:
        """Return the derivative of :meth:`profile` with respect to ``s``."""

    def _evaluate(self, s: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):  # reported below, in one message
            K = self.profile(s)
        return finite(K, self, self._remedy)

    def __call__(self, X: Any, C: Any) -> Array:
        """Return the profile of the inner products."""
        return self._evaluate(dot_products(X, C))

    def diag(self, X: Any) -> Array:
        """Return the profile of the squared lengths."""
        return self._evaluate(squared_norms(X))

    def scale_gradient(self, X: Any, C: Any, theta: Any, W: Any) -> Array:
        """Return ``sum_ij W_ij profile'(s_ij) x_ik c_jk``."""
        S = W * self.profile_slope(dot_products(*scale_pair(X, C, theta)))
        A, B = as_pair(X, C)
        gradient: Array = np.einsum("ik,ik->k", A, S @ B)
        return gradient


class _Pair(Kernel):
    """A combination of two kernels, entry by entry."""

    _combine: ClassVar[np.ufunc]

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

    def __call__(self, X: Any, C: Any) -> Array:
        with np.errstate(over="ignore", under="ignore"):
            return finite(self._combine(self.left(X, C), self.right(X, C)), self, REMEDY)

    def diag(self, X: Any) -> Array:
        """Return the combination of the diagonals."""
        with np.errstate(over="ignore", under="ignore"):
            return finite(self._combine(self.left.diag(X), self.right.diag(X)), self, REMEDY)


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

    _combine = np.add

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

    _combine = np.multiply

    def scale_gradient(self, X: Any, C: Any, theta: Any, W: Any) -> Array:
        """Return the gradient by the product rule."""
        A, B = scale_pair(X, C, theta)
        # the other factor is absorbed in the weights
        left = self.left.scale_gradient(X, C, theta, W * self.right(A, B))
        return left + self.right.scale_gradient(X, C, theta, W * self.left(A, B))
