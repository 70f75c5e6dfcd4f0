"""The polynomial kernel."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from .._component import is_number, is_positive, require
from .._protocols import Array
from .base import DotProduct


class Polynomial(DotProduct):
    """The polynomial kernel, ``K(x, c) = (gamma x·c + coef0)^degree``.

    Parameters
    ----------
    degree : int, default=3
        Degree of the polynomial, positive.
    gamma : float, default=1.0
        Factor of the inner product, positive.
    coef0 : float, default=1.0
        Constant term. If it were negative, the kernel would not be positive semi-definite.

    Examples
    --------
    >>> from laconism.kernels import Polynomial
    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0], [0.0, 1.0]])
    array([[144.,   9.]])
    """

    _remedy: ClassVar[str] = "scale the features or lower the degree"

    def __init__(self, degree: int = 3, gamma: float = 1.0, coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def check(self) -> None:
        """Raise ``ValueError`` unless the three parameters give a positive kernel."""
        whole = isinstance(self.degree, int | np.integer) and is_positive(self.degree)  # type: ignore[redundant-expr]
        require(whole, self, "degree must be a positive integer", self.degree)
        require(is_positive(self.gamma), self, "gamma must be a positive number", self.gamma)
        allowed = is_number(self.coef0) and self.coef0 >= 0
        require(allowed, self, "coef0 must be a number that is not negative", self.coef0)

    def _base(self, s: Array) -> Array:
        # float() keeps float32 input float32: a NumPy float64 scalar would promote it
        return float(self.gamma) * s + float(self.coef0)

    def profile(self, s: Array) -> Array:
        """Return ``(gamma s + coef0)^degree``."""
        return _power(self._base(s), int(self.degree))

    def profile_slope(self, s: Array) -> Array:
        """Return ``degree gamma (gamma s + coef0)^(degree - 1)``."""
        degree = int(self.degree)
        return degree * float(self.gamma) * _power(self._base(s), degree - 1)


def _power(base: Array, exponent: int) -> Array:
    """Return ``base**exponent`` by repeated squaring, which is faster than NumPy's power."""
    result = np.ones_like(base)
    while exponent:
        if exponent % 2:
            result *= base
        exponent //= 2
        if exponent:  # an unused last square could overflow
            base = base * base
    return result
