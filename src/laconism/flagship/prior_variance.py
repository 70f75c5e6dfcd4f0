"""Error bars of few kernels where those do not reach: what the prior has and they do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._protocols import Array, Index
from ..design import Built
from ..model.far_variance import PriorResidualVariance, kernel_triangle, relative_residual
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


def prior_residual_variance(path: Path, size: int, basis: Any) -> PriorResidualVariance | None:
    """Return the prior residual variance of the model of a size, if it is to be added there."""
    if path.powers is None or not np.isfinite(path.powers[size]):
        return None
    kept = basis.keep(path.columns[size])
    return PriorResidualVariance.of(kept, path.height, float(path.powers[size]))


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
        e = relative_residual(kernel_triangle(K[np.ix_(at, at)]), Phi[:, at] + centre[at])
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
