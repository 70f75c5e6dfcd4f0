"""What the likelihoods of regression share: the noise, its lower bound, robust estimates of scale."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.special import ndtri

from .._component import is_positive, require
from .._protocols import Array
from ._base import Likelihood

# A model with at least half as many columns as rows can interpolate, so small residuals are no evidence
# of little noise: the noise is at least this fraction of the target's variance (record 016).
UNIDENTIFIED_NOISE_FRACTION = 1e-3
# The noise is at most this many times the mean squared residual: with less than one degree of freedom
# the fixed point of noise and latent variance would diverge.
MAX_NOISE_PER_RESIDUAL = 5.0


class Noise(Likelihood):
    """A likelihood of regression: a target is its latent plus noise of squared scale ``noise``."""

    noise: float
    estimate: bool
    floor: float

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of the Gaussian with the same probability within two deviations as the noise."""

    @property
    @abstractmethod
    def information(self) -> float:
        """Fisher information of a target about its latent; for a Gaussian, the precision."""

    @abstractmethod
    def half_width(self, v: Array, coverage: float) -> Array:
        """Return half the width of the central interval of this coverage, for the latent's variance."""

    def check(self) -> None:
        """Raise unless ``noise`` is a positive variance."""
        require(is_positive(self.noise), self, "noise must be a positive variance", self.noise)
        part = is_positive(self.floor) and self.floor < 1
        require(part, self, "floor must be a number between 0 and 1", self.floor)


def least_noise(spread: float, size: float, floor: float, noise_unidentified: bool) -> float:
    """Return the lower bound of the noise variance, from variance and magnitude of the targets."""
    least = spread * max(UNIDENTIFIED_NOISE_FRACTION if noise_unidentified else 0.0, floor)
    if spread <= (8 * np.finfo(float).eps * size) ** 2:
        least = (1e-6 * size) ** 2  # the target is constant up to rounding
    return float(max(least, 1e-150))


def median(values: Array, weight: Array) -> float:
    """Return the weighted median; a row of weight 2 counts as two rows."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    half = reached[-1] / 2
    low = int(np.searchsorted(reached, half * (1 - 1e-12)))
    high = int(np.searchsorted(reached, half * (1 + 1e-12), side="right"))
    return float(values[order[low]] + values[order[min(high, order.size - 1)]]) / 2


def robust_spread(y: Array, weight: Array) -> float:
    """Return the variance of the targets from their median absolute deviation, robust to outliers."""
    away = np.abs(y - median(y, weight))
    typical = median(away, weight) / float(ndtri(0.75))  # the median distance of a unit Gaussian
    if typical > 0:
        return typical**2
    return float(weight @ away / weight.sum()) ** 2  # more than half of the targets are equal
