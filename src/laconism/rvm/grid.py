"""The grid that the weights of a model lie on, and its columns."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .._component import is_count, unknown
from .._protocols import Array, Basis
from ..basis import Features, PerFeature
from ..basis.rows import distinct_rows
from ..model.tasks import FitData
from ..model.validation import resolve_gamma


def as_grid(grid_shape: Any) -> tuple[int, ...] | None:
    """Return ``grid_shape`` as a tuple, or raise if it is none."""
    if grid_shape is None:
        return None
    sizes = (grid_shape,) if is_count(grid_shape) else grid_shape
    if not (isinstance(sizes, list | tuple) and sizes and all(map(is_count, sizes))):
        raise ValueError(
            f"grid_shape must be None or a tuple of positive whole numbers, got {grid_shape!r}."
        )
    return tuple(int(size) for size in sizes)


def resolve_grid(
    grid_shape: Any, basis: Any, data: FitData
) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Return the grid of the weights, and the shape of a sample if that may be a table; or raise."""
    declared, n_features, given = as_grid(grid_shape), int(data.X.shape[1]), data.sample_shape
    if basis is not None:
        if not isinstance(basis, str) or basis != "per_feature_rbf":
            raise unknown("basis", str(basis), ["per_feature_rbf"])
        if declared is not None or given is not None:
            raise ValueError(
                "basis='per_feature_rbf' makes a grid of features by rows of its own: it needs X of "
                "shape (n_samples, n_features) and grid_shape=None."
            )
        return (n_features, distinct_rows(data.X)[0].size), None
    if declared is not None and (given or declared) != declared:
        raise ValueError(f"grid_shape is {declared}, but each sample of X has shape {given}.")
    if declared is not None and prod(declared) != n_features:
        raise ValueError(
            f"grid_shape={declared} has {prod(declared)} entries, but each sample of X has {n_features}."
        )
    shape = given or declared or (n_features,)
    return shape, shape


def grid_basis(basis: Any, gamma: Any, X: Any, weight: Array) -> Basis:
    """Return the features, or kernels of one feature each."""
    width = resolve_gamma(gamma, X, weight)
    if basis is None:
        return Features(np.arange(X.shape[1]))
    # A named width is that of a single feature.
    return PerFeature.on_rows(width * X.shape[1] if isinstance(gamma, str) else width, X)
