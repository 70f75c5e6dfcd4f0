"""The linear kernel."""

from __future__ import annotations

import numpy as np

from .._protocols import Array
from .base import DotProduct


class Linear(DotProduct):
    """The linear kernel, ``K(x, c) = x·c``.

    Examples
    --------
    >>> from laconism.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0], [0.0, 1.0]])
    array([[11.,  2.]])
    """

    def profile(self, s: Array) -> Array:
        """Return ``s``."""
        return s

    def profile_slope(self, s: Array) -> Array:
        """Return one."""
        return np.ones_like(s)
