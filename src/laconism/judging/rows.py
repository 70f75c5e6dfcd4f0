"""An order of rows that does not depend on how rows and columns are ordered, nor on units."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._protocols import Array, Index

# Digits in which keys are compared; further digits are rounding, which depends on the order of columns.
_KEY_DIGITS = 9


def canonical_order(X: Any, *targets: Array) -> Index:
    """Return the rows in an order that depends only on the set of rows and the set of columns.

    Rows are sorted by targets, then by their squared distance from the mean of the standardised
    features, then by their projection on the direction in which that distance grows. Targets whose
    sign is changed give the same order.
    """
    return np.lexsort((*row_keys(X), *map(_skewed_up, targets[::-1])))


def _skewed_up(target: Array) -> Array:
    """Return a target with the sign for which its third central moment is not negative."""
    centred = target - target.mean()
    largest = float(np.abs(centred).max(initial=0.0))
    return -target if largest > 0 and ((centred / largest) ** 3).sum() < 0 else target


def row_keys(X: Any) -> tuple[Array, Array]:
    """Return the projection and the distance of each row that :func:`canonical_order` sorts by."""
    sparse: bool = issparse(X)
    centred = X if sparse else X - np.mean(X, axis=0, dtype=np.float64)
    square = centred.multiply(centred).tocsr() if sparse else centred**2
    mean = np.asarray(square.mean(axis=0)).ravel()
    unit = np.where(mean > 0, 1 / np.where(mean > 0, mean, 1.0), 0.0)
    distance = np.asarray(square @ unit)
    projection = np.asarray(centred @ (unit * np.asarray(centred.T @ (distance - distance.mean()))))
    return tuple(_rounded(key) for key in (projection, distance))  # type: ignore[return-value]


def _rounded(key: Array) -> Array:
    """Return the key in units of its largest value, without the digits that are rounding."""
    largest = float(np.abs(key).max(initial=0.0))
    return np.round(key / largest, _KEY_DIGITS) if largest > 0 else key


def evenly_spaced(order: Index, n_rows: int) -> Index:
    """Return at most this many rows at even steps of an order."""
    few = min(order.size, n_rows)
    return np.asarray(order[np.linspace(0, order.size - 1, few).astype(np.intp)])


def canonical_columns(X: Array, columns: Index) -> Index:
    """Return columns sorted by their values: their order does not matter if that of rows does not."""
    kept = X[:, columns]
    return np.asarray(columns[np.lexsort((*kept[::-1], *np.sort(kept, axis=0)[::-1]))])
