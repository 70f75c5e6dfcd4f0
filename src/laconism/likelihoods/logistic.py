"""The logistic likelihood of two classes."""

from __future__ import annotations

import numpy as np
from scipy.special import log_expit

from .._protocols import Array
from ..special import jaakkola_weight, logistic_normal_logit
from ._base import Binary


class Logistic(Binary):
    r"""Logistic likelihood, :math:`P(y = 1 \mid f) = \sigma(f)`; labels are -1, +1.

    The bound is that of Jaakkola and Jordan (Statistics and Computing 10, 2000),
    :math:`\log\sigma(\xi) + (y m - \xi)/2` with :math:`\xi^2 = m^2 + v`; the Gaussian that touches it
    has the precision :math:`\tanh(\xi/2)/(2\xi)`.

    Examples
    --------
    >>> import numpy as np
    >>> from laconism.likelihoods import Logistic
    >>> Logistic().log_prob(np.array([1.0, -1.0]), np.array([0.0, 3.0])).round(3)
    array([-0.693, -3.049])
    """

    def bound(self, y: Array, m: Array, v: Array) -> Array:
        """Return ``log sigmoid(xi) + (y m - xi) / 2`` with ``xi = sqrt(m^2 + v)``."""
        xi = np.sqrt(np.asarray(m) ** 2 + v)
        return np.asarray(log_expit(xi) + (y * m - xi) / 2)

    def surrogate(self, y: Array, m: Array, v: Array) -> tuple[Array, Array]:
        """Return ``y / (2 r)`` and ``r = tanh(xi/2) / (2 xi)``."""
        r = jaakkola_weight(np.sqrt(np.asarray(m) ** 2 + v))
        return y / (2 * r), r

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array]:
        """Return ``y sigmoid(-y f)`` and ``sigmoid(f) sigmoid(-f)``."""
        _, slope, curvature = self.evaluate(y, f)
        return slope, curvature

    def evaluate(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        """Return ``log_prob`` and both ``derivatives`` from one exponential."""
        t = y * f
        small = np.exp(-np.abs(t))
        large = 1 / (1 + small)  # sigmoid(|t|)
        log_p = np.minimum(t, 0.0) - np.log1p(small)
        return log_p, y * np.where(t > 0, small * large, large), small * large * large

    def moderate(self, m: Array, v: Array) -> Array:
        """Return the log-odds of the integrated probability, by quadrature."""
        return logistic_normal_logit(m, v)

    def log_link(self, t: Array) -> Array:
        """Return ``log sigmoid(t)``."""
        return np.asarray(log_expit(t))
