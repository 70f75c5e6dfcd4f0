"""A target that is itself a probability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._protocols import Array
from ._binary import Binary


@dataclass(frozen=True)
class Soft:
    r"""The expected log-likelihood under the probabilities that another latent gives.

    ``y`` is that latent and :math:`\pi = \mathrm{link}(y)` its probability:
    :math:`\log p(y \mid f) = \pi\log\mathrm{link}(f) + (1-\pi)\log\mathrm{link}(-f)`. What it loses
    against its maximum at ``f = y`` is the Kullback-Leibler divergence between the two predictions.
    """

    binary: Binary

    def log_prob(self, y: Array, f: Array) -> Array:
        """Return the expected log probability."""
        return self.evaluate(y, f)[0]

    def evaluate(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """Return it with its first derivative and minus the second."""
        one = np.ones_like(f)
        up, down = np.exp(self.binary.log_link(y)), np.exp(self.binary.log_link(-y))
        parts = zip(self.binary.evaluate(one, f), self.binary.evaluate(-one, f), strict=True)
        log_p, slope, curvature = (up * a + down * b for a, b in parts)
        return log_p, slope, curvature

    def refit(self, y: Array, f: Array, weight: Array, n_columns: float, v: float = 0.0) -> Soft:
        """Return itself: there is nothing to estimate."""
        return self
