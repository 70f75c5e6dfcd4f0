"""The path: models of every size between no column and the reference, and their losses."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._protocols import Array, Index
from ..likelihoods import Likelihood
from ..model.callbacks import Reporter
from ..model.far_variance import PriorResidualVariance
from ..posterior import GaussianPosterior
from ..solvers import Record
from .reference import Reference
from .wide import FEW_COLUMNS

# Models of many columns grow by this fraction.
_STEP_FRACTION = 0.05
# The loss of a model is the mean over at most this many rows.
MAX_EVALUATION_ROWS = 5_000


def path_sizes(n_columns: int) -> list[int]:
    """Return the sizes of the models on a path: every small one, then at steps of a few percent."""
    sizes = list(range(min(n_columns, FEW_COLUMNS) + 1))
    while sizes[-1] < n_columns:
        sizes.append(min(n_columns, int((1 + _STEP_FRACTION) * sizes[-1]) + 1))
    return sizes


def evaluation_rows(latent: Array, most: int | None = None) -> Index:
    """Return the rows on which models are compared: all, or some at even ranks of the latent."""
    n, most = latent.size, most or MAX_EVALUATION_ROWS
    if n <= most:
        return np.arange(n)
    return np.sort(np.argsort(latent, kind="stable")[np.linspace(0, n - 1, most).astype(np.intp)])


class PathPoint(NamedTuple):
    """A model on the path: its size, and its loss in nats per row."""

    kernels: int
    nats: float
    output: int = 0


@dataclass(frozen=True)
class Path:
    """The models with 0, 1, 2, ... columns, for one output or several that share their columns.

    A *step* is the position of a model on the path. It equals the number of columns, except at the end
    of a long path, where sets grow by more than one column.
    """

    references: list[Reference]  # of each output; empty in a slim model
    likelihoods: list[Likelihood]
    columns: list[Index]
    posteriors: list[list[GaussianPosterior]]  # of each step, one for each output
    nats: Array  # lost per row
    complete: bool = True  # whether it ended for lack of gain, and not at the limit
    weight_variance: float = 0.0  # of the prior, if it is added far from all rows
    variance_powers: Array | None = None  # of each step, see PriorResidualVariance
    selected: int | None = None  # the step that cross-validation selects, of features

    def message(self, step: int, kind: str, tolerance: float, price: float) -> str:
        """Return a message on the loss of a step, and what to do if it exceeds the tolerance."""
        lost, count = self.nats[step], self.columns[step].size
        who = f"{count} {kind} lose" if count != 1 else f"1 {kind.removesuffix('s')} loses"
        text = (
            f"{who} {lost:.2g} nats per observation relative to the reference "
            f"(tolerance {tolerance:.2g})."
        )
        if lost <= tolerance or self.select(tolerance, price) != step:  # a user chose another size
            return text
        if self.selected is not None:
            return text + f" Cross-validation does not clearly prefer more {kind}."
        more = " More would be needed: raise max_kernels or tolerance."
        return text + (f" No larger set of {kind} comes closer." if self.complete else more)

    def up_to(self, step: int) -> Path:
        """Return the path up to a step."""
        end = step + 1
        powers = None if self.variance_powers is None else self.variance_powers[:end]
        return replace(
            self,
            columns=self.columns[:end],
            posteriors=self.posteriors[:end],
            nats=self.nats[:end],
            variance_powers=powers,
            selected=None,
        )

    def largest_within(self, k: int) -> int:
        """Return the step of the largest model of at most this many columns."""
        return max(step for step, index in enumerate(self.columns) if index.size <= k)

    def without_reference(self, used: Index) -> Path:
        """Return the path without its references, with columns numbered among those in use."""
        columns = [np.searchsorted(used, index) for index in self.columns]
        return replace(self, references=[], columns=columns)

    def select(self, tolerance: float, price: float = 0.0) -> int:
        """Return the step of the smallest model within the tolerance, or of the best if none is.

        With a price, columns are added while each gains at least that many nats per row. The step is at
        most the one that cross-validation selects.
        """
        nats = self.nats if self.selected is None else self.nats[: self.selected + 1]
        within = np.flatnonzero(nats <= tolerance)
        first = int(within[0]) if within.size else int(np.argmin(nats))
        sizes = np.array([index.size for index in self.columns[first : nats.size]])
        return first + int(np.argmin(nats[first:] + price * sizes)) if price else first

    def far_variance(self, step: int, basis: Any) -> PriorResidualVariance | None:
        """Return the variance that the model of a step adds far from its kernels, if any."""
        if self.variance_powers is None or not np.isfinite(self.variance_powers[step]):
            return None
        kept = basis.keep(self.columns[step])
        return PriorResidualVariance.of(kept, self.weight_variance, float(self.variance_powers[step]))

    def report(self, report: Reporter, began: float) -> Path:
        """Call the callbacks for every step; return the path up to the step where one of them stops."""
        report.begin()
        for step, lost in enumerate(self.nats):
            kept = self.columns[step].size
            if report(Record(step + 1, -float(lost), kept, time.perf_counter() - began)):
                report.end()
                return self.up_to(step)
        report.end()
        return self
