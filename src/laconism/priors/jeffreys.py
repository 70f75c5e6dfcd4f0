"""The Jeffreys prior: sparse and scale free, without a parameter."""

from __future__ import annotations

import math
from typing import Literal, Self

import numpy as np

from .._component import is_name, require_scale
from .._protocols import Array
from ._base import Prior

# The part of log p that a weight of features costs where targets are labels. Few labels leave the
# weights that fit them nearly free, and standard errors grow with those: true features of twice the
# universal threshold do not reach it.
_OF_LABELS = 0.4


class Jeffreys(Prior):
    r"""Jeffreys prior, :math:`-\log p(w) = s \log|w|`, eq. (14) of [FJ01]_ for :math:`s = 1`.

    A Gaussian whose variance has the non-informative density :math:`p(\tau) = 1/\tau`. On an
    orthogonal design it sets to zero every weight below :math:`2\sqrt{s}` standard errors and barely
    touches the large ones. Two standard errors suit a few hypotheses; among :math:`p` candidates the
    largest noise reaches :math:`\sqrt{2\log p}` of them, and :math:`s = \log(p)/2` puts the threshold
    exactly there.

    Parameters
    ----------
    strength : float or {"auto", "universal"}, default="auto"
        Power :math:`s` of the prior. ``1`` is the papers' prior; ``"universal"`` is
        :math:`\max(1, \log(p)/2)` for ``p`` candidate columns; ``"auto"`` is universal for features,
        a fifth less where targets are labels, and 1 for kernels, whose columns are many views of few
        directions. A strength that was named is the charge for a search: what is found is then
        estimated without it.

    Examples
    --------
    >>> from laconism.priors import Jeffreys
    >>> float(Jeffreys(strength=1).variance(9.0))
    9.0
    >>> Jeffreys("universal").bind(1000, kernel=False)
    Jeffreys(strength=3.4538...)

    References
    ----------
    .. [FJ01] M. Figueiredo, A. Jain, Bayesian learning of sparse classifiers, CVPR 2001.
    .. [F01] M. Figueiredo, Adaptive sparseness using Jeffreys prior, NIPS 2001.
    """

    def __init__(self, strength: float | Literal["auto", "universal"] = "auto") -> None:
        self.strength = strength

    def check(self) -> None:
        """Raise unless ``strength`` is positive or one of the two names."""
        if not is_name(self.strength, "auto", "universal"):
            require_scale(self, "strength", ", 'auto' or 'universal'")

    @property
    def kink(self) -> float:
        """Infinite: zero absorbs."""
        return math.inf

    def bind(self, n_columns: int, *, kernel: bool, labels: bool = False) -> Self:
        """Return the prior with its strength made a number."""
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
        # An unbound prior is the papers'; estimators bind it before they solve.
        return 1.0 if isinstance(self.strength, str) else self.strength

    def penalty(self, u: Array) -> Array:
        """Return ``strength * log(u) / 2``."""
        with np.errstate(divide="ignore"):
            return np.asarray(0.5 * self._power * np.log(u))

    def variance(self, u: Array) -> Array:
        """Return ``u / strength``."""
        return np.asarray(u) / self._power
