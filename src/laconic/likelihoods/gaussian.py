"""The Gaussian likelihood of regression."""

from __future__ import annotations

from typing import Self

import numpy as np

from .._component import is_positive, require
from .._protocols import Array, Seed
from ._base import Likelihood

# A model with at least half as many columns as rows can pass through the data without knowing the
# noise: its residual is no evidence of less noise than this part of the target's variance.
_FLOOR_WITHOUT_EVIDENCE = 1e-3
# With less than one observation to go by, what the latent does not know feeds on itself: no noise is
# larger than this multiple of what is seen.
_MOST = 5.0


class Gaussian(Likelihood):
    r"""Gaussian likelihood, :math:`y \sim \mathcal N(f, \sigma^2)`.

    Its noise variance is re-estimated as :math:`\sigma^2 = \|y - f\|^2/n`, eq. (3) of [F01]_, but never
    below a thousandth of the target's variance while the model has half as many columns as there are
    rows: a model that interpolates is no evidence that there is no noise.

    Parameters
    ----------
    noise : float, default=1.0
        Variance of the noise.
    estimate : bool, default=True
        Whether :meth:`refit` re-estimates it; ``False`` keeps ``noise`` as given.
    floor : float, default=1e-12
        The least that an estimate may be, as a part of the target's variance; the default is what a
        double can tell from zero.

    Examples
    --------
    >>> import numpy as np
    >>> from laconic.likelihoods import Gaussian
    >>> y, f = np.array([1.0, 3.0, 2.0, 0.0]), np.array([0.0, 1.0, 3.0, 1.0])
    >>> Gaussian().refit(y, f, np.ones(4), 1)
    Gaussian(noise=1.75)

    References
    ----------
    .. [F01] M. Figueiredo, Adaptive sparseness using Jeffreys prior, NIPS 2001.
    """

    def __init__(self, noise: float = 1.0, estimate: bool = True, floor: float = 1e-12) -> None:
        self.noise = noise
        self.estimate = estimate
        self.floor = floor

    def check(self) -> None:
        """Raise unless ``noise`` is a positive variance."""
        require(is_positive(self.noise), self, "noise must be a positive variance", self.noise)
        part = is_positive(self.floor) and self.floor < 1
        require(part, self, "floor must be a number between 0 and 1", self.floor)

    def refit(self, y: Array, f: Array, weight: Array, n_columns: float, v: float = 0.0) -> Self:
        """Return the likelihood with the noise variance at its maximum, eq. (3) of [F01]."""
        if not self.estimate:
            return self
        total = weight.sum()
        spread = weight @ (y - weight @ y / total) ** 2 / total
        starved = 2 * n_columns >= total
        floor = spread * max(_FLOOR_WITHOUT_EVIDENCE if starved else 0.0, self.floor)
        size = np.abs(y).max(initial=0.0)
        if spread <= (8 * np.finfo(float).eps * size) ** 2:
            floor = (1e-6 * size) ** 2  # a constant: what is left of it is rounding, not signal
        seen = weight @ (y - f) ** 2 / total
        noise = max(min(seen + v, _MOST * max(seen, spread)), floor, 1e-150)
        return type(self)(noise=float(noise), estimate=True, floor=self.floor)

    def hold(self) -> Self:
        """Return the likelihood with this noise variance, no longer re-estimated."""
        return type(self)(noise=self.noise, estimate=False)

    def log_prob(self, y: Array, f: Array) -> Array:
        """Return the log density."""
        s2 = self.noise
        return np.asarray(-0.5 * (np.log(2 * np.pi * s2) + (y - f) ** 2 / s2))

    def bound(self, y: Array, m: Array, v: Array) -> Array:
        """Return the expected log density, which is exact."""
        return self.log_prob(y, m) - np.asarray(v) / (2 * self.noise)

    def predictive(self, y: Array, m: Array, v: Array) -> Array:
        """Return the log density of each target, with the latent's variance added to the noise's."""
        s2 = self.noise + np.asarray(v)
        return np.asarray(-0.5 * (np.log(2 * np.pi * s2) + (y - m) ** 2 / s2))

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
