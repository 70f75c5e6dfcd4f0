"""A Laplace prior with a separate scale for each weight: the re-weighted lasso."""

from __future__ import annotations

import numpy as np

from .._component import require_scale
from .._protocols import Array
from ._base import Prior


class LaplaceMixture(Prior):
    r"""Laplacian scale mixture, :math:`-\log p(w) = (1 + a)\log(|w| + b)`.

    A :class:`GeneralizedGaussian` with ``q = 1`` in which each weight has a separate scale with an
    inverse gamma distribution (section 5.3 of Liu et al., IJCAI 2013). Its mode is found by the
    re-weighted :math:`\ell_1` minimisation of Candes, Wakin and Boyd: a sequence of lassos, each with
    the rates :math:`(1 + a)/(|w_j| + b)` at the solution of the one before.

    Parameters
    ----------
    a, b : float, default=1e-3
        Shape and scale of the inverse gamma distribution of the scales, positive; the penalty flattens
        for weights above ``b``.

    Examples
    --------
    >>> from laconism.priors import LaplaceMixture
    >>> float(LaplaceMixture(a=1.0, b=1.0).variance(9.0))
    6.0
    """

    def __init__(self, a: float = 1e-3, b: float = 1e-3) -> None:
        self.a = a
        self.b = b

    def check(self) -> None:
        """Raise unless ``a`` and ``b`` are positive."""
        require_scale(self, "a")
        require_scale(self, "b")

    @property
    def kink(self) -> float:
        """``(1 + a) / b``."""
        return (1 + self.a) / self.b

    def penalty(self, u: Array) -> Array:
        """Return ``(1 + a) log(sqrt(u) + b)``."""
        return np.asarray((1 + self.a) * np.log(np.sqrt(u) + self.b))

    def variance(self, u: Array) -> Array:
        """Return ``sqrt(u) (sqrt(u) + b) / (1 + a)``."""
        size = np.sqrt(u)
        return np.asarray(size * (size + self.b) / (1 + self.a))
