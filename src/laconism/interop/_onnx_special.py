"""Special functions as ONNX nodes: runtimes have no error function in double precision."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erfcx

from ._onnx_graph import Tensor

# The normal distribution function of t is an error function of t times this.
_HALF_ROOT = float(np.sqrt(0.5))


@cache
def _scaled_tail(dtype: np.dtype[Any], c: float, degree: int = 24) -> list[float]:
    """Return the coefficients, highest first, of ``(x + c) erfcx(x)`` in ``(x - c) / (x + c)``.

    With this degree the error is rounding in double precision; single precision needs half of it.
    """

    def tail(u: Any) -> Any:
        x = c * (1 + u) / (1 - u)
        return (x + c) * erfcx(x)

    kept = chebyshev.chebtrim(chebyshev.chebinterpolate(tail, degree), np.finfo(dtype).eps)
    return [float(each) for each in chebyshev.cheb2poly(kept)[::-1]]


def _erfcx(x: Tensor, c: float = 3.0) -> Tensor:
    """Return ``exp(x^2) erfc(x)`` for ``x >= 0``; this c needs the fewest terms."""
    first, *rest = _scaled_tail(x.graph.dtype, c)
    u = (x - c) / (x + c)
    value = u * 0.0 + first
    for coefficient in rest:
        value = value * u + coefficient
    return value / (x + c)


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


def logistic_normal_logit(m: Tensor, v: Tensor, narrow: float = 2.25) -> Tensor:
    r"""Return the log-odds of :math:`\int\sigma(f)\,\mathcal N(f\mid m, v)\,df`, for columns.

    The smaller of the two probabilities is integrated, as a sum of positive terms in units of the
    largest: it keeps its digits however small it is. Up to the variance ``narrow`` Gauss-Hermite
    quadrature resolves the logistic step.
    """
    a = m.abs()
    wide = _log_tail_wide(a, v.at_least(narrow))
    log_tail = v.above(narrow).where(wide, _log_tail_narrow(a, v.at_most(narrow)))
    odds = (1.0 - log_tail.exp()).log() - log_tail
    return m.graph.op("Sign", m) * odds


def _log_tail_narrow(a: Tensor, v: Tensor, n_nodes: int = 48) -> Tensor:
    """Return ``log E[sigmoid(-f)]`` for ``f ~ N(a, v)`` by Gauss-Hermite."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    kept = weights > np.finfo(np.float32).eps ** 4  # the others are below rounding
    nodes, weights = nodes[None, kept], weights[kept] / np.sqrt(2 * np.pi)
    terms: Tensor = weights / ((-a).exp() + (v.sqrt() * nodes).exp())
    return terms.sum().log() - a


def _log_tail_wide(a: Tensor, v: Tensor, n_nodes: int = 56, deviations: float = 8.0) -> Tensor:
    r"""Return ``log E[sigmoid(-f)]`` for ``f ~ N(a, v)``, as a correction of a step function.

    The step gives :math:`\Phi(-a/\sqrt v)`; the correction is
    :math:`\int_0^\infty\sigma(-f)\,[\mathcal N(f\mid a,v) - \mathcal N(f\mid -a,v)]\,df`:
    Gauss-Legendre in u with :math:`f = 2\sinh u`, which has most nodes near 0, where it is largest, up
    to this many deviations beyond the peak.
    """
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    nodes, weights = (1 + nodes[None]) / 2, weights / 2
    deviation, twice = v.sqrt(), 2.0 * v
    peak = (a - v).at_least(0.0)
    away = peak - a
    top = -peak - away * away / twice  # the largest exponent
    half = 0.5 * (peak + deviations * deviation)
    reach = (half + (half * half + 1.0).sqrt()).log()  # arcsinh
    grow = (reach * nodes).exp()
    f, width = grow - 1.0 / grow, (grow + 1.0 / grow) * reach * weights
    before, behind = f - a, f + a
    near = (-f - before * before / twice - top).exp() - (-f - behind * behind / twice - top).exp()
    correction = (near * width / (1.0 + (-f).exp())).sum() / (deviation * float(np.sqrt(2 * np.pi)))
    x = a / deviation * _HALF_ROOT
    tail = top + (0.5 * _erfcx(x) * (-(x * x) - top).exp() + correction).log()
    # Where the peak is far from zero the means of exp(-f) and exp(-2f) suffice; the second is bounded
    # where the variance is too large for that.
    second = (v.at_most(deviations**2) / 2.0 - (a - v)).exp()
    return (a - v).above(deviations * deviation).where(v / 2.0 - a + (1.0 - second).log(), tail)
