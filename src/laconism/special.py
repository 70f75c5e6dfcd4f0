"""Special functions of the probit and logistic models, accurate in the tails.

Every function is checked against mpmath out to ``|t| = 1e4``.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, log_expit, log_ndtr, logsumexp

from ._protocols import Array


def probit_ratio(t: ArrayLike) -> Array:
    r"""Return :math:`\phi(t)/\Phi(t)`, the mean of a truncated Gaussian relative to its location.

    Computed as :math:`\sqrt{2/\pi}\,/\,\mathrm{erfcx}(-t/\sqrt2)`: the naive quotient is 0/0 from
    ``t = -38`` on.

    >>> round(float(probit_ratio(-1e4)), 6)
    10000.0001
    """
    t = np.asarray(t, dtype=float)
    with np.errstate(over="ignore"):
        return np.asarray(np.sqrt(2 / np.pi) / erfcx(-t / np.sqrt(2)))


def _ratio_plus(t: Array, levels: int = 24) -> Array:
    r"""Return :math:`\phi/\Phi + t` in the far tail by a continued fraction, free of cancellation.

    With :math:`x = -t`, :math:`\phi/\Phi = x + 1/(x + 2/(x + 3/(x + \dots)))`.
    """
    x = -t
    tail = np.zeros_like(x)
    for level in range(levels, 0, -1):
        tail = level / (x + tail)
    return tail


def log_probit(t: ArrayLike) -> Array:
    r"""Return :math:`\log\Phi(t)`."""
    return np.asarray(log_ndtr(np.asarray(t, dtype=float)))


def probit_parts(t: ArrayLike) -> tuple[Array, Array, Array]:
    r"""Return :math:`\log\Phi`, :math:`\rho = \phi/\Phi` and minus its slope, :math:`\rho(\rho + t)`.

    All three follow from :math:`\Phi(-|t|) = e\,\exp(-t^2/2)/2`, :math:`e = \mathrm{erfcx}(|t|/\sqrt2)`,
    which is most of the cost. The last tends to 1 on the left and to 0 on the right.
    """
    t = np.asarray(t, dtype=float)
    left = t < 0
    with np.errstate(over="ignore"):
        half = t * t / 2
    e = erfcx(np.abs(t) / np.sqrt(2))
    density = np.exp(-half)
    tail = 0.5 * e * density
    log_p = np.where(left, np.log(0.5 * e) - half, np.log1p(-tail))
    ratio = np.sqrt(2 / np.pi) * np.where(left, 1 / e, 0.5 * density / (1 - tail))
    plus = np.asarray(ratio + t)
    far = t < -12.0  # where the direct formula cancels, and the continued fraction is exact
    if far.any():
        plus[far] = _ratio_plus(t[far])
    # For t < 0 rounding could make the product exceed its limit of 1.
    return log_p, ratio, np.minimum(ratio * plus, 1.0)


def jaakkola_weight(xi: ArrayLike) -> Array:
    r"""Return :math:`\tanh(\xi/2) / (2\xi)`, twice Jaakkola and Jordan's :math:`\lambda(\xi)`.

    >>> float(jaakkola_weight(0.0))
    0.25
    """
    size: Array = np.abs(np.asarray(xi, dtype=float))
    small = size < 1e-4  # two terms of the series are exact there
    safe = np.where(small, 1.0, size)
    return np.asarray(np.where(small, 0.25 - size**2 / 48, np.tanh(safe / 2) / (2 * safe)))


@lru_cache(maxsize=1)
def _hermite() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(128)
    keep = weights > 0
    return nodes[keep], np.log(weights[keep]) - 0.5 * np.log(2 * np.pi)


@lru_cache(maxsize=1)
def _legendre() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(128)
    return nodes, np.log(weights)


def logistic_normal_logit(m: ArrayLike, v: ArrayLike) -> Array:
    r"""Return the log-odds of :math:`\int\sigma(f)\,\mathcal N(f\mid m, v)\,df`.

    By Gauss-Hermite quadrature in logarithms for narrow Gaussians and, for wide ones, through
    :math:`\int\sigma'(t)\,\Phi((m-t)/\sqrt v)\,dt`; so it neither saturates nor overflows.

    >>> float(logistic_normal_logit(3.0, 0.0))
    3.0
    """
    m, v = np.broadcast_arrays(np.asarray(m, dtype=float), np.asarray(v, dtype=float))
    flat_m, flat_v = m.ravel(), v.ravel()
    out = flat_m.copy()
    for start in range(0, flat_m.size, 4096):  # bounded memory: 4096 x 128 doubles
        part = slice(start, start + 4096)
        out[part] = _logit_block(flat_m[part], flat_v[part])
    return out.reshape(m.shape)


def _logit_block(m: Array, v: Array, widest: float = 3.0) -> Array:
    """Return the log-odds of each row; Gauss-Hermite resolves the logistic step up to ``widest``."""
    out = m.copy()
    deviation = np.sqrt(v)
    narrow = (deviation > 0) & (deviation <= widest)
    if narrow.any():
        nodes, log_weight = _hermite()
        f = m[narrow, None] + deviation[narrow, None] * nodes
        out[narrow] = _log_odds(log_weight + log_expit(f), log_weight + log_expit(-f))
    wide = deviation > widest
    if wide.any():
        t, log_weight = _logistic_rule(deviation[wide, None])
        g = (m[wide, None] - t) / deviation[wide, None]
        out[wide] = _log_odds(log_weight + log_ndtr(g), log_weight + log_ndtr(-g))
    # Where the tilted Gaussian N(m - v, v) has no mass near 0, E[exp(-f)] is the result.
    far = wide & (np.abs(m) - v > 8 * deviation)
    out[far] = np.sign(m[far]) * (np.abs(m[far]) - v[far] / 2)
    return out


def _logistic_rule(deviation: Array) -> tuple[Array, Array]:
    """Return nodes and log-weights of an integral against the logistic density.

    ``t = 2 sinh(u)`` is fine near 0, where the density bends, and reaches the sixteen deviations
    to which a far-away Gaussian can still move the peak of the integrand.
    """
    nodes, log_weight = _legendre()
    reach = np.arcsinh(20 + 8 * deviation)
    u = reach * nodes
    t = 2 * np.sinh(u)
    return t, log_weight + np.log(2 * reach * np.cosh(u)) + log_expit(t) + log_expit(-t)


def _log_odds(log_yes: Array, log_no: Array) -> Array:
    return np.asarray(logsumexp(log_yes, axis=1) - logsumexp(log_no, axis=1))
