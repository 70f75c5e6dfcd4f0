"""Orders of rows that do not depend on the order in which the rows are given."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._protocols import Array, Index
from ..basis.rows import row_key

# Digits in which distances from the mean are compared; further digits are rounding.
_DISTANCE_DIGITS = 9


def canonical_order(X: Any) -> Index:
    """Return the rows in the order of a projection."""
    return np.argsort(row_key(X), kind="stable")


def evenly_spaced(order: Index, n_rows: int) -> Index:
    """Return at most this many rows at even steps of an order."""
    few = min(order.size, n_rows)
    return np.asarray(order[np.linspace(0, order.size - 1, few).astype(np.intp)])


def order_by_distance(X: Any, codes: Index) -> Index:
    """Return an order of distinct rows that does not depend on the order or units of the columns either.

    Rows are ordered by their distance from the mean, with standardised features; rows at equal
    distance by a projection, and equal rows by their targets.
    """
    sparse: bool = issparse(X)
    centred = X if sparse else X - np.mean(X, axis=0, dtype=np.float64)
    square = centred.multiply(centred).tocsr() if sparse else centred**2
    mean = np.asarray(square.mean(axis=0)).ravel()
    distance = square @ np.where(mean > 0, 1 / np.where(mean > 0, mean, 1.0), 0.0)
    return np.lexsort((codes, row_key(X), np.round(distance, _DISTANCE_DIGITS)))


def groups_by_target(X: Any, y: Array, tolerance: float = 1e-9) -> Index:
    """Return a group number for each row, in the order of targets; equal rows with one target share it.

    Rows are equal if their projections are, up to ``tolerance`` times the largest one.
    """
    key = row_key(X)
    order = np.lexsort((key, y))
    new = (np.diff(y[order]) != 0) | (np.diff(key[order]) > tolerance * (1 + np.abs(key).max()))
    group = np.empty(order.size, dtype=np.intp)
    group[order] = np.append(0, np.cumsum(new))
    return group
