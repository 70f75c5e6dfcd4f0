"""What there is to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from .._component import is_positive, require
from ..basis.rows import distinct_rows
from ..priors import GeneralizedGaussian

# Rows whose distances are looked at: quantiles of a hundred thousand pairs are known well enough.
_ROWS = 500
# Widths from a quarter of the lower decile of the distances, which resolves what neighbours tell, to
# twice the upper one, where an RBF is nearly flat; neighbouring widths differ by a factor of about two.
_LOWER, _UPPER, _WIDTHS = 0.25, 2.0, 6


def width_grid(X: Any, n_widths: int = _WIDTHS) -> list[float]:
    """Return values of a kernel's ``gamma = 1 / (2 h**2)`` from the distances between the rows.

    Distances between distinct rows: a row written twice says nothing about widths.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    n_widths : int, default=6
    """
    rows = X[distinct_rows(X)[0]]
    rows = rows[:: max(1, rows.shape[0] // _ROWS)]
    distances = euclidean_distances(rows)[np.triu_indices(rows.shape[0], 1)]
    distances = distances[distances > 0]
    if not distances.size:
        return [1.0]
    low, high = np.quantile(distances, [0.1, 0.9])
    widths = np.geomspace(_LOWER * low, _UPPER * high, n_widths)
    return [float(1 / (2 * h**2)) for h in widths]


def check_values(owner: object, name: str) -> list[Any]:
    """Return a parameter that holds several values as a list, or say what it should have been."""
    value = getattr(owner, name)
    single = isinstance(value, str | int | float)
    values = [value] if single else list(value) if isinstance(value, Sequence | np.ndarray) else []
    require(len(values) > 0, owner, f"{name} must be a value or a sequence of values", value)
    return values


def path_of(shapes: Sequence[float], scales: Sequence[Any]) -> list[GeneralizedGaussian]:
    """Return the priors in the order in which each is a good start of the next: the dense ones first."""
    priors = [GeneralizedGaussian(q, scale) for q in shapes for scale in scales]
    for prior in priors:
        prior.check()
    return sorted(priors, key=lambda prior: (-prior.q, -prior.level if is_positive(prior.scale) else 0))
