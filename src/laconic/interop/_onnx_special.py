"""Special functions as ONNX nodes: runtimes have no error function in double precision."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erfcx

from ._onnx_graph import Tensor

# erfcx is a polynomial of (x - c) / (x + c) over x + c; this c needs the fewest terms.
_C = 3.0
# Degree at which what is left is rounding, in double precision; single precision needs half of it.
_DEGREE = 24
# The erf of x is in units of half the variance.
_HALF_ROOT = float(np.sqrt(0.5))
# As in ``laconic.special``: Gauss-Hermite resolves the logistic step up to this deviation.
_WIDE = 3.0
# Nodes of both quadratures.
_NODES = 128
# In the far tail of a wide Gaussian the mean of exp(-f) is the whole answer: so many deviations.
_FAR = 8.0


@cache
def _scaled_tail(dtype: np.dtype[Any]) -> list[float]:
    """Return the coefficients, highest first, of ``(x + c) erfcx(x)`` in ``(x - c) / (x + c)``."""

    def tail(u: Any) -> Any:
        x = _C * (1 + u) / (1 - u)
        return (x + _C) * erfcx(x)

    kept = chebyshev.chebtrim(chebyshev.chebinterpolate(tail, _DEGREE), np.finfo(dtype).eps)
    return [float(each) for each in chebyshev.cheb2poly(kept)[::-1]]


def _erfcx(x: Tensor) -> Tensor:
    """Return ``exp(x^2) erfc(x)`` for ``x >= 0``."""
    first, *rest = _scaled_tail(x.graph.dtype)
    u = (x - _C) / (x + _C)
    value = u * 0.0 + first
    for coefficient in rest:
        value = value * u + coefficient
    return value / (x + _C)


def probit(t: Tensor) -> Tensor:
    """Return the normal distribution function, to the last digit of its tail."""
    x = t.abs() * _HALF_ROOT
    tail = 0.5 * _erfcx(x) * (-(x * x)).exp()
    return t.below(0.0).where(tail, 1.0 - tail)


def log_probit(t: Tensor) -> Tensor:
    """Return its logarithm."""
    x = t.abs() * _HALF_ROOT
    half = 0.5 * _erfcx(x)
    return t.below(0.0).where(half.log() - x * x, (1.0 - half * (-(x * x)).exp()).log())


def log_expit(t: Tensor) -> Tensor:
    """Return the logarithm of the logistic function."""
    return t.at_most(0.0) - (1.0 + (-t.abs()).exp()).log()


def expit(t: Tensor) -> Tensor:
    """Return the logistic function; a runtime's own may lose its tail."""
    return 1.0 / (1.0 + (-t).exp())


def logistic_normal_logit(m: Tensor, v: Tensor) -> Tensor:
    r"""Return the log-odds of :math:`\int\sigma(f)\,\mathcal N(f\mid m, v)\,df`, for columns.

    The two quadratures of :func:`laconic.special.logistic_normal_logit`, both taken everywhere.
    """
    deviation = v.sqrt()
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    kept = weights > np.finfo(np.float32).tiny
    nodes, log_weight = nodes[kept], np.log(weights[kept]) - 0.5 * np.log(2 * np.pi)
    f = m + deviation.at_most(_WIDE) * nodes[None]
    narrow = _log_odds(log_expit(f) + log_weight, log_expit(-f) + log_weight)

    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    broad = deviation.at_least(_WIDE)
    far = 20.0 + 8.0 * broad
    reach = (far + (far * far + 1.0).sqrt()).log()  # arcsinh
    grow = (reach * nodes[None]).exp()
    t = grow - 1.0 / grow  # 2 sinh
    density = (reach * (grow + 1.0 / grow)).log() + log_expit(t) + log_expit(-t) + np.log(weights)
    g = (m - t) / broad
    wide = _log_odds(log_probit(g) + density, log_probit(-g) + density)
    size = m.abs()
    beyond = m.graph.op("Sign", m) * (size - v / 2.0)
    wide = (size - v).above(_FAR * broad).where(beyond, wide)
    return deviation.above(_WIDE).where(wide, narrow)


def _log_odds(log_yes: Tensor, log_no: Tensor) -> Tensor:
    return log_yes.log_sum_exp() - log_no.log_sum_exp()
