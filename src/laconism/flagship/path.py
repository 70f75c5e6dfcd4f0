"""The path from nothing to the reference: a model of every size, and what each loses."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from .._protocols import Array, Index, Likelihood
from ..design import Built
from ..model.callbacks import Reporter
from ..posterior import GaussianPosterior
from ..solvers import Record
from .hyperparameters import Choice
from .kernel_family import KernelFamily
from .reference import Reference

# Nats a row that may be lost if nobody says otherwise, and those that win another kernel its place:
# where each takes little away the path would be long, and where it takes much away it soon ends.
_FEATURES_LOSE, _KERNELS_LOSE, _KERNEL_WINS = 0.002, 0.004, 0.0002

# Columns that may be kept if nobody says otherwise: the first number, more with so many rows for each,
# and no more than the last, which is there from the beginning for outputs that share their columns.
_MOST, _ROWS_EACH, _NO_MORE = 64, 30, 200
# Rows by which the models of a path are judged; of more than that so many.
_JUDGES = 5_000


def default_tolerance(tolerance: float | None, features: bool) -> tuple[float, float]:
    """Return the nats that may be lost, and those that a column beyond that has to win."""
    if tolerance is not None:
        return tolerance, 0.0
    if features:
        return _FEATURES_LOSE, 0.0
    return _KERNELS_LOSE, _KERNEL_WINS


def default_max_columns(n_rows: int, n_outputs: int) -> int:
    """Return how many columns may be kept."""
    return _NO_MORE if n_outputs > 1 else min(max(_MOST, n_rows // _ROWS_EACH), _NO_MORE)


def evaluation_rows(latent: Array, most: int | None = None) -> Index:
    """Return the rows that judge: all, or many at even steps from the lowest latent to the highest."""
    n, most = latent.size, most or _JUDGES
    if n <= most:
        return np.arange(n)
    return np.sort(np.argsort(latent, kind="stable")[np.linspace(0, n - 1, most).astype(np.intp)])


class Point(NamedTuple):
    """A model on the path from nothing to the reference: its size, and the nats it loses a row."""

    kernels: int
    nats: float
    output: int = 0


@dataclass(frozen=True)
class Path:
    """The models of none of the columns, one, two, ..., for one output or several that share them."""

    references: list[Reference]  # of each output; none once they were left behind
    likelihoods: list[Likelihood]
    columns: list[Index]
    posteriors: list[list[GaussianPosterior]]  # of each size, one for each output
    nats: Array
    whole: bool = True  # whether it ended by itself, and not because no more columns were allowed
    height: float = 0.0  # of the prior where no kernel reaches, if that is known, and
    powers: Array | None = None  # how it is come to from each size (Beyond)
    # Of many features for few rows: mean and variance of the latents of rows left out under the model of
    # the largest size that was reached one by one and under those beyond; the place that they ask for.
    left: list[tuple[Array, Array]] = field(default_factory=list)
    taken: int | None = None

    def message(self, size: int, kind: str, tolerance: float, price: float) -> str:
        """Return what the model at a place loses in words, and what to do if that is too much."""
        lost, count = self.nats[size], self.columns[size].size
        who = f"{count} {kind} lose" if count != 1 else f"1 {kind.removesuffix('s')} loses"
        said = (
            f"{who} {lost:.2g} nats per observation of what the reference says "
            f"(tolerance {tolerance:.2g})."
        )
        if lost <= tolerance or self.size(tolerance, price) != size:  # who asked for less knows that
            return said
        if self.taken is not None:
            return said + f" Rows left out do not clearly ask for more {kind}."
        more = " More would be needed: raise max_kernels or tolerance."
        return said + (f" No larger set of {kind} comes closer." if self.whole else more)

    def until(self, size: int) -> Path:
        """Return the path up to this place."""
        end = size + 1
        columns, posteriors, nats = self.columns[:end], self.posteriors[:end], self.nats[:end]
        powers = None if self.powers is None else self.powers[:end]
        return replace(
            self, columns=columns, posteriors=posteriors, nats=nats, powers=powers, left=[], taken=None
        )

    def place(self, k: int) -> int:
        """Return where the largest model of at most so many columns is."""
        return max(place for place, index in enumerate(self.columns) if index.size <= k)

    def taking(self, more: int) -> Path:
        """Return the path with the place that rows left out ask for: so many beyond one by one."""
        last = self.nats.size - 1
        return replace(self, taken=min(last + 1 - len(self.left) + more, last))

    def left_out(self, tolerance: float, price: float) -> tuple[list[Reference], float]:
        """Return what is said of rows left out, by references, and the nats a row that are lost of it.

        Where rows left out were asked for a size, it is what the model of that size says.
        """
        if self.taken is None:
            return self.references, float(self.nats[self.size(tolerance, price)])
        m, v = self.left[self.taken - self.nats.size]
        return [replace(self.references[0], left_m=m, left_v=v)], 0.0

    def without_reference(self, used: Index) -> Path:
        """Return the path without its references, on these columns, which are all that it needs."""
        columns = [np.searchsorted(used, index) for index in self.columns]
        return replace(self, references=[], columns=columns)

    def size(self, tolerance: float, price: float = 0.0) -> int:
        """Return the place of the smallest size that loses no more than this; the best if there is none.

        With a price, what is taken beyond that size is what wins as many nats a row for each column:
        where few columns say nearly everything, one or two more say all of it.
        """
        if self.taken is not None:
            return self.taken
        good = np.flatnonzero(self.nats <= tolerance)
        least = int(good[0]) if good.size else int(np.argmin(self.nats))
        if not price:
            return least
        return least + int(np.argmin(self.nats[least:] + price * np.arange(self.nats.size - least)))

    def report(self, report: Reporter, began: float) -> Path:
        """Tell of every size; return the path up to where somebody has heard enough."""
        report.begin()
        for size, lost in enumerate(self.nats):
            kept = self.columns[size].size
            if report(Record(size + 1, -float(lost), kept, time.perf_counter() - began)):
                report.end()
                return self.until(size)
        report.end()
        return self


@dataclass(frozen=True)
class Answer:
    """What kernels, or features, have to say: which ones, and the paths to their references."""

    kernel: Any  # as a user writes it; None for the features themselves
    family: KernelFamily | None
    choice: Choice
    built: Built
    paths: list[Path]
    tolerance: float
    price: float

    def noting(self, note: str) -> Self:
        """Return the answer with something that a person should know besides."""
        return replace(self, built=self.built._replace(note=self.built.note + note))

    @property
    def references(self) -> list[Reference]:
        """Those of all outputs, sparse ones included that came in."""
        return [reference for path in self.paths for reference in path.references]
