"""Duplicates and near duplicates: equal rows as one row with the weight of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import squareform

from .._protocols import Array, Index
from ..basis.rows import distinct_rows
from ..kernels._pairwise import squared_distances

# Maximum number of rows for the search of near duplicates, which needs the distances of all pairs.
_MAX_ROWS = 2400
# Smallest ratio of the distances between clusters to those within them.
_GAP_RATIO = 2.5
# Links of the spanning tree inside the gap, as a fraction of those on either side: zero in a clear gap,
# more where rows are spread out smoothly.
_MAX_LINKS_IN_GAP = 0.25
# With fewer clusters a gap may occur by chance.
_MIN_CLUSTERS = 30
# The smallest fraction of links within clusters.
_MIN_LINKS_WITHIN = 0.2
# The smallest fraction of links between clusters: if there are few large clusters, new rows are likely
# to belong to the same ones.
_MIN_LINKS_BETWEEN = 0.15
# The largest fraction of clusters with several targets.
_MAX_MIXED_CLUSTERS = 0.1


class Rows(NamedTuple):
    """Distinct rows with their weights and targets, and the place of each among all rows."""

    kept: Index
    X: Any
    weight: Array
    targets: Sequence[Array]
    copies: Index  # for each of all rows, its distinct row


def merge_duplicates(X: Any, weight: Array, targets: Sequence[Array]) -> Rows:
    """Return rows that are equal in features and targets as one row with the sum of their weights.

    Subsets of the rows then treat a repeated row like a row weight.
    """
    first, copies = distinct_rows(X)
    if first.size == copies.size:
        return Rows(first, X, weight, targets, copies)
    first, copies = distinct_rows(np.column_stack([copies, *targets]))
    return _merged(X, weight, targets, first, copies)


def merge_near_duplicates(X: Any, weight: Array, targets: Sequence[Array]) -> Rows:
    """Return rows that are nearly equal, with one target, as one of them with the sum of their weights.

    Rows measured several times with small differences predict each other when one of them is left out,
    as duplicates do. Labels do not distinguish this from a function that varies quickly, but the
    distances between rows do: they form clusters.
    """
    if not issparse(X) and weight.size <= _MAX_ROWS:
        apart = _distances(X)
        copies = _clusters(apart, targets)
        if copies is not None:
            return _merged(X, weight, targets, _medoids(apart, copies), copies)
    every = np.arange(weight.size)
    return Rows(every, X, weight, targets, every)


def duplicate_groups(X: Any, targets: Sequence[Array]) -> Index:
    """Return for each row the group of duplicates that it is in, near duplicates included.

    Where equal rows have different targets, each row is its own group: the features have few possible
    values, and leaving out duplicates together would leave out the value itself.
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
    """Return the cluster of each row, split by targets; None if the rows form no clusters."""
    if len(apart) < _MIN_CLUSTERS:
        return None
    from scipy.cluster.hierarchy import fcluster, linkage  # late: nothing else needs that package

    links = linkage(squareform(apart, checks=False), "single")
    gap = _gap(links[:, 2])
    if gap is None:
        return None
    cluster = fcluster(links, gap, "distance")
    _, copies = distinct_rows(np.column_stack([cluster, *targets]))
    sizes = np.bincount(cluster)
    kinds = np.bincount(cluster[np.unique(copies, return_index=True)[1]], minlength=sizes.size)
    if (kinds[sizes > 1] > 1).mean() > _MAX_MIXED_CLUSTERS:  # then they are no duplicates
        return None
    # A chain of rows, each close to the next, is no cluster.
    far = apart[np.arange(copies.size), _medoids(apart, copies)[copies]]
    return copies if far.max() <= _GAP_RATIO * gap else None


def _gap(lengths: Array) -> float | None:
    """Return the longest link below the clearest gap in the lengths of the links, if there is one."""
    n = lengths.size
    within = np.arange(1, n + 1)
    beyond = n - within
    between = np.searchsorted(lengths, _GAP_RATIO * lengths, side="right") - within
    share = between / np.maximum(np.minimum(within, beyond), 1)
    too_few = (within < _MIN_LINKS_WITHIN * n) | (beyond < max(_MIN_LINKS_BETWEEN * n, _MIN_CLUSTERS))
    share[too_few] = np.inf
    clearest = int(np.argmin(share))
    return float(lengths[clearest]) if share[clearest] <= _MAX_LINKS_IN_GAP else None


def _medoids(apart: Array, copies: Index) -> Index:
    """Return the medoid of each cluster, independent of the order of the rows."""
    inside = np.where(copies[:, None] == copies, apart, 0.0).sum(axis=1)
    order = np.lexsort((inside, copies))
    return np.asarray(order[np.unique(copies[order], return_index=True)[1]])


def _merged(X: Any, weight: Array, targets: Sequence[Array], first: Index, copies: Index) -> Rows:
    """Return the first of each group of duplicates with the weights of all."""
    together = np.bincount(copies, weight).astype(weight.dtype)
    return Rows(first, X[first], together, [y[first] for y in targets], copies)
