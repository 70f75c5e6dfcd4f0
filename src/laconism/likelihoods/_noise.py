"""What the likelihoods of regression share: a noise, the least that it may be, its typical size."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from .._component import is_positive, require
from .._protocols import Array
from ._base import Likelihood

# A model with at least half as many columns as rows can interpolate: its residuals do not show that the
# noise is below this fraction of the target's variance.
_UNIDENTIFIED_NOISE_FRACTION = 1e-3
# The median distance from the median of a Gaussian, in standard deviations.
_MEDIAN_DISTANCE = 0.6744897501960817


class Noise(Likelihood):
    """A likelihood of numbers: the latent plus noise of the squared scale ``noise``."""

    noise: float
    estimate: bool
    floor: float

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of the noise, or of the Gaussian with as much of it within two deviations."""

    @property
    @abstractmethod
    def information(self) -> float:
        """What a target tells about its latent: a Gaussian's precision."""

    @abstractmethod
    def half_width(self, v: Array, coverage: float) -> Array:
        """Return half the width of the interval around its mean that a target is in so often.

        ``v`` is the variance of the latent.
        """

    def check(self) -> None:
        """Raise unless ``noise`` is a positive variance."""
        require(is_positive(self.noise), self, "noise must be a positive variance", self.noise)
        part = is_positive(self.floor) and self.floor < 1
        require(part, self, "floor must be a number between 0 and 1", self.floor)


def least_noise(spread: float, size: float, floor: float, noise_unidentified: bool) -> float:
    """Return the least noise variance that residuals are believed to be evidence of.

    ``spread`` is the variance of the targets, ``size`` how large they are; ``noise_unidentified`` says
    that there are half as many columns as rows.
    """
    least = spread * max(_UNIDENTIFIED_NOISE_FRACTION if noise_unidentified else 0.0, floor)
    if spread <= (8 * np.finfo(float).eps * size) ** 2:
        least = (1e-6 * size) ** 2  # a constant: what is left of it is rounding, not signal
    return float(max(least, 1e-150))


def median(values: Array, weight: Array) -> float:
    """Return the median, a row of weight 2 counting as two rows."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    half = reached[-1] / 2
    low = int(np.searchsorted(reached, half * (1 - 1e-12)))
    high = int(np.searchsorted(reached, half * (1 + 1e-12), side="right"))
    return float(values[order[low]] + values[order[min(high, order.size - 1)]]) / 2


def robust_spread(y: Array, weight: Array) -> float:
    """Return the variance of targets as their median distance tells it: a few may be anywhere."""
    away = np.abs(y - median(y, weight))
    typical = median(away, weight) / _MEDIAN_DISTANCE
    if typical > 0:
        return typical**2
    return float(weight @ away / weight.sum()) ** 2  # more than half of them are the same
