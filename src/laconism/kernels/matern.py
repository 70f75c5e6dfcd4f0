"""The Matérn kernels of finite smoothness."""

from __future__ import annotations

import math

import numpy as np

from .._component import is_positive, require
from .._protocols import Array
from ._pairwise import representable
from .base import Stationary

# exp(-800) is zero in double precision; beyond it, infinity times zero would be NaN.
MAX_SCALED_DISTANCE = 800.0


class Matern(Stationary):
    r"""The Matérn kernel of smoothness ``nu``, rougher than the Gaussian kernel.

    With the length scale ``h = 1 / sqrt(2 gamma)`` and ``a = sqrt(2 nu) |x - c| / h``::

        nu = 0.5    K = exp(-a)
        nu = 1.5    K = (1 + a) exp(-a)
        nu = 2.5    K = (1 + a + a^2 / 3) exp(-a)

    As ``nu`` grows, the kernel tends to ``RBF(gamma)``.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}, default=1.5
        Smoothness: sample functions are ``nu - 1/2`` times mean-square differentiable.
    gamma : float, default=1.0
        Inverse squared width, positive, on the scale of :class:`~laconism.kernels.RBF`.

    Notes
    -----
    With ``nu = 0.5`` the derivative with respect to a feature scale is unbounded where two points
    differ only in features of scale zero; :meth:`scale_gradient` counts such pairs as zero.

    Examples
    --------
    >>> from laconism.kernels import Matern
    >>> Matern(nu=0.5, gamma=0.5)([[0.0], [1.0]], [[0.0], [2.0]]).round(3)
    array([[1.   , 0.135],
           [0.368, 0.368]])
    """

    def __init__(self, nu: float = 1.5, gamma: float = 1.0) -> None:
        self.nu = nu
        self.gamma = gamma

    def check(self) -> None:
        """Raise ``ValueError`` unless ``nu`` is 0.5, 1.5 or 2.5 and ``gamma`` is positive."""
        require(self.nu in (0.5, 1.5, 2.5), self, "nu must be 0.5, 1.5 or 2.5", self.nu)
        require(is_positive(self.gamma), self, "gamma must be a positive number", self.gamma)

    def _distance(self, sq: Array) -> Array:
        # roots first: 4 nu gamma sq may overflow or underflow where its root does not
        rate = 2 * math.sqrt(self.nu) * math.sqrt(self.gamma)
        with np.errstate(over="ignore"):
            a = np.sqrt(sq) * representable(rate, sq)
        return np.minimum(a, MAX_SCALED_DISTANCE, out=a)

    def profile(self, sq: Array) -> Array:
        """Return the kernel at squared distance ``sq``."""
        a = self._distance(sq)
        with np.errstate(under="ignore"):
            decay = np.exp(-a)
            if self.nu == 0.5:
                return decay
            if self.nu == 1.5:
                return (1 + a) * decay
            return (1 + a + a * a / 3) * decay

    def profile_slope(self, sq: Array) -> Array:
        """Return the derivative with respect to ``sq``; zero at the cusp of ``nu = 0.5``."""
        a = self._distance(sq)
        gamma = representable(self.gamma, sq)
        # from a^2 = 4 nu gamma sq: d a / d sq = 2 nu gamma / a
        with np.errstate(under="ignore", over="ignore"):
            decay = np.exp(-a)
            if self.nu == 0.5:
                # slope * |x - c|^2 -> 0 as the points meet, so zero stands for the singular slope
                return -gamma * np.divide(decay, a, out=np.zeros_like(a), where=a > 0)
            if self.nu == 1.5:
                return -3 * gamma * decay
            return -5 / 3 * gamma * (1 + a) * decay
