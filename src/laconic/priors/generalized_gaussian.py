"""The generalized Gaussian prior: any degree of sparsity between ridge and best subset."""

from __future__ import annotations

import math

import numpy as np

from .._component import is_number, require, require_scale
from .._protocols import Array
from ._base import Prior


class GeneralizedGaussian(Prior):
    r"""Generalized Gaussian prior, :math:`-\log p(w) = |w|^q / \mathrm{scale}`, eq. (4) of [GGIG]_.

    ``q = 2`` is :class:`Gaussian` (``scale = 2 width**2``), ``q = 1`` is :class:`Laplace`
    (``scale = 1 / rate``); below 1 the penalty is not convex and zeros absorb.

    Parameters
    ----------
    q : float, default=1.0
        Shape, in (0, 2].
    scale : float, default=1.0
        Scale of :math:`|w|^q`.

    Examples
    --------
    >>> from laconic.priors import GeneralizedGaussian
    >>> float(GeneralizedGaussian(q=0.5, scale=2.0).variance(16.0))
    32.0

    References
    ----------
    .. [GGIG] G. Liu, J. Wu, S. Zhou, Probit classifiers with a generalized Gaussian scale mixture
       prior, IJCAI 2013.
    """

    def __init__(self, q: float = 1.0, scale: float = 1.0) -> None:
        self.q = q
        self.scale = scale

    def check(self) -> None:
        """Raise unless ``q`` is in (0, 2] and ``scale`` is positive."""
        require(is_number(self.q) and 0 < self.q <= 2, self, "q must lie in (0, 2]", self.q)
        require_scale(self, "scale")

    @property
    def kink(self) -> float:
        """``inf`` below ``q = 1``, ``1 / scale`` at 1, zero above."""
        if self.q == 1:
            return 1 / self.scale
        return math.inf if self.q < 1 else 0.0

    @property
    def is_l1(self) -> bool:
        """True at ``q = 1``."""
        return self.q == 1

    @property
    def convex(self) -> bool:
        """True from ``q = 1`` on."""
        return self.q >= 1

    def penalty(self, u: Array) -> Array:
        """Return ``u**(q/2) / scale``."""
        return np.asarray(u) ** (self.q / 2) / self.scale

    def variance(self, u: Array) -> Array:
        """Return ``scale u**(1 - q/2) / q``."""
        return self.scale * np.asarray(u, dtype=float) ** (1 - self.q / 2) / self.q
