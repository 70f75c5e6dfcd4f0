"""Pivoted Cholesky factorisation: a kernel matrix from the few rows that span it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike

from .._protocols import Array, Index
from ..linalg import pivoted_triangle

# Pivots per block: enough for fast matrix products, few enough to update the residual often.
_BLOCK_PIVOTS = 48
# Rows of the factor that are allocated at first; doubled when needed.
_FIRST_RANK = 128
# Within a block, a pivot whose residual falls below this fraction of the largest is skipped.
_REDUNDANT_FRACTION = 1e-4
# A diagonal below this is zero: its square would underflow.
_MIN_DIAGONAL = 1e-150


def pivoted_cholesky(
    rows: Callable[[Index, Index | None], Array],
    diagonal: Array,
    *,
    tol: float,
    max_rank: int,
    dtype: DTypeLike = np.float64,
) -> tuple[Array, Index, float]:
    r"""Factor a positive semi-definite matrix as :math:`K \approx G^T G` without forming it.

    Pivots are chosen where the diagonal of the residual, :math:`K - G^T G`, is large. They are chosen in
    blocks, so that most of the work is matrix products: the largest element, and others spread in
    proportion to the residual. The residual restricted to a block shows which of its pivots are
    redundant; whole rows are evaluated for the others only.

    Parameters
    ----------
    rows : callable
        ``rows(index, columns)`` returns the rows of ``K`` at these indices, of shape (b, n), or their
        entries at the given columns.
    diagonal : ndarray of shape (n,)
    tol : float
        Stop when the residual's diagonal is at most this fraction of the largest element of ``K``.
    max_rank : int
        Stop at this rank in any case.
    dtype : float64 or float32
        Float type of the factor.

    Returns
    -------
    G : ndarray of shape (rank, n)
    pivots : ndarray of shape (rank,)
    left : float
        Largest diagonal element of the residual, as a fraction of the largest element of ``K``.
    """
    rest = np.where(diagonal > _MIN_DIAGONAL, diagonal, 0.0).astype(np.float64)
    n, largest = rest.size, float(rest.max(initial=0.0))
    G = np.empty((min(_FIRST_RANK, max_rank, n), n), dtype=dtype)
    rank, pivots = 0, np.zeros(0, dtype=np.intp)
    while rank < min(max_rank, n) and rest.max(initial=0.0) > tol * largest:
        worth = np.where(rest > tol * largest, rest, 0.0)
        chosen = spread(worth, min(_BLOCK_PIVOTS, max_rank - rank))
        known = G[:rank, chosen]
        small = rows(chosen, chosen) - known.T @ known
        order, root = pivoted_triangle(small, max(tol * largest, _REDUNDANT_FRACTION * rest.max()))
        chosen = chosen[order]
        # A product with the inverse of the small factor keeps the memory order of the rows.
        inverse = root.solve(np.eye(order.size))
        new = inverse @ (rows(chosen, None) - known[:, order].T @ G[:rank])
        if rank + order.size > G.shape[0]:
            grown = np.empty((min(2 * G.shape[0], max_rank, n), n), dtype=dtype)
            grown[:rank] = G[:rank]
            G = grown
        G[rank : rank + order.size] = new
        rest = np.maximum(rest - np.einsum("ij,ij->j", new, new), 0.0)
        rest[chosen] = 0.0
        pivots, rank = np.append(pivots, chosen), rank + order.size
    left = float(rest.max(initial=0.0)) / largest if largest > 0 else 0.0
    return G[:rank], pivots, left


def spread(rest: Array, size: int) -> Index:
    """Return the index of the largest element and others at even steps of the running total.

    The rows of the largest elements alone would be nearly equal.
    """
    total = np.cumsum(rest)
    steps = (np.arange(size - 1) + 0.5) / max(size - 1, 1) * total[-1]
    others = np.minimum(np.searchsorted(total, steps), rest.size - 1)
    return np.unique(np.append(others, np.argmax(rest)))
