"""Error bars of few kernels where those do not reach: what the prior has and they do not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .._protocols import Array, Index
from ..design import Built
from ..linalg import Triangle
from ..posterior import GaussianPosterior
from .path import Path, evaluation_rows
from .reference import KernelMap, Reference

# Rows that choose the power; of more than that so many.
_JUDGES = 1_000
# Powers to choose from: the first is the prior's own, the last leaves nothing but what is far away.
_POWERS = 2.0 ** np.arange(0, 8.5, 0.5)
# Squared logarithms of variances, on average, that nobody would notice, half a percent of a deviation;
# and those that are too much for whatever may be gained elsewhere, five percent.
_SLIGHT, _TOO_MUCH = 1e-4, 1e-2
# Kernels are never alike beyond this part of them, so that single precision tells what they lack.
_ALIKE = 1e-6


@dataclass(frozen=True)
class PriorResidualVariance:
    r"""The variance under the prior that the kept kernels do not have.

    Where no kept kernel reaches, the weights on them say nothing, and the variance of the latent is that
    of the centre of the data: surest where it knows nothing. A Gaussian process has there what its prior
    has. With the kept rows :math:`M` that is, of :math:`s^2k(x, x)`, the part

    .. math:: e(x) = 1 - k_{xM}K_{MM}^{-1}k_{Mx}/k(x, x)

    of which :math:`f(M)` knows nothing. The rows that were not kept do know of it, close to them: all of
    it (``power=1``, the deterministic training conditional made whole [QR05]_) would be too much there.
    A power of :math:`e` has both ends right, nothing at a kept row and the prior far from all of them;
    :func:`fit_variance_power` finds the one that suits the rows.

    References
    ----------
    .. [QR05] J. Quinonero-Candela, C. Rasmussen, A unifying view of sparse approximate Gaussian process
       regression, JMLR 6, 2005.
    """

    triangle: Triangle  # of the kept kernels at their own rows
    height: float  # of the prior
    power: float

    @classmethod
    def at(cls, path: Path, size: int, basis: Any) -> Self | None:
        """Return it for the model of a size, if anything is to be added there."""
        if path.powers is None or not np.isfinite(path.powers[size]):
            return None
        few = basis.keep(path.columns[size])
        K = np.asarray(few.columns(few.centres), dtype=np.float64)
        return cls(_triangle(K), path.height, float(path.powers[size]))

    def variance(self, Phi: Array) -> Array:
        """Return it at each row, given the kept kernels there."""
        return np.asarray(self.height * _lacking(self.triangle, Phi) ** self.power)


def _triangle(K: Array) -> Triangle:
    """Return the root with which the part that kernels explain of any of them is a sum of squares."""
    tall = K.diagonal().max(initial=0.0)
    return Triangle.of(tall * (K + _ALIKE * tall * np.eye(len(K))))


def _lacking(triangle: Triangle, Phi: Array) -> Array:
    """Return ``e(x)`` at each row."""
    return np.asarray(np.maximum(1 - (triangle.solve(Phi.T) ** 2).sum(axis=0), 0.0))


def fit_variance_power(path: Path, weight: Array, built: Built) -> Path:
    """Return the path of a regression with the powers of its sizes, where the prior has a height.

    The power is the lowest of those with which the logarithms of the predictive variances are closest
    to what the reference has at the rows, each as if it had not been seen. It is infinite, and nothing
    is added, where kernels are so few that they do not reach the rows either.

    Parameters
    ----------
    path : Path
        Of one output.
    weight : ndarray of shape (n,)
        What each row counts.
    built : Built
        All kernels.
    """
    reference = path.references[0]
    height = _height(reference)
    if not height:
        return path
    basis: Any = built.basis
    used, judges = np.unique(np.concatenate(path.columns)), evaluation_rows(reference.m, _JUDGES)
    Phi = built.design.keep(used).rows(judges).matvec(np.eye(used.size))
    few, centre = basis.keep(used), built.centre[used]
    K = np.asarray(few.columns(few.centres), dtype=np.float64)
    noise: Any = reference.likelihood
    share = weight[judges] / weight[judges].sum()
    wanted = np.log(noise.variance + reference.left_v[judges])

    def missed(v: Array) -> float:
        return float(share @ (np.log(noise.variance + v) - wanted) ** 2)

    def power(index: Index, posterior: GaussianPosterior) -> float:
        at = np.searchsorted(used, index)
        v = posterior.latent(Phi[:, at])[1]
        e = _lacking(_triangle(K[np.ix_(at, at)]), Phi[:, at] + centre[at])
        misses = np.array([missed(v + height * e**each) for each in _POWERS])
        if misses.min() > missed(v) + _TOO_MUCH:
            return np.inf
        return float(_POWERS[np.argmax(misses <= misses.min() + _SLIGHT)])

    sizes = zip(path.columns, path.posteriors, strict=True)
    found = np.array([power(index, posteriors[0]) for index, posteriors in sizes])
    return replace(path, height=height, powers=found)


def _height(reference: Reference) -> float:
    """Return the variance of the latent far from all rows: that of a process as tall everywhere."""
    coordinates = reference.coordinates
    if not isinstance(coordinates, KernelMap) or coordinates.turn is not None:
        return 0.0
    tall = np.asarray(coordinates.kernel.diag(coordinates.rows), dtype=np.float64)
    top = float(tall.max(initial=0.0))
    return reference.unseen * top if (tall == top).all() else 0.0
