"""Rows that are written several times, to the letter or nearly so, as one row that counts for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import issparse
from scipy.spatial.distance import squareform

from .._protocols import Array, Index
from ..basis.rows import distinct_rows
from ..kernels._pairwise import squared_distances

# Rows among which near copies are looked for: the distances of all pairs are needed.
_MOST_ROWS = 2400
# Bunches are further from each other than their rows by this factor: no more links of the spanning tree
# lie in between than this part of those on either side. Of rows that are spread out smoothly more do.
_APART, _BETWEEN = 2.5, 0.25
# The fewest bunches, so that chance does not make a gap; and the least part of the links within bunches,
# and between them. Of few large bunches new rows are likely to come from the same ones.
_FEWEST, _WITHIN, _BEYOND = 30, 0.2, 0.15
# The part of the bunches that may be of several classes.
_MIXED = 0.1


class Rows(NamedTuple):
    """Different rows, the place of each among all, what they count and their targets."""

    kept: Index
    X: Any
    weight: Array
    targets: Sequence[Array]
    copies: Index  # which of them each of all rows is


def merge_duplicates(X: Any, weight: Array, targets: Sequence[Array]) -> Rows:
    """Return rows that are alike, targets too, as one with their weights added.

    Whatever looks at some of the rows, or puts them into halves, then sees a repeated row as it sees a
    weight.
    """
    first, copies = distinct_rows(X)
    if first.size == copies.size:
        return Rows(first, X, weight, targets, copies)
    first, copies = distinct_rows(np.column_stack([copies, *targets]))
    return _merged(X, weight, targets, first, copies)


def merge_near_duplicates(X: Any, weight: Array, targets: Sequence[Array]) -> Rows:
    """Return rows that are nearly alike, and of one class, as one of them with their weights added.

    Rows that were written, or measured, several times with small differences tell each other's class
    when one of them is left out, as copies do. Labels cannot tell that from a function that varies as
    quickly, but the rows can: they are bunched.
    """
    if not issparse(X) and weight.size <= _MOST_ROWS:
        apart = _distances(X)
        copies = _clusters(apart, targets)
        if copies is not None:
            return _merged(X, weight, targets, _medoids(apart, copies), copies)
    every = np.arange(weight.size)
    return Rows(every, X, weight, targets, every)


def duplicate_groups(X: Any, targets: Sequence[Array]) -> Index:
    """Return for each row the set of copies that it is in, near ones included.

    Where rows that are alike disagree each is a set of its own: they are few possible rows, each seen
    many times, and one tells nothing of the next that would not be known anyway.
    """
    exact = merge_duplicates(X, np.ones(X.shape[0]), targets)
    if distinct_rows(exact.X)[0].size < exact.kept.size:
        return np.arange(X.shape[0])
    near = merge_near_duplicates(exact.X, exact.weight, exact.targets)
    return np.asarray(near.copies[exact.copies])


def _distances(X: Any) -> Array:
    """Return the distances between all rows, in deviations of the features."""
    Z = np.asarray(X, dtype=np.float64) - np.mean(X, axis=0, dtype=np.float64)
    deviation = Z.std(axis=0)
    Z /= np.where(deviation > 0, deviation, 1.0)
    return np.asarray(np.sqrt(squared_distances(Z, Z)))


def _clusters(apart: Array, targets: Sequence[Array]) -> Index | None:
    """Return the bunch of each row, those of one target; nothing if rows are not bunched."""
    if len(apart) < _FEWEST:
        return None
    links = linkage(squareform(apart, checks=False), "single")
    gap = _gap(links[:, 2])
    if gap is None:
        return None
    bunch = fcluster(links, gap, "distance")
    _, copies = distinct_rows(np.column_stack([bunch, *targets]))
    sizes = np.bincount(bunch)
    kinds = np.bincount(bunch[np.unique(copies, return_index=True)[1]], minlength=sizes.size)
    if (kinds[sizes > 1] > 1).mean() > _MIXED:  # then they are no copies: each row tells something
        return None
    # A chain of rows, each close to the next, is long and no bunch.
    far = apart[np.arange(copies.size), _medoids(apart, copies)[copies]]
    return copies if far.max() <= _APART * gap else None


def _gap(lengths: Array) -> float | None:
    """Return the longest link below the clearest gap in the lengths of the links, if there is one."""
    n = lengths.size
    within = np.arange(1, n + 1)
    beyond = n - within
    between = np.searchsorted(lengths, _APART * lengths, side="right") - within
    share = between / np.maximum(np.minimum(within, beyond), 1)
    share[(within < _WITHIN * n) | (beyond < max(_BEYOND * n, _FEWEST))] = np.inf
    clearest = int(np.argmin(share))
    return float(lengths[clearest]) if share[clearest] <= _BETWEEN else None


def _medoids(apart: Array, copies: Index) -> Index:
    """Return the row in the middle of each bunch, whatever the order of the rows."""
    inside = np.where(copies[:, None] == copies, apart, 0.0).sum(axis=1)
    order = np.lexsort((inside, copies))
    return np.asarray(order[np.unique(copies[order], return_index=True)[1]])


def _merged(X: Any, weight: Array, targets: Sequence[Array], first: Index, copies: Index) -> Rows:
    """Return the first of each set of copies with the weights of all."""
    together = np.bincount(copies, weight).astype(weight.dtype)
    return Rows(first, X[first], together, [y[first] for y in targets], copies)
