"""The Laplace prior: the lasso penalty as a scale mixture of Gaussians."""

from __future__ import annotations

import numpy as np

from .._component import require_scale
from .._protocols import Array
from ._base import Prior


class Laplace(Prior):
    r"""Laplace prior, :math:`-\log p(w) = \mathrm{rate}\,|w|`, eq. (8) of Figueiredo and Jain (2001).

    A Gaussian whose variance is exponentially distributed, eq. (10); then
    :math:`1/E[\tau^{-1}] = |w| / \mathrm{rate}`, which is eq. (12) with the rate written as a rate
    (the paper's :math:`\gamma` there stands for :math:`\mathrm{rate}`, elsewhere for its square).

    Parameters
    ----------
    rate : float, default=1.0
        Slope of the penalty, positive. Larger values give sparser models.

    Examples
    --------
    >>> from laconism.priors import Laplace
    >>> float(Laplace(rate=0.5).variance(9.0))
    6.0
    """

    is_l1 = True

    def __init__(self, rate: float = 1.0) -> None:
        self.rate = rate

    def check(self) -> None:
        """Raise unless ``rate`` is positive."""
        require_scale(self, "rate")

    @property
    def kink(self) -> float:
        """The rate itself."""
        return self.rate

    def penalty(self, u: Array) -> Array:
        """Return ``rate * sqrt(u)``."""
        return np.asarray(self.rate * np.sqrt(u))

    def variance(self, u: Array) -> Array:
        """Return ``sqrt(u) / rate``."""
        return np.asarray(np.sqrt(u) / self.rate)
