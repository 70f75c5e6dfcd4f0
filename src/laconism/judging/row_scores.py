"""Scores of single rows: the log density of each left-out row under a candidate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.metadata_routing import get_routing_for_object

from .._protocols import Array

# The log density of one row is bounded below, so that a class missing from a fold's training rows, or an
# outlier, costs a finite number of nats.
MIN_LOG_DENSITY_NATS = -700.0
# Candidate variance factors, the largest first, half an octave apart. Factors above two would rest on
# few rows only; the smallest is nearly zero.
VARIANCE_FACTORS = 2.0 ** (np.arange(2, -27, -1) / 2)
# The only factor if variances are not calibrated.
UNIT_FACTOR = np.ones(1)


class RowScores(NamedTuple):
    """Log densities of rows that a model was not fitted to."""

    log_p: Array  # one row for each variance factor
    weight: Array

    def scores(self) -> Array:
        """Return the mean log density under each factor."""
        return np.average(self.log_p, axis=1, weights=self.weight)


ScoreRows = Callable[[Any, Any, Any, Array], RowScores]


class Scoring(NamedTuple):
    """How candidates are scored."""

    score: ScoreRows  # of a fitted model, X, y and weights
    factors: Array  # variance factors to choose from
    by_rows: bool = True  # whether rows have separate scores


def score_labels(model: Any, X: Any, y: Any, weight: Array) -> RowScores:
    """Return a classifier's log probabilities of the labels under every variance factor."""
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
    """A scorer of scikit-learn, with one score for all rows of a fold. A class can be pickled."""

    def __init__(self, scorer: Any) -> None:
        self.scorer = scorer

    def __call__(self, model: Any, X: Any, y: Any, weight: Array) -> RowScores:
        """Return the score as that of one row: folds count alike, as in ``GridSearchCV``.

        A scorer that requests ``sample_weight`` gets the weights of the rows.
        """
        asked = get_routing_for_object(self.scorer).consumes("score", {"sample_weight"})
        score = self.scorer(model, X, y, **dict.fromkeys(asked, weight))
        return RowScores(np.array([[float(score)]]), np.ones(1))
