"""Kernels that are functions of the distance, and kernels that are functions of the inner product."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

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
from .base import REMEDY, Kernel


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
        return self.profile(squared_distances(X, C))

    def diag(self, X: Any) -> Array:
        A = as_float(X)
        return self.profile(np.zeros(A.shape[0], dtype=A.dtype))

    def scale_gradient(self, X: Any, C: Any, theta: Any, W: Any) -> Array:
        S = W * self.profile_slope(squared_distances(*scale_pair(X, C, theta)))
        A, B, unit = centred(*as_pair(X, C))
        # sum_ij S_ij (x_ik - c_jk)^2, expanded so that no n x m x p array appears
        squares = S.sum(axis=1) @ A**2 + S.sum(axis=0) @ B**2
        gradient: Array = squares - 2 * np.einsum("ik,ik->k", A, S @ B)
        return gradient if unit == 1.0 else gradient * unit * unit

    def slopes(self, X: Any, C: Any, w: Array) -> Array:
        """Return the gradient of ``sum_j w_j K(x, c_j)`` at every row of ``X``, of shape (n, p)."""
        S = self.profile_slope(squared_distances(X, C)) * w
        A, B, unit = centred(*as_pair(X, C))
        gradients: Array = 2 * unit * (S.sum(axis=1)[:, None] * A - S @ B)
        return gradients


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
        return self._evaluate(dot_products(X, C))

    def diag(self, X: Any) -> Array:
        return self._evaluate(squared_norms(X))

    def scale_gradient(self, X: Any, C: Any, theta: Any, W: Any) -> Array:
        S = W * self.profile_slope(dot_products(*scale_pair(X, C, theta)))
        A, B = as_pair(X, C)
        gradient: Array = np.einsum("ik,ik->k", A, S @ B)
        return gradient
