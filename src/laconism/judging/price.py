"""Prices: the gain in log-likelihood, in nats, that a column must bring to be kept.

This module imports only protocols, so that every layer may use it.
"""

from __future__ import annotations

import math

import numpy as np

from .._protocols import Array, Prior

# The price of a column under Jeffreys' prior of strength one: it drops a weight at two standard errors,
# which is a gain of two nats.
JEFFREYS_NATS = 2.0
# Akaike's price of a fitted parameter.
AKAIKE_NATS = 1.0

# Prior standard deviation of the logarithms of the weights of one problem (a factor of two), and the
# number of observations that this prior is equivalent to.
_PRIOR_LOG_SPREAD = 0.7
_PRIOR_WEIGHTS = 4


def prior_price(prior: Prior) -> float:
    """Return the gain, in nats, below which a scale-free prior drops a column: twice its strength."""
    return JEFFREYS_NATS / float(prior.variance(np.ones(1))[0])


def bic(n_rows: float) -> float:
    """Return the price of a parameter in the Bayesian information criterion."""
    return math.log(n_rows) / 2


def extended_bic(n_rows: float, n_columns: int, n_outputs: int = 1) -> float:
    """Return the price of a column that was chosen among many, in the extended BIC.

    The best of p columns of noise raises the log-likelihood by about log p.
    """
    return math.log(n_columns) + n_outputs * bic(n_rows)


def selection_price(t_squared: Array, column: int, n_candidates: int) -> float:
    r"""Return the price of a column, in nats, given the squared t-values of all selected columns.

    It follows from a model with a uniform prior over the number of weights that are not zero, among
    ``n_candidates``. The logarithms of the absolute t-values :math:`t` are Gaussian, with mean and
    deviation estimated from the other weights. A weight known up to a factor of :math:`e^s` spans
    :math:`t s` standard errors, which is the Occam factor. A weight unlike the others pays by the
    Student-t density with :math:`\nu` degrees of freedom:

    .. math:: \log\frac{p - k + 1}{k} + \log(t s)
        + \frac{\nu + 1}2 \log\Bigl(1 + \frac{(\log t - \mu)^2}{\nu s^2}\Bigr)

    So where all others are large and of one size, a small weight needs more evidence.
    """
    size = np.log1p(t_squared) / 2  # log sqrt(1 + t^2), never negative
    own, others = size[column], np.delete(size, column)
    centre, doubt = (others.mean(), 1 + 1 / others.size) if others.size else (own, 1.0)
    degrees = _PRIOR_WEIGHTS + max(others.size - 1, 0)
    squares = _PRIOR_WEIGHTS * _PRIOR_LOG_SPREAD**2 + float(np.sum((others - centre) ** 2))
    variance = doubt * squares / degrees
    unlike = (degrees + 1) / 2 * math.log1p((own - centre) ** 2 / (degrees * variance))
    searched = math.log((n_candidates - t_squared.size + 1) / t_squared.size)
    return float(searched + own + math.log(variance) / 2 + unlike)
