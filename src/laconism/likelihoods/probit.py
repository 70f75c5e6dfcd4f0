"""The probit likelihood of two classes."""

from __future__ import annotations

import numpy as np

from .._protocols import Array
from ..special import log_probit, probit_parts, probit_ratio
from ._base import Binary


class Probit(Binary):
    r"""Probit likelihood, :math:`P(y = 1 \mid f) = \Phi(f)`, for labels -1, +1.

    The bound is :math:`\log\Phi(y m) - v/2`. It comes from the latent variable
    :math:`z = f + \mathcal N(0, 1)` of Figueiredo and Jain (CVPR 2001): the Gaussian that touches the
    bound has precision 1, and its target is the mean of :math:`z` given the label, eq. (6).

    Examples
    --------
    >>> import numpy as np
    >>> from laconism.likelihoods import Probit
    >>> Probit().log_prob(np.array([1.0, -1.0]), np.array([0.0, 3.0])).round(3)
    array([-0.693, -6.608])
    """

    def bound(self, y: Array, m: Array, v: Array) -> Array:
        """Return ``log Phi(y m) - v/2``."""
        return log_probit(y * m) - np.asarray(v) / 2

    def surrogate(self, y: Array, m: Array, v: Array) -> tuple[Array, Array]:
        """Return the mean of the truncated Gaussian, eq. (6), and precision 1."""
        m = np.asarray(m, dtype=float)
        return m + y * probit_ratio(y * m), np.ones_like(m)

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array]:
        """Return ``y rho`` and ``rho (rho + y f)`` with ``rho = phi/Phi`` at ``y f``."""
        _, slope, curvature = self.evaluate(y, f)
        return slope, curvature

    def evaluate(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """Return ``log_prob`` and both ``derivatives`` from one special function."""
        log_p, ratio, curvature = probit_parts(y * f)
        return log_p, y * ratio, curvature

    def moderate(self, m: Array, v: Array) -> Array:
        r"""Return :math:`t = m/\sqrt{1+v}`: :math:`\Phi(t) = \int\Phi(f)\,\mathcal N(f\mid m,v)\,df`."""
        return np.asarray(m / np.sqrt(1 + np.asarray(v)))

    def log_link(self, t: Array) -> Array:
        """Return ``log Phi(t)``."""
        return log_probit(t)
