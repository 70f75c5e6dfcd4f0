"""Many rows in memory: a sample to choose on, and partitions for the sums over all of them."""

from __future__ import annotations

import numpy as np

from .._protocols import Index
from ..model.tasks import FitData
from .describe import Description, Encoding, PartDescription
from .parts import LocalPartitions
from .sample import draw_sample
from .start import PartitionedRows


def sample_of(data: FitData, n_rows: int, n_jobs: int | None) -> tuple[FitData, PartitionedRows, Index]:
    """Return a sample of about this many rows, all rows in partitions, and which rows are sampled."""
    y, classes = data.targets[0], None
    if len(data.targets) > 1:
        y, classes = np.stack(data.targets).argmax(axis=0), np.arange(len(data.targets))
    elif set(np.unique(y[: min(y.size, n_rows)])) <= {-1.0, 1.0}:
        classes = np.array([-1.0, 1.0])
    partitions = LocalPartitions(data.X, y, data.weight, n_jobs)
    everything = PartitionedRows(partitions, _describe(partitions, Encoding(classes)))
    sample = draw_sample(partitions, everything.description, n_rows)
    index = partitions.starts[sample.part] + sample.row
    targets = [target[index] for target in data.targets]
    few = data._replace(X=sample.X, weight=sample.weight, targets=targets)
    return few, everything, index


def _describe(partitions: LocalPartitions, encoding: Encoding) -> Description:
    """Return what validated rows hold."""
    none, found = np.zeros(0), []
    classes = encoding.classes
    for X, y, weight in partitions.parts:
        total = float(weight.sum())
        if classes is None:
            found.append(PartDescription(*X.shape, 0, total, none, none, none))
            continue
        codes = np.searchsorted(classes, y)
        counts, sums = (np.bincount(codes, each, classes.size) for each in (None, weight))
        found.append(PartDescription(*X.shape, 0, total, classes, counts, sums))
    rows = [part.rows if classes is None else part.counts for part in found]
    counts = np.atleast_1d(np.sum(rows, axis=0))
    return Description(found, encoding, counts)
