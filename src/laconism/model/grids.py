"""Samples that are tables or tensors: unfold them into rows, and check their shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse


def unfold(X: Any) -> tuple[Any, tuple[int, ...] | None]:
    """Return samples as rows, and the shape of each if it had more than one dimension."""
    sparse: bool = issparse(X)
    if sparse or hasattr(X, "columns"):  # a data frame keeps its names
        return X, None
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError("X is ragged: every sample needs the same shape.") from error
    if array.ndim <= 2:
        return X, None
    if array.size == 0:
        raise ValueError(f"X has shape {array.shape}: there is nothing in it.")
    return array.reshape(array.shape[0], -1), array.shape[1:]


def unfold_like(X: Any, sample_shape: tuple[int, ...] | None, n_features: int) -> Any:
    """Return new samples as rows, or raise if they are tables of another shape than the fitted ones."""
    rows, shape = unfold(X)
    if shape is None or shape == sample_shape:
        return rows
    fitted = (
        f"rows of {n_features} features" if sample_shape is None else f"samples of shape {sample_shape}"
    )
    raise ValueError(f"Each sample of X has shape {shape}, but the model was fitted on {fitted}.")
