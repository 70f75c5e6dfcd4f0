"""One candidate on one fold: the rows, and its result there."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._protocols import Array, Index
from .row_scores import RowScores


class Data(NamedTuple):
    """Rows with their targets and weights."""

    X: Any
    y: Any
    weight: Array

    def rows(self, index: Index) -> Data:
        """Return some of the rows."""
        return Data(self.X[index], self.y[index], self.weight[index])


class FoldResult(NamedTuple):
    """Scores, size and times of one candidate on one fold."""

    scores: RowScores
    kept: float
    fit_seconds: float
    score_seconds: float
    scales: tuple[float, ...] = ()  # of the prior, one for each output, if they were estimated
