"""How sure of itself a candidate may be: rows left out tell what its variances are worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._protocols import Array

# A class that the training rows of a fold lack, or a value beyond all doubt, costs no more than this
# many nats.
WORST = -700.0
# Factors of the variances that are tried, the largest first: half an octave apart, down to where the
# mode itself is believed. Beyond two it is a few rows that ask for more, and others do not agree.
FACTORS = 2.0 ** (np.arange(2, -27, -1) / 2)
# Models that are taken as they are.
AS_THEY_ARE = np.ones(1)
# How far from one a factor usually is, in logarithms.
_USUAL = 1.0


class RowScores(NamedTuple):
    """How likely a model holds what rows turned out to be that it was not shown."""

    log_p: Array  # a line for each factor of the variances
    weight: Array

    def scores(self) -> Array:
        """Return the mean log probability under each factor."""
        return np.average(self.log_p, axis=1, weights=self.weight)


class Scoring(NamedTuple):
    """How candidates are scored."""

    hear: Callable[[Any, Any, Any, Array], RowScores]
    factors: Array  # of the variances, that may be chosen from
    by_rows: bool = True  # whether what was said is said of each row by itself


def _log_p_of_labels(model: Any, X: Any, y: Any, factors: Array) -> Array:
    """Return a classifier's log probabilities of labels, a line for each factor of its variances."""
    column, known = np.searchsorted(model.classes_, y), np.isin(y, model.classes_)
    (m, v), rows = model._latents(X), np.arange(column.size)
    column = np.where(known, column, 0)
    said = np.array([model._log_proba_of(m, factor * v)[rows, column] for factor in factors])
    return np.where(known, np.maximum(said, WORST), WORST)


def score_labels(model: Any, X: Any, y: Any, weight: Array) -> RowScores:
    """Return what a classifier says of labelled rows, its variances open."""
    return RowScores(_log_p_of_labels(model, X, y, FACTORS), weight)


def best_variance_factor(folds: Sequence[RowScores], factors: Array) -> int:
    r"""Return which factor of the variances it is under which all folds are predicted best.

    Where classes are nearly separable Laplace's variances grow with the scale and the mode does not:
    dense models are right and do not dare to say so. Those of sparse models, which leave out the doubt
    about what was chosen, are too small. So the log-loss of models as they are prefers sparse ones,
    whatever their errors. One number for a candidate, :math:`\log c \sim \mathcal N(0, 1)` and at most
    2, makes it as sure as the rows left out allow; the labels it prefers stay the same.
    """
    total: Array = np.sum([said.log_p @ said.weight for said in folds], axis=0)
    return int(np.argmax(total - 0.5 * (np.log(factors) / _USUAL) ** 2))
