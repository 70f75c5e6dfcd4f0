"""Scores of single rows: the log density of each left-out row under a candidate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._protocols import Array

# The log density of one row is bounded below, so that a class missing from a fold's training rows, or an
# outlier, costs a finite number of nats.
MIN_LOG_DENSITY_NATS = -700.0
# Candidate factors of the variances, the largest first, half an octave apart. Factors above two are
# supported by few rows only, and the smallest is next to none.
VARIANCE_FACTORS = 2.0 ** (np.arange(2, -27, -1) / 2)
# The only factor where models are taken as they are.
UNIT_FACTOR = np.ones(1)


class RowScores(NamedTuple):
    """Log densities of rows that a model was not fitted to."""

    log_p: Array  # one row for each factor of the variances
    weight: Array

    def scores(self) -> Array:
        """Return the mean log density under each factor."""
        return np.average(self.log_p, axis=1, weights=self.weight)


ScoreRows = Callable[[Any, Any, Any, Array], RowScores]


class Scoring(NamedTuple):
    """How candidates are scored."""

    score: ScoreRows  # of a fitted model, X, y and weights
    factors: Array  # of the variances, to choose from
    by_rows: bool = True  # whether every row has a score of its own


def score_labels(model: Any, X: Any, y: Any, weight: Array) -> RowScores:
    """Return a classifier's log probabilities of the labels under every factor of its variances."""
    known = np.isin(y, model.classes_)
    column = np.where(known, np.searchsorted(model.classes_, y), 0)
    (m, v), rows = model._latents(X), np.arange(column.size)
    log_p = np.array([model._log_proba_of(m, factor * v)[rows, column] for factor in VARIANCE_FACTORS])
    bounded = np.maximum(log_p, MIN_LOG_DENSITY_NATS)
    return RowScores(np.where(known, bounded, MIN_LOG_DENSITY_NATS), weight)


def score_values(model: Any, X: Any, y: Any, weight: Array) -> RowScores:
    """Return a regressor's log densities of the targets."""
    log_p = np.maximum(model.log_density(X, y), MIN_LOG_DENSITY_NATS)
    return RowScores(log_p[None], weight)


class ScorerAdapter:
    """A scorer of scikit-learn: one score for all rows of a fold; a class, so that it can be pickled."""

    def __init__(self, scorer: Any) -> None:
        self.scorer = scorer

    def __call__(self, model: Any, X: Any, y: Any, weight: Array) -> RowScores:
        """Return the score as if it were that of one row with the weight of all."""
        return RowScores(np.array([[float(self.scorer(model, X, y))]]), np.array([weight.sum()]))
