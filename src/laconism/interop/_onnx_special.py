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
# Up to this variance Gauss-Hermite resolves the logistic step, to 1e-11 with so many nodes.
_NARROW, _HERMITE = 2.25, 48
# Nodes of the rule for wider Gaussians, and how many deviations beyond the peak it reaches.
_LEGENDRE, _REACH = 56, 8.0


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

    The smaller of the two probabilities is integrated, as a sum of positive terms in units of the
    largest: it keeps its digits however small it is.
    """
    a = m.abs()
    wide = _log_tail_wide(a, v.at_least(_NARROW))
    log_tail = v.above(_NARROW).where(wide, _log_tail_narrow(a, v.at_most(_NARROW)))
    odds = (1.0 - log_tail.exp()).log() - log_tail
    return m.graph.op("Sign", m) * odds


def _log_tail_narrow(a: Tensor, v: Tensor) -> Tensor:
    """Return ``log E[sigmoid(-f)]`` for ``f ~ N(a, v)`` by Gauss-Hermite."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_HERMITE)
    kept = weights > np.finfo(np.float32).eps ** 4  # the others would not be seen
    nodes, weights = nodes[None, kept], weights[kept] / np.sqrt(2 * np.pi)
    terms: Tensor = weights / ((-a).exp() + (v.sqrt() * nodes).exp())
    return terms.sum().log() - a


def _log_tail_wide(a: Tensor, v: Tensor) -> Tensor:
    r"""Return ``log E[sigmoid(-f)]`` for ``f ~ N(a, v)``, from what a step would give.

    That is :math:`\Phi(-a/\sqrt v)`, and the step bends by
    :math:`\int_0^\infty\sigma(-f)\,[\mathcal N(f\mid a,v) - \mathcal N(f\mid -a,v)]\,df`:
    Gauss-Legendre in u with :math:`f = 2\sinh u`, which is fine near 0, where it bends most.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_LEGENDRE)
    nodes, weights = (1 + nodes[None]) / 2, weights / 2
    deviation, twice = v.sqrt(), 2.0 * v
    peak = (a - v).at_least(0.0)
    away = peak - a
    top = -peak - away * away / twice  # the largest exponent
    half = 0.5 * (peak + _REACH * deviation)
    reach = (half + (half * half + 1.0).sqrt()).log()  # arcsinh
    grow = (reach * nodes).exp()
    f, width = grow - 1.0 / grow, (grow + 1.0 / grow) * reach * weights
    before, behind = f - a, f + a
    near = (-f - before * before / twice - top).exp() - (-f - behind * behind / twice - top).exp()
    bend = (near * width / (1.0 + (-f).exp())).sum() / (deviation * float(np.sqrt(2 * np.pi)))
    x = a / deviation * _HALF_ROOT
    tail = top + (0.5 * _erfcx(x) * (-(x * x) - top).exp() + bend).log()
    # Where the peak is far from zero the means of exp(-f) and exp(-2f) are the whole answer; the second
    # is nothing where the variance is so large that they would not be.
    second = (v.at_most(_REACH**2) / 2.0 - (a - v)).exp()
    return (a - v).above(_REACH * deviation).where(v / 2.0 - a + (1.0 - second).log(), tail)
