"""The Gaussian kernel."""

from __future__ import annotations

import numpy as np

from .._component import is_positive, require
from .._protocols import Array
from ._pairwise import representable
from .base import Stationary


class RBF(Stationary):
    """The Gaussian (radial basis function) kernel, ``K(x, c) = exp(-gamma |x - c|^2)``.

    Parameters
    ----------
    gamma : float, default=1.0
        Inverse squared width, positive. A Gaussian of standard deviation h has
        ``gamma = 1 / (2 h**2)``.

    Examples
    --------
    >>> from laconism.kernels import RBF
    >>> RBF(gamma=0.5)([[0.0], [1.0]], [[0.0], [2.0]]).round(3)
    array([[1.   , 0.135],
           [0.607, 0.607]])
    """

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def check(self) -> None:
        """Raise ``ValueError`` unless ``gamma`` is positive."""
        require(is_positive(self.gamma), self, "gamma must be a positive number", self.gamma)

    def profile(self, sq: Array) -> Array:
        """Return ``exp(-gamma sq)``."""
        with np.errstate(over="ignore", under="ignore"):
            exponent: Array = sq * -representable(self.gamma, sq)
            np.exp(exponent, out=exponent)
        return exponent

    def profile_slope(self, sq: Array) -> Array:
        """Return ``-gamma exp(-gamma sq)``."""
        return -representable(self.gamma, sq) * self.profile(sq)
