"""A stratified sample of the rows of all partitions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse, vstack

from .._protocols import Array, Index
from ..judging.rows import evenly_spaced
from .describe import Description, Encoding
from .parts import Part, Partitions

# A sample has at least this many rows of each class, or all of them.
_MIN_ROWS_PER_CLASS = 200


class Sample(NamedTuple):
    """Some of the rows, with weights that make up for the fraction of each class that is in it."""

    X: Any
    y: Array
    weight: Array
    part: Index  # the partition of each row
    row: Index  # its number there


def draw_sample(partitions: Partitions, description: Description, n_rows: int) -> Sample:
    """Return at most about this many rows, of each class and partition in proportion.

    Rare classes have more than their proportion. The rows of a class in a partition are evenly spaced.
    """
    counts = description.counts
    whole = np.maximum(np.round(n_rows * counts / counts.sum()), _MIN_ROWS_PER_CLASS)
    wanted = np.minimum(whole, counts).astype(np.int64)
    factor = counts / np.maximum(wanted, 1) * (wanted.sum() / counts.sum())
    shares = _shares(description, wanted)
    encoding = description.encoding
    drawn = partitions.gather("sample", sample_part, encoding, factor, each=shares)
    drawn = [each for each in drawn if each.y.size]
    X = [each.X for each in drawn]
    rows = vstack(X, format="csr") if issparse(X[0]) else np.concatenate(X)
    y, weight, part, row = (np.concatenate([each[i] for each in drawn]) for i in range(1, 5))
    return Sample(rows, y, weight, part, row)


def _shares(description: Description, wanted: Array) -> list[Array]:
    """Return the number of rows of each class that each partition gives; they add up exactly."""
    classes = description.encoding.classes
    counts = np.zeros((len(description.parts), wanted.size))
    for row, part in zip(counts, description.parts, strict=True):
        if classes is None:
            row[0] = part.rows
        else:
            row[np.searchsorted(classes, part.classes)] = part.counts
    seen = np.cumsum(counts, axis=0)
    ends = np.round(seen / np.maximum(seen[-1], 1) * wanted).astype(np.int64)
    return list(np.diff(ends, axis=0, prepend=0))


def sample_part(part: Part, number: int, share: Array, encoding: Encoding, factor: Array) -> Sample:
    """Return the rows that one partition gives, in their order."""
    used = np.flatnonzero(part.weight > 0)
    codes = np.zeros(used.size, dtype=np.intp)
    if encoding.classes is not None:
        codes = np.searchsorted(encoding.classes, part.y[used])
    chosen = [evenly_spaced(used[codes == k], int(n)) if n else used[:0] for k, n in enumerate(share)]
    index = np.sort(np.concatenate(chosen))
    weight = encoding.weights(part)[index]
    code = np.zeros(index.size, dtype=np.intp)
    if encoding.classes is not None:
        code = np.searchsorted(encoding.classes, part.y[index])
    where = np.full(index.size, number)
    return Sample(part.X[index], part.y[index], weight * factor[code], where, index)
