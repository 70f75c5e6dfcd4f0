"""Which rows are equal, and a key to sort them by that does not depend on their order."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._protocols import Array, Index
from ..linalg import is_sparse


def row_key(X: Any) -> Array:
    """Return one number for each row, the same for equal rows: a projection on a fixed random direction.

    Sorting by it gives a canonical order of the rows.
    """
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    # Not a matrix product of BLAS, which may round equal rows differently.
    return np.asarray(X @ direction if is_sparse(X) else np.einsum("ij,j->i", X, direction))


def distinct_rows(X: Any) -> tuple[Index, Index]:
    """Return the index of the first row of each set of equal rows, and the set of every row.

    The rows themselves are compared only where two of their keys, see :func:`row_key`, are equal, so
    that a million distinct rows cost one sort.
    """
    every = np.arange(X.shape[0])
    _, first, group = np.unique(row_key(X), return_index=True, return_inverse=True)
    repeats = np.flatnonzero(first[group] != every)
    if not repeats.size:
        return every, every
    differ: Any = X[repeats] != X[first[group[repeats]]]
    if is_sparse(X):
        if differ.nnz:
            return every, every
    elif differ.any():  # different rows with equal keys: compare complete rows
        _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return np.sort(first), rank[group.ravel()]
