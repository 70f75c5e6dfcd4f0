"""What the likelihoods of two classes share."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from .._protocols import Array, Seed
from ._base import Likelihood


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

    def first_target(self, y: Array) -> Array:
        """Return the labels as 0 and 1, step 2 of [FJ01]'s algorithm."""
        return (y + 1) / 2

    def sample(self, f: Array, rng: Seed) -> Array:
        """Draw a label for each latent."""
        generator = np.random.default_rng(rng)
        uniform = generator.uniform(size=np.shape(f))
        return np.asarray(np.where(np.log(uniform) < self.log_link(f), 1.0, -1.0))
