"""What the likelihoods of two classes share."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from .._protocols import Array, Seed
from ._base import Likelihood

# Step of the finite difference of an integrated probability, in deviations of the latent.
_DIFFERENCE_STEP_DEVIATIONS = 1e-3


class Binary(Likelihood):
    """A likelihood of labels -1, +1 with a symmetric link: ``P(y | f) = link(y f)``."""

    @abstractmethod
    def log_link(self, t: Array) -> Array:
        """Return ``log link(t)``."""

    @abstractmethod
    def moderate(self, m: Array, v: Array) -> Array:
        """Return the ``t`` whose ``link(t)`` is the probability integrated over ``f ~ N(m, v)``."""

    def predictive(self, y: Array, m: Array, v: Array) -> Array:
        """Return the log of the integrated probability of each label."""
        return self.log_link(y * self.moderate(m, v))

    def integrated(self, y: Array, m: Array, v: Array) -> tuple[Array, Array, Array]:
        """Return :meth:`predictive`, its first derivative in ``m``, and minus the second."""
        h = _DIFFERENCE_STEP_DEVIATIONS * np.sqrt(1 + v)
        t, ahead, behind = (self.moderate(m + step, v) for step in (0.0, h, -h))
        rate, bend = (ahead - behind) / (2 * h), (ahead - 2 * t + behind) / h**2
        log_p, slope, curvature = self.evaluate(y, t)
        return log_p, slope * rate, curvature * rate**2 - slope * bend

    def first_target(self, y: Array) -> Array:
        """Return the labels as 0 and 1, step 2 of [FJ01]'s algorithm."""
        return (y + 1) / 2

    def sample(self, f: Array, rng: Seed) -> Array:
        """Draw a label for each latent."""
        generator = np.random.default_rng(rng)
        uniform = generator.uniform(size=np.shape(f))
        return np.asarray(np.where(np.log(uniform) < self.log_link(f), 1.0, -1.0))
