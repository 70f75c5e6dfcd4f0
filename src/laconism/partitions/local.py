"""Many rows in memory: a sample to choose on, and partitions for the sums over all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._protocols import Index
from ..likelihoods import Binary
from ..model.tasks import FitData
from .describe import Description, Encoding, PartDescription
from .parts import LocalPartitions
from .sample import draw_sample
from .start import PartitionedRows


def sample_of(data: FitData, n_rows: int, n_jobs: int | None) -> tuple[FitData, PartitionedRows, Index]:
    """Return a sample of about this many rows, all rows in partitions, and which rows are sampled."""
    y: Any = data.targets[0]
    classes: Any = None
    if len(data.targets) > 1:
        y, classes = np.stack(data.targets).argmax(axis=0), np.arange(len(data.targets))
    elif isinstance(data.likelihood, Binary):
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
    found, classes, none = [], encoding.classes, np.zeros(0)
    for X, y, weight in partitions.parts:
        known: tuple[Any, Any, Any] = (none, np.array([y.size]), none)
        if classes is not None:
            codes = np.searchsorted(classes, y)
            counts, sums = (np.bincount(codes, each, classes.size) for each in (None, weight))
            known = (classes, counts, sums)
        found.append(PartDescription(X.shape[0], X.shape[1], 0, float(weight.sum()), *known))
    return Description(found, encoding, np.sum([part.counts for part in found], axis=0))
