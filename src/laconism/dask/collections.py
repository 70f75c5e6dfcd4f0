"""Partitions of Dask arrays and dataframes: rows, targets and weights side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask import delayed

from ..partitions.parts import Part
from .frames import FrameEncoder


class Collections(NamedTuple):
    """The partitions as delayed values, and how dataframes become matrices."""

    parts: list[Any]
    encoder: FrameEncoder | None


def as_parts(X: Any, y: Any, sample_weight: Any = None) -> Collections:
    """Return the partitions of rows, targets and weights; raise if they do not fit together."""
    if not isinstance(X, da.Array | dd.DataFrame):
        raise TypeError(
            f"X must be a Dask array or dataframe, got {type(X).__name__}; for data in memory use the "
            f"local estimator, or dask.array.from_array(X, chunks=...)."
        )
    encoder = FrameEncoder.of(X) if isinstance(X, dd.DataFrame) else None
    X = _whole_rows(X)
    rows = _delayed(X)
    targets = _delayed(_like(X, y, "y"))
    weights: Sequence[Any] = [None] * len(rows)
    if sample_weight is not None:
        weights = _delayed(_like(X, sample_weight, "sample_weight"))
    for name, other in (("y", targets), ("sample_weight", weights)):
        if len(other) != len(rows):
            raise ValueError(
                f"X has {len(rows)} partitions and {name} has {len(other)}; they must agree. Take both "
                f"from one dataframe, or compute their chunk sizes."
            )
    make = delayed(make_part)
    return Collections(
        [make(*each, encoder) for each in zip(rows, targets, weights, strict=True)], encoder
    )


def _whole_rows(X: Any) -> Any:
    """Return the collection with all features of a row in one partition."""
    if isinstance(X, dd.DataFrame):
        return X
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}.")
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def _like(X: Any, values: Any, name: str) -> Any:
    """Return targets or weights in the partitions of the rows."""
    if isinstance(values, dd.DataFrame):
        if len(values.columns) != 1:
            raise ValueError(f"{name} must have one column, got {len(values.columns)}.")
        values = values[values.columns[0]]
    if isinstance(values, dd.Series):
        return values
    if not isinstance(values, da.Array):
        if isinstance(X, dd.DataFrame) or np.isnan(X.shape[0]):
            raise TypeError(f"{name} must be a Dask collection like X, got {type(values).__name__}.")
        values = da.from_array(np.asarray(values), chunks=X.shape[0])
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got {values.ndim}.")
    known = isinstance(X, da.Array) and not (np.isnan(X.shape[0]) or np.isnan(values.shape[0]))
    if not known:
        return values
    if values.shape[0] != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows and {name} has {values.shape[0]}; they must agree.")
    return values.rechunk((X.chunks[0],))


def _delayed(values: Any) -> list[Any]:
    """Return the partitions of a collection, in order.

    Dataframes are not optimised: rows and targets then share the task that reads them, and Dask does not
    join the partitions of a single column.
    """
    return list(np.ravel(values.to_delayed(optimize_graph=isinstance(values, da.Array))))


def make_part(X: Any, y: Any, weight: Any, encoder: FrameEncoder | None) -> Part:
    """Return one partition as arrays."""
    if encoder is not None:
        X = encoder.encode(X)
    elif hasattr(X, "tocsr"):
        X = X.tocsr()
    else:
        X = np.asarray(X)
    y = np.asarray(y)
    if y.dtype.kind not in "biufUS":
        text = [isinstance(value, str) for value in y]
        y = y.astype(str) if all(text) else y
    weight = np.ones(X.shape[0]) if weight is None else np.asarray(weight, dtype=np.float64)
    return Part(X, y, weight)
