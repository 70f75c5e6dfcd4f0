"""Feature scales as a wrapper around any kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._component import require
from .._protocols import Array
from ..linalg import is_sparse
from ._pairwise import as_float, scale_features, scale_pair
from .base import Kernel


@dataclass(eq=False, repr=False)
class Scaled(Kernel):
    """Any kernel with a scale for each feature, ``K(sqrt(theta) * (x - o), sqrt(theta) * (c - o))``.

    A scale of zero removes its feature. With a ``spread``, ``asinh((x - o) / spread)`` takes the place
    of ``x - o``; this compresses long tails.

    Parameters
    ----------
    kernel : Kernel
        The kernel that is evaluated at the scaled features.
    scales : array-like of shape (p,)
        The feature scales theta, not negative.
    origin : array-like of shape (p,) or None, default=None
        The origin o, subtracted from the features; ``None`` is zero. Inner products depend on it,
        distances do not. With an origin sparse matrices become dense.
    spread : array-like of shape (p,) or None, default=None
        Distance from the origin beyond which a feature is compressed to its logarithm, positive;
        ``None`` compresses nothing. With a spread sparse matrices become dense.

    Examples
    --------
    >>> from laconism.kernels import RBF, Scaled
    >>> kernel = Scaled(RBF(gamma=0.5), scales=[4.0, 0.0])
    >>> kernel([[0.0, 7.0], [1.0, 8.0]], [[0.0, 9.0]]).round(3)
    array([[1.   ],
           [0.135]])
    """

    kernel: Kernel
    scales: ArrayLike
    origin: ArrayLike | None = None
    spread: ArrayLike | None = None

    def check(self) -> None:
        """Raise ``ValueError`` unless the scales are finite, not negative and one-dimensional."""
        require(isinstance(self.kernel, Kernel), self, "kernel must be a kernel", self.kernel)
        theta = np.asarray(self.scales)
        allowed = theta.ndim == 1 and theta.dtype.kind in "fiu"
        allowed = allowed and bool(np.all(np.isfinite(theta) & (theta >= 0)))
        rule = "scales must be a list of finite numbers that are not negative"
        require(allowed, self, rule, self.scales)
        for name, kind, least in (("origin", "finite", -np.inf), ("spread", "positive", 0.0)):
            value = getattr(self, name)
            if value is not None:
                fits = np.shape(value) == theta.shape and bool(np.isfinite(value).all())
                fits = fits and bool(np.greater(value, least).all())
                require(fits, self, f"{name} must be as many {kind} numbers as there are scales", value)
        self.kernel.check()

    @property
    def positive(self) -> bool:
        """Whether the inner kernel is positive semi-definite."""
        return self.kernel.positive

    def slopes(self, X: Any, C: Any, w: Array) -> Array:
        """Return the gradient of ``sum_j w_j K(x, c_j)`` in the transformed features at every row."""
        inner: Any = self.kernel
        scaled = scale_pair(*self._moved(X, C), self.scales)
        return np.asarray(np.sqrt(self.scales) * inner.slopes(*scaled, w))

    def feature_slopes(self, X: Any) -> Array:
        """Return the derivatives of the transformed features in the features, at every row."""
        A = as_float(X)
        if self.spread is None:
            return np.ones_like(A)
        A = A if self.origin is None else A - np.asarray(self.origin, dtype=A.dtype)
        return np.asarray(1 / np.hypot(A, np.asarray(self.spread, dtype=A.dtype)))

    def __call__(self, X: Any, C: Any) -> Array:
        """Return the inner kernel at the scaled features."""
        return self.kernel(*scale_pair(*self._moved(X, C), self.scales))

    def diag(self, X: Any) -> Array:
        """Return the inner diagonal at the scaled features."""
        return self.kernel.diag(scale_features(self._moved(X, X)[0], self.scales))

    def gradient(self, X: Any, C: Any, W: Any) -> Array:
        """Return ``sum_ij W_ij d K(x_i, c_j) / d scales_k``, of shape (p,)."""
        return self.kernel.scale_gradient(*self._moved(X, C), self.scales, W)

    def scale_gradient(self, X: Any, C: Any, theta: Any, W: Any) -> Array:
        """Return the gradient for scales ``theta`` that multiply those of this kernel."""
        scales = np.asarray(self.scales, dtype=np.float64)
        if self.origin is not None:  # theta would have to scale the origin as well
            raise ValueError("Scaled: no scales fit on top of an origin; centre the features instead.")
        if self.spread is not None:
            raise ValueError("Scaled: no scales fit on top of a spread; squash the features instead.")
        # the inner kernel sees theta * scales: the chain rule gives the factor
        return scales * self.kernel.scale_gradient(X, C, np.asarray(theta) * scales, W)

    def _moved(self, X: Any, C: Any) -> tuple[Any, Any]:
        """Return both transformed by origin and spread; if they are one object, so are the results."""
        if self.origin is None and self.spread is None:
            return X, C
        A = self.transformed(X)
        return A, A if C is X else self.transformed(C)

    def transformed(self, X: Any) -> Array:
        """Return the features after origin and spread, before the scales."""
        A = as_float(X)
        A = A.toarray() if is_sparse(A) else A
        if self.origin is not None:
            A = A - np.asarray(self.origin, dtype=A.dtype)
        return np.asarray(A if self.spread is None else squash(A, self.spread))


def squash(A: Array, spread: ArrayLike) -> Array:
    """Return ``asinh(a / spread)``: linear about zero, a logarithm far away."""
    return np.asarray(np.arcsinh(A / np.asarray(spread, dtype=A.dtype)))
