"""When one model is clearly better than another: one rule, stated in nats and standard errors.

This module imports nothing of the library, so that every layer may use it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._protocols import Array


def standard_error(gain: Array, weight: Array, least: float = 0.0) -> float:
    """Return the standard error of a weighted sum over rows.

    Parameters
    ----------
    gain : ndarray of shape (n,)
        One number per row, such as a difference of two log densities.
    weight : ndarray of shape (n,)
        Row weights; weight 2 is a row seen twice.
    least : float, default=0.0
        A standard error, in nats, that is always added in quadrature.
    """
    mean = float(np.average(gain, weights=weight))
    return math.hypot(math.sqrt(float(weight @ (gain - mean) ** 2)), least)


@dataclass(frozen=True)
class Rule:
    """When a challenger may replace a smaller or earlier champion.

    Its gain in left-out log density, summed over rows, must exceed ``nats`` and ``errors`` standard
    errors of the paired differences.
    """

    nats: float = 0.0
    errors: float = 0.0

    def threshold(self, gain: Array, weight: Array, least_error: float = 0.0) -> float:
        """Return the gain that is needed, in nats over all rows."""
        if not self.errors:
            return self.nats
        return max(self.nats, self.errors * standard_error(gain, weight, least_error))

    def prefers(self, gain: Array, weight: Array, least_error: float = 0.0) -> bool:
        """Return whether the challenger wins, given its gain at each row."""
        return bool(float(weight @ gain) > self.threshold(gain, weight, least_error))

    def prefers_total(self, gain: float) -> bool:
        """Return whether the challenger wins where only the total gain is known."""
        return gain > self.nats

    def times(self, factor: float) -> Rule:
        """Return the rule for a score that is the sum of this number of scores."""
        return Rule(self.nats * factor, self.errors)
