"""The Student-t prior: Jeffreys with a proper hyper-prior."""

from __future__ import annotations

import numpy as np

from .._component import require_scale
from .._protocols import Array
from ._base import Prior


class StudentT(Prior):
    r"""Student-t prior, :math:`-\log p(w) = (a + \tfrac12)\log(b + w^2/2)`.

    A Gaussian whose precision is Gamma(a, b) distributed. This is the prior of the relevance vector
    machine. As ``a`` and ``b`` go to 0 it becomes :class:`Jeffreys` with strength 1.

    Parameters
    ----------
    a, b : float, default=1e-3
        Shape and rate of the Gamma prior of the precision, positive.

    Examples
    --------
    >>> from laconism.priors import StudentT
    >>> float(StudentT(a=0.5, b=1.0).variance(2.0))
    2.0
    """

    kink = 0.0  # the density is smooth at 0, so weights tend to zero without reaching it

    def __init__(self, a: float = 1e-3, b: float = 1e-3) -> None:
        self.a = a
        self.b = b

    def check(self) -> None:
        """Raise unless ``a`` and ``b`` are positive."""
        require_scale(self, "a")
        require_scale(self, "b")

    def penalty(self, u: Array) -> Array:
        """Return ``(a + 1/2) log(b + u/2)``."""
        return np.asarray((self.a + 0.5) * np.log(self.b + np.asarray(u) / 2))

    def variance(self, u: Array) -> Array:
        """Return ``(b + u/2) / (a + 1/2)``."""
        return (self.b + np.asarray(u) / 2) / (self.a + 0.5)
