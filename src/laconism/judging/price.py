"""What a column must be worth to be kept: every price in nats, in one place.

This module imports nothing of the library but protocols, so that every layer may use it.
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

# The prior deviation of the logarithms of the sizes of weights of one problem, a factor of two, and the
# number of observed weights that this belief is worth.
_PRIOR_LOG_SPREAD = 0.7
_PRIOR_WEIGHTS = 4


def prior_price(prior: Prior) -> float:
    """Return the nats below which a scale-free prior drops a column: twice its strength."""
    return JEFFREYS_NATS / float(prior.variance(np.ones(1))[0])


def bic(n_rows: float) -> float:
    """Return the price of a parameter in the Bayesian information criterion."""
    return math.log(n_rows) / 2


def extended_bic(n_rows: float, n_columns: int, n_outputs: int = 1) -> float:
    """Return the price of a column that was chosen among many, in the extended criterion.

    The best of p columns of noise raises the log-likelihood by about log p.
    """
    return math.log(n_columns) + n_outputs * bic(n_rows)


def selection_price(t_squared: Array, column: int, n_candidates: int) -> float:
    r"""Return the nats that a column must bring, given the squared t-values of all that were chosen.

    It stands for a model in which each of ``n_candidates`` has a weight or none, every number of weights
    being as likely as any other, and the logarithms of the sizes of weights, in standard errors
    :math:`t`, are Gaussian with a mean and a deviation estimated from the other weights. A size known to
    a factor of :math:`e^s` spans :math:`t s` standard errors, which is Occam's factor, and one that is
    unlike the others pays for that by Student's density of :math:`\nu` degrees of freedom:

    .. math:: \log\frac{p - k + 1}{k} + \log(t s)
        + \frac{\nu + 1}2 \log\Bigl(1 + \frac{(\log t - \mu)^2}{\nu s^2}\Bigr)

    So where all others are large and of one size, a small weight needs more evidence.
    """
    size = np.log1p(t_squared) / 2  # log of weight and standard error together: never below zero
    own, others = size[column], np.delete(size, column)
    centre, doubt = (others.mean(), 1 + 1 / others.size) if others.size else (own, 1.0)
    degrees = _PRIOR_WEIGHTS + max(others.size - 1, 0)
    squares = _PRIOR_WEIGHTS * _PRIOR_LOG_SPREAD**2 + float(np.sum((others - centre) ** 2))
    variance = doubt * squares / degrees
    unlike = (degrees + 1) / 2 * math.log1p((own - centre) ** 2 / (degrees * variance))
    searched = math.log((n_candidates - t_squared.size + 1) / t_squared.size)
    return float(searched + own + math.log(variance) / 2 + unlike)
