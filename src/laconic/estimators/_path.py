"""The path from nothing to the reference: a model of every size, and what each loses."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._protocols import Array, Index, Likelihood
from ..posterior import GaussianPosterior
from ..solvers import Record
from ._callbacks import Reporter
from ._reference import Reference


class Point(NamedTuple):
    """A model on the path from nothing to the reference: its size, and the nats it loses a row."""

    kernels: int
    nats: float
    output: int = 0


@dataclass(frozen=True)
class Path:
    """The models of one output, of none of the columns, one, two, ..."""

    reference: Reference | None  # none once it was left behind
    likelihood: Likelihood
    columns: list[Index]
    posteriors: list[GaussianPosterior]
    nats: Array

    def until(self, size: int) -> Path:
        """Return the path up to this size."""
        end = size + 1
        columns, posteriors, nats = self.columns[:end], self.posteriors[:end], self.nats[:end]
        return replace(self, columns=columns, posteriors=posteriors, nats=nats)

    def without_reference(self, used: Index) -> Path:
        """Return the path without its reference, on these columns, which are all that it needs."""
        columns = [np.searchsorted(used, index) for index in self.columns]
        return replace(self, reference=None, columns=columns)

    def smallest(self, tolerance: float) -> int:
        """Return the smallest size that loses no more than this; the best if there is none."""
        good = np.flatnonzero(self.nats <= tolerance)
        return int(good[0]) if good.size else int(np.argmin(self.nats))

    def report(self, report: Reporter, began: float) -> Path:
        """Tell of every size; return the path up to where somebody has heard enough."""
        for size, lost in enumerate(self.nats):
            if report(Record(size + 1, -float(lost), size, time.perf_counter() - began)):
                return self.until(size)
        return self
