"""What all likelihoods share, and what those of two classes share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from scipy.special import logsumexp

from .._component import Component
from .._protocols import Array, Seed


class Likelihood(Component, ABC):
    r"""The distribution of a target given its latent ``f ~ N(m, v)``.

    The Gaussian with target :math:`z` and precision :math:`r` touches the bound. This ties the methods
    together by the laws :math:`\partial\,\mathrm{bound}/\partial m = r(z-m)` and
    :math:`\partial\,\mathrm{bound}/\partial v = -r/2`; at ``v = 0`` the bound equals the log
    probability. :func:`laconism.testing.check_likelihood` tests them.
    """

    concave = True  # whether ``log_prob`` is concave in the latent

    @abstractmethod
    def log_prob(self, y: Array, f: Array) -> Array:
        """Return ``log p(y | f)``."""

    @abstractmethod
    def bound(self, y: Array, m: Array, v: Array) -> Array:
        """Return a lower bound of ``E[log p(y | f)]``."""

    @abstractmethod
    def surrogate(self, y: Array, m: Array, v: Array) -> tuple[Array, Array]:
        """Return target ``z`` and precision ``r`` of the touching Gaussian."""

    @abstractmethod
    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array]:
        """Return the first derivative of ``log_prob`` in ``f`` and minus the second."""

    def evaluate(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """Return ``log_prob`` and both ``derivatives`` at once, which may share their cost."""
        return self.log_prob(y, f), *self.derivatives(y, f)

    def first_target(self, y: Array) -> Array:
        """Return the target of the first least-squares fit."""
        return y

    def predictive(self, y: Array, m: Array, v: Array) -> Array:
        """Return ``log p(y)`` for a latent ``f ~ N(m, v)``, by quadrature where no formula is known."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(64)
        f = np.asarray(m)[..., None] + np.sqrt(np.asarray(v))[..., None] * nodes
        log_p = self.log_prob(np.asarray(y)[..., None], f)
        return np.asarray(logsumexp(log_p, axis=-1, b=weights / weights.sum()))

    @abstractmethod
    def sample(self, f: Array, rng: Seed) -> Array:
        """Draw a target for each latent; :mod:`laconism.testing` uses it."""

    def squares(self, y: Array, f: Array) -> Array:
        """Return the squared residuals, each times its relative precision; one by default."""
        return np.asarray((y - f) ** 2)

    def refit(self, y: Array, f: Array, weight: Array, n_columns: float, v: float = 0.0) -> Self:
        """Return the likelihood with its parameters re-estimated; itself if it has none."""
        return self

    def hold(self) -> Self:
        """Return the likelihood with its parameters fixed at their present values."""
        return self


class Binary(Likelihood):
    """A likelihood of labels -1, +1 with a symmetric link: ``P(y | f) = link(y f)``."""

    @abstractmethod
    def log_link(self, t: Array) -> Array:
        """Return ``log link(t)``."""

    @abstractmethod
    def moderate(self, m: Array, v: Array) -> Array:
        """Return the ``t`` whose ``link(t)`` is the probability integrated over ``f ~ N(m, v)``."""

    def log_prob(self, y: Array, f: Array) -> Array:
        """Return ``log link(y f)``."""
        return self.log_link(y * f)

    def predictive(self, y: Array, m: Array, v: Array) -> Array:
        """Return the log of the integrated probability of each label."""
        return self.log_link(y * self.moderate(m, v))

    def integrated(self, y: Array, m: Array, v: Array) -> tuple[Array, Array, Array]:
        """Return :meth:`predictive`, its first derivative in ``m``, and minus the second."""
        h = 1e-3 * np.sqrt(1 + v)  # the step of the finite differences
        t, ahead, behind = (self.moderate(m + step, v) for step in (0.0, h, -h))
        rate, bend = (ahead - behind) / (2 * h), (ahead - 2 * t + behind) / h**2
        log_p, slope, curvature = self.evaluate(y, t)
        return log_p, slope * rate, curvature * rate**2 - slope * bend

    def first_target(self, y: Array) -> Array:
        """Return the labels as 0 and 1, step 2 of the algorithm of Figueiredo and Jain (2001)."""
        return (y + 1) / 2

    def sample(self, f: Array, rng: Seed) -> Array:
        """Draw a label for each latent."""
        generator = np.random.default_rng(rng)
        uniform = generator.uniform(size=np.shape(f))
        return np.asarray(np.where(np.log(uniform) < self.log_link(f), 1.0, -1.0))
