"""The Jeffreys prior: sparse and scale free, without a parameter."""

from __future__ import annotations

import math
from typing import Literal, Self

import numpy as np

from .._component import is_name, require_scale
from .._protocols import Array
from ._base import Prior

# Strength as a fraction of log p in classification. With few, nearly separable labels the standard
# errors grow with the weights, so that relevant features would not reach the universal threshold.
_OF_LABELS = 0.4


class Jeffreys(Prior):
    r"""Jeffreys prior, :math:`-\log p(w) = s \log|w|`.

    For :math:`s = 1` it is eq. (14) of Figueiredo and Jain (CVPR 2001). A Gaussian whose variance has
    the non-informative density :math:`p(\tau) = 1/\tau`. On an orthogonal design it sets every weight
    below :math:`2\sqrt{s}` standard errors to zero and hardly shrinks the large ones. Two standard
    errors are enough to test a few weights. Among :math:`p` weights that are truly zero the largest
    estimate is about :math:`\sqrt{2\log p}` standard errors; :math:`s = \log(p)/2` puts the threshold
    exactly there (the universal threshold).

    Parameters
    ----------
    strength : float or {"auto", "universal"}, default="auto"
        Power :math:`s` of the prior, a positive number or a rule. ``1`` is the papers' prior.
        ``"universal"`` is :math:`\max(1, \log(p)/2)` for ``p`` columns. ``"auto"`` is 1 for kernels,
        whose columns are strongly correlated, and for features :math:`\max(1, \log(p)/2)` in
        regression and :math:`\max(1, 0.4\log p)` in classification. Where a rule grows with ``p``,
        this is a charge for the search among many columns: the selected ones are then refitted
        without it.

    Examples
    --------
    >>> from laconism.priors import Jeffreys
    >>> float(Jeffreys(strength=1).variance(9.0))
    9.0
    >>> Jeffreys("universal").bind(1000, kernel=False)
    Jeffreys(strength=3.4538...)
    """

    kink = math.inf  # a weight that is zero stays zero

    def __init__(self, strength: float | Literal["auto", "universal"] = "auto") -> None:
        self.strength = strength

    def check(self) -> None:
        """Raise unless ``strength`` is a positive number, "auto" or "universal"."""
        if not is_name(self.strength, "auto", "universal"):
            require_scale(self, "strength", ", 'auto' or 'universal'")

    def bind(self, n_columns: int, *, kernel: bool, labels: bool = False) -> Self:
        """Return the prior with its strength as a number."""
        if not isinstance(self.strength, str):
            return self
        if not self.charges(kernel=kernel):
            return type(self)(strength=1.0)
        part = _OF_LABELS if labels and self.strength == "auto" else 0.5
        return type(self)(strength=max(1.0, part * math.log(max(n_columns, 1))))

    def charges(self, *, kernel: bool) -> bool:
        """Whether its strength grows with the number of columns."""
        return self.strength == "universal" or (self.strength == "auto" and not kernel)

    @property
    def _power(self) -> float:
        # Before bind, which estimators call, the strength is the papers'.
        return 1.0 if isinstance(self.strength, str) else self.strength

    def penalty(self, u: Array) -> Array:
        """Return ``strength * log(u) / 2``."""
        with np.errstate(divide="ignore"):
            return np.asarray(0.5 * self._power * np.log(u))

    def variance(self, u: Array) -> Array:
        """Return ``u / strength``."""
        return np.asarray(u) / self._power
