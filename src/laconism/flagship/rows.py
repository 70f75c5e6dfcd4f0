"""The rows of a fit: duplicates merged, some of them searched, and the problems on their features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._protocols import Array, Design, Index
from ..basis.rows import distinct_rows
from ..judging.ablate import is_on
from ..judging.duplicates import merge_duplicates, merge_near_duplicates
from ..judging.rows import canonical_order, evenly_spaced
from ..likelihoods import Binary, Likelihood
from ..priors import Jeffreys
from ..solvers import Problem

if TYPE_CHECKING:
    from ..model.tasks import FitData
    from .tasks import ProjectionTask

# Candidates are compared on at most this many rows: fewer of labels, which take longer.
MAX_SEARCHED_VALUES = 1_000
MAX_SEARCHED_LABELS = 600
# The winner's hyper-parameters are refined on this many times as many rows.
_REFINEMENT_FACTOR = 4


@dataclass(frozen=True)
class TrainingRows:
    """Distinct rows with their weights, the targets of each output and their distribution."""

    X: Any
    weight: Array
    targets: Sequence[Array]
    likelihood: Likelihood
    task: ProjectionTask
    intercept: bool
    leave_whole_rows: bool  # see leaves_whole_rows

    @classmethod
    def of(cls, data: FitData, task: ProjectionTask, *, intercept: bool) -> tuple[Self, Index]:
        """Merge duplicates and near duplicates that agree in their targets, and sort the rows.

        Their indices are returned too. The order does not depend on the order in which rows and columns
        are given, so no result does.
        """
        kept = np.arange(data.X.shape[0])
        X, weight, targets = data.X.astype(np.float64, copy=False), data.weight, data.targets
        merges = (merge_duplicates, merge_near_duplicates)
        for merge in merges if is_on("near_duplicates") else merges[:1]:
            first, X, weight, targets, _ = merge(X, weight, targets)
            kept = kept[first]
        whole = leaves_whole_rows(X) and is_on("leave_whole_rows")
        if whole:  # duplicates with one target are no more evidence
            weight = weight * min(1.0, weight.size / float(weight.sum()))
        rows = cls(X, weight, targets, data.likelihood, task, intercept, whole)
        order = canonical_order(X, *targets)
        return rows.on(order), kept[order]

    @property
    def total(self) -> float:
        """The sum of the row weights."""
        return float(self.weight.sum())

    @property
    def share(self) -> Array:
        """The row weights, on the scale on which they sum to one."""
        return np.asarray(self.weight / self.weight.sum())

    def on(self, rows: Index) -> Self:
        """Return some of the rows."""
        targets = [y[rows] for y in self.targets]
        return replace(self, X=self.X[rows], weight=self.weight[rows], targets=targets)

    def searched(self) -> Self:
        """Return the rows on which candidates are compared."""
        return self._some(self.max_searched)

    def learnt_on(self) -> Self:
        """Return the rows on which kernels are learnt: half as many of labels."""
        return self._some(self.max_searched // (2 if isinstance(self.likelihood, Binary) else 1))

    def refined(self) -> Self | None:
        """Return the rows on which the winner is refined, if they are many more than those searched."""
        more = self._some(_REFINEMENT_FACTOR * self.max_searched)
        return more if more.weight.size >= 2 * self.max_searched else None

    @property
    def max_searched(self) -> int:
        """The largest number of rows on which candidates are compared."""
        return MAX_SEARCHED_LABELS if isinstance(self.likelihood, Binary) else MAX_SEARCHED_VALUES

    def _some(self, n_rows: int) -> Self:
        """Return at most this many rows."""
        if self.weight.size <= n_rows:
            return self
        return self.on(evenly_spaced(np.arange(self.weight.size), n_rows))

    def problems(self, design: Design) -> list[Problem]:
        """Return the problem of each output on the columns of a design."""
        return [
            Problem(
                design.share(),
                y,
                self.likelihood,
                Jeffreys(),
                self.weight,
                self.intercept,
                leave_whole_rows=self.leave_whole_rows,
            )
            for y in self.targets
        ]


def leaves_whole_rows(X: Any) -> bool:
    """Whether all duplicates of a row are left out with it, so that none of them predicts its target.

    They are not if equal rows have different targets: then there are few distinct rows, each observed
    many times.
    """
    return bool(distinct_rows(X)[0].size == X.shape[0])
