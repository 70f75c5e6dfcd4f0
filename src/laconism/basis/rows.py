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

    Rows are sorted by :func:`row_key`; the rows themselves are compared only where two keys are equal,
    so that a million distinct rows cost one sort.
    """
    n, key = X.shape[0], row_key(X)
    order = np.argsort(key, kind="stable")
    same = key[order[1:]] == key[order[:-1]]
    meets = np.flatnonzero(same)
    if not meets.size:
        return np.arange(n), np.arange(n)
    if is_sparse(X):
        if (X[order[meets]] != X[order[meets + 1]]).nnz:
            return np.arange(n), np.arange(n)
    elif not (X[order[meets]] == X[order[meets + 1]]).all():
        # Different rows with equal keys: compare complete rows.
        _, first, inverse = np.unique(X, axis=0, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))
        return np.sort(first), rank[inverse.ravel()]
    # The sort is stable: the first of equal rows comes first.
    source = np.sort(order[np.concatenate([[True], ~same])])
    group = np.empty(n, dtype=np.intp)
    group[order] = np.concatenate([[0], np.cumsum(~same)])
    place = np.empty(source.size, dtype=np.intp)
    place[group[source]] = np.arange(source.size)
    return source, place[group]
