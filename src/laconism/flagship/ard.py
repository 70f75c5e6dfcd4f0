"""Feature weights that maximise the evidence of a Gaussian process (ARD)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._protocols import Array
from ..judging.rows import canonical_columns
from ..linalg import as_dense
from .evidence import LOG_BOUND, EvidenceSearch, maximise, rounded
from .score_grid import GridPoint, precision_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from .evidence import ProcessEvidence
    from .search import HyperparameterSearch

# Rate of the exponential prior of a weight, in units of gamma. It favours widths of about three standard
# deviations of the feature.
_PRIOR_RATE = 16.0
# A weight is between this and its inverse, relative to the mean at the start; near this it is zero.
_MIN_WEIGHT = 1e-4


def evidence_feature_weights(
    search: HyperparameterSearch, evidence: ProcessEvidence, point: GridPoint, start: Array
) -> tuple[Array, Callable[[], Array]]:
    """Return the most probable feature weights, on average one, and a function for their optimism.

    Automatic relevance determination in a Gaussian process, with an exponential prior on the weights.

    ``point`` is the best point of the search, and ``start`` has the weights at which it starts.
    """
    family: Any = search.features.family
    gamma, varies = family.gamma_at(point[0]), family.unit > 0
    rows = as_dense(search.rows.X)
    sort = canonical_columns(rows, np.flatnonzero(varies))
    X, unit = np.ascontiguousarray(rows[:, sort]), family.unit[sort]
    few = family.on_features(sort)
    first = np.append(np.log(np.maximum(start[sort], _MIN_WEIGHT)), -np.log(precision_at(point)))

    def matrix(at: Array) -> Array:
        kernel: Any = few.kernel_at(point[0], np.exp(at[:-1]))
        return np.asarray(np.exp(at[-1]) * kernel(X, X), dtype=np.float64)

    def loss(at: Array) -> tuple[float, Array]:
        theta, ratio = np.exp(at[:-1]), float(np.exp(at[-1]))
        kernel: Any = few.kernel_at(point[0], theta)
        K = matrix(at)
        value, W = evidence.at(K)
        slopes = theta * (kernel.gradient(X, X, ratio * W) / unit - _PRIOR_RATE * gamma)
        return _PRIOR_RATE * gamma * theta.sum() - value, -np.append(slopes, np.vdot(W, K))

    ends = [(np.log(_MIN_WEIGHT), -np.log(_MIN_WEIGHT))] * sort.size
    end, _ = maximise(loss, first, [*ends, (-LOG_BOUND, LOG_BOUND)])
    theta, found = np.zeros(varies.size), end[:-1]
    theta[sort] = np.where(found > np.log(2 * _MIN_WEIGHT), np.exp(rounded(found)), 0.0)
    optimism = partial(EvidenceSearch(evidence, matrix, loss).optimism, end)
    return np.asarray(theta / theta[varies].mean()) if theta.any() else start, optimism
