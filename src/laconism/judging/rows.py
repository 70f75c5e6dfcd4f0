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
    features, then by their projection on the direction in which that distance grows, then by those in
    which the square of this projection and the targets grow. Targets whose sign is changed give the same
    order.
    """
    up = [_skewed_up(target) for target in targets[::-1]]
    return np.lexsort((*row_keys(X, *up), *up))


def _skewed_up(target: Array) -> Array:
    """Return a target with the sign for which its third central moment is not negative."""
    centred = target - target.mean()
    largest = float(np.abs(centred).max(initial=0.0))
    return -target if largest > 0 and ((centred / largest) ** 3).sum() < 0 else target


def row_keys(X: Any, *targets: Array) -> tuple[Array, ...]:
    """Return the projections and the distance of each row that :func:`canonical_order` sorts by."""
    sparse: bool = issparse(X)
    centred = X if sparse else X - np.mean(X, axis=0, dtype=np.float64)
    largest = np.asarray(abs(centred).max(axis=0).todense() if sparse else np.abs(centred).max(axis=0))
    shrink = 1 / np.maximum(largest.ravel().astype(np.float64), np.finfo(float).tiny)
    centred = centred.multiply(shrink).tocsr() if sparse else centred * shrink  # squares underflow
    square = centred.multiply(centred).tocsr() if sparse else centred**2
    mean = np.asarray(square.mean(axis=0)).ravel()
    unit = np.where(mean > 0, 1 / np.where(mean > 0, mean, 1.0), 0.0)
    distance = np.asarray(square @ unit)

    def along(key: Array) -> Array:
        """Return the projection on the direction in which a key grows."""
        return _in_units(np.asarray(centred @ (unit * np.asarray(centred.T @ (key - key.mean())))))

    projection = along(distance)
    last = [along(key) for key in (*targets, projection**2)]
    return tuple(np.round(key, _KEY_DIGITS) for key in (*last, projection, _in_units(distance)))


def _in_units(key: Array) -> Array:
    """Return the key in units of its largest value; the last digits are rounding."""
    largest = float(np.abs(key).max(initial=0.0))
    return key / largest if largest > 0 else key


def evenly_spaced(order: Index, n_rows: int) -> Index:
    """Return at most this many rows at even steps of an order."""
    few = min(order.size, n_rows)
    return np.asarray(order[np.linspace(0, order.size - 1, few).astype(np.intp)])


def canonical_columns(X: Array, columns: Index) -> Index:
    """Return columns sorted by their values: their order does not matter if that of rows does not."""
    kept = X[:, columns]
    return np.asarray(columns[np.lexsort((*kept[::-1], *np.sort(kept, axis=0)[::-1]))])
