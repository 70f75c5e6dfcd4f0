"""Pivoted Cholesky factorisation: a kernel matrix from the few rows that span it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike

from .._protocols import Array, Index
from ..linalg import pivoted_triangle


def pivoted_cholesky(
    rows: Callable[[Index, Index | None], Array],
    diagonal: Array,
    *,
    tol: float,
    max_rank: int,
    dtype: DTypeLike = np.float64,
    block: int = 48,
    redundant: float = 1e-4,
) -> tuple[Array, Index, float]:
    r"""Factor a positive semi-definite matrix as :math:`K \approx G^T G` without forming it.

    Pivots are chosen in blocks, so that most of the work is matrix products: the largest element of the
    residual's diagonal, and others spread in proportion to it. Within a block, pivots whose residual is
    below the fraction ``redundant`` of the largest are skipped, and their rows not evaluated.
    ``rows(index, columns)`` returns entries of ``K``. Returned are ``G``, the pivots, and what is left
    of the diagonal, as a fraction of its largest element: at most ``tol``, unless ``max_rank`` ends it.
    """
    # The square of a smaller diagonal element would underflow.
    rest = np.where(diagonal > np.sqrt(np.finfo(float).tiny), diagonal, 0.0).astype(np.float64)
    n, largest = rest.size, float(rest.max(initial=0.0))
    G, pivots = np.empty((0, n), dtype=dtype), np.zeros(0, dtype=np.intp)
    while pivots.size < min(max_rank, n) and rest.max(initial=0.0) > tol * largest:
        worth = np.where(rest > tol * largest, rest, 0.0)
        chosen = spread(worth, min(block, max_rank - pivots.size))
        known = G[:, chosen]
        small = rows(chosen, chosen) - known.T @ known
        order, root = pivoted_triangle(small, max(tol * largest, redundant * rest.max()))
        chosen = chosen[order]
        # A product with the inverse of the small factor keeps the memory order of the rows.
        inverse = root.solve(np.eye(order.size))
        new = inverse @ (rows(chosen, None) - known[:, order].T @ G)
        G = np.concatenate([G, new.astype(dtype, copy=False)])
        rest = np.maximum(rest - np.einsum("ij,ij->j", new, new), 0.0)
        rest[chosen] = 0.0
        pivots = np.append(pivots, chosen)
    left = float(rest.max(initial=0.0)) / largest if largest > 0 else 0.0
    return G, pivots, left


def spread(rest: Array, size: int) -> Index:
    """Return the index of the largest element and others at even steps of the running total.

    The rows of the largest elements alone would be nearly equal.
    """
    total = np.cumsum(rest)
    steps = (np.arange(size - 1) + 0.5) / max(size - 1, 1) * total[-1]
    others = np.minimum(np.searchsorted(total, steps), rest.size - 1)
    return np.unique(np.append(others, np.argmax(rest)))
