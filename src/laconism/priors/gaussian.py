"""The Gaussian prior: ridge, no sparsity."""

from __future__ import annotations

import numpy as np

from .._component import require_scale
from .._protocols import Array
from ._base import Prior


class Gaussian(Prior):
    r"""Gaussian prior, :math:`-\log p(w) = w^2 / (2\,\mathrm{width}^2)`.

    Parameters
    ----------
    width : float, default=1.0
        Standard deviation of the weights, positive.

    Examples
    --------
    >>> from laconism.priors import Gaussian
    >>> Gaussian(width=2.0).variance(9.0)
    array(4.)
    """

    kink = 0.0  # the penalty is smooth, so no weight becomes exactly zero
    convex = True

    def __init__(self, width: float = 1.0) -> None:
        self.width = width

    def check(self) -> None:
        """Raise unless ``width`` is positive."""
        require_scale(self, "width")

    def penalty(self, u: Array) -> Array:
        """Return ``u / (2 width**2)``."""
        return np.asarray(u) / (2 * self.width**2)

    def variance(self, u: Array) -> Array:
        """Return ``width**2`` for every ``u``."""
        return np.full_like(u, self.width**2, dtype=float)
