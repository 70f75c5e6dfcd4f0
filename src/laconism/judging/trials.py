"""One candidate on one fold: the rows, the trial and its scores."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .._protocols import Array, Index
from .row_scores import RowScores


class Trial(NamedTuple):
    """Score, size and times of one candidate on one fold; NaN on folds where it was not tried."""

    score: float = math.nan
    kept: float = math.nan
    fit_seconds: float = math.nan
    score_seconds: float = math.nan
    factor: float = 1.0  # variance factor, the same in all folds


class Data(NamedTuple):
    """Rows with their targets and weights."""

    X: Any
    y: Any
    weight: Array

    def rows(self, index: Index) -> Data:
        """Return some of the rows."""
        return Data(self.X[index], self.y[index], self.weight[index])


class Tried(NamedTuple):
    """The result of one candidate on one fold."""

    scores: RowScores
    trial: Trial
    scales: list[float]  # of the prior, one for each output, if they were estimated
