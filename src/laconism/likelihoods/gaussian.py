"""The Gaussian likelihood of regression."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.special import ndtri

from .._protocols import Array, Seed
from ._noise import MAX_NOISE_PER_RESIDUAL, Noise, least_noise


class Gaussian(Noise):
    r"""Gaussian likelihood, :math:`y \sim \mathcal N(f, \sigma^2)`.

    The noise variance is re-estimated as :math:`\sigma^2 = \|y - f\|^2/n`, eq. (3) of Figueiredo (NIPS
    2001). While the model has at least half as many columns as there are rows, the estimate is at least
    a thousandth of the target's variance: such a model can interpolate, and its residuals then say
    nothing about the noise.

    Parameters
    ----------
    noise : float, default=1.0
        Variance of the noise; the first value if it is estimated.
    estimate : bool, default=True
        Whether :meth:`refit` re-estimates it; ``False`` keeps ``noise`` as given.
    floor : float, default=1e-12
        Lower bound of the estimate, as a fraction of the target's variance.

    Examples
    --------
    >>> import numpy as np
    >>> from laconism.likelihoods import Gaussian
    >>> y, f = np.array([1.0, 3.0, 2.0, 0.0]), np.array([0.0, 1.0, 3.0, 1.0])
    >>> Gaussian().refit(y, f, np.ones(4), 1)
    Gaussian(noise=1.75)
    """

    def __init__(self, noise: float = 1.0, estimate: bool = True, floor: float = 1e-12) -> None:
        self.noise = noise
        self.estimate = estimate
        self.floor = floor

    @property
    def variance(self) -> float:
        """Variance of the noise."""
        return float(self.noise)

    @property
    def information(self) -> float:
        """One over the variance."""
        return float(1 / self.noise)

    def refit(self, y: Array, f: Array, weight: Array, n_columns: float, v: float = 0.0) -> Self:
        """Return the likelihood with the noise variance at its maximum."""
        if not self.estimate:
            return self
        total = float(weight.sum())
        spread = float(weight @ (y - weight @ y / total) ** 2 / total)
        size = float(np.abs(y).max(initial=0.0))
        least = least_noise(spread, size, self.floor, 2 * n_columns >= total)
        seen = float(weight @ (y - f) ** 2 / total)
        noise = max(min(seen + v, MAX_NOISE_PER_RESIDUAL * max(seen, spread)), least)
        return type(self)(noise=float(noise), estimate=True, floor=self.floor)

    def hold(self) -> Self:
        """Return the likelihood with the noise variance fixed at its present value."""
        return type(self)(noise=self.noise, estimate=False)

    def log_prob(self, y: Array, f: Array) -> Array:
        """Return the log density."""
        return self.predictive(y, f, np.zeros(()))

    def bound(self, y: Array, m: Array, v: Array) -> Array:
        """Return the expected log density itself; the bound is exact."""
        return self.log_prob(y, m) - np.asarray(v) / (2 * self.noise)

    def predictive(self, y: Array, m: Array, v: Array) -> Array:
        """Return the log density of each target, latent and noise variances added."""
        s2 = self.noise + np.asarray(v)
        return np.asarray(-0.5 * (np.log(2 * np.pi * s2) + (y - m) ** 2 / s2))

    def half_width(self, v: Array, coverage: float) -> Array:
        """Return a quantile of the normal distribution times the predictive standard deviation."""
        return np.asarray(np.sqrt(self.noise + np.asarray(v)) * ndtri(0.5 + coverage / 2))

    def surrogate(self, y: Array, m: Array, v: Array) -> tuple[Array, Array]:
        """Return the target itself and the precision of the noise."""
        return np.asarray(y, dtype=float), np.full_like(m, 1 / self.noise, dtype=float)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array]:
        """Return ``(y - f) / noise`` and ``1 / noise``."""
        r = 1 / self.noise
        return (y - f) * r, np.full_like(f, r, dtype=float)

    def sample(self, f: Array, rng: Seed) -> Array:
        """Draw a target for each latent."""
        generator = np.random.default_rng(rng)
        return np.asarray(f + np.sqrt(self.noise) * generator.normal(size=np.shape(f)))
