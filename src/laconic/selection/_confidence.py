"""How sure of itself a candidate may be: rows left out tell what its variances are worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._protocols import Array, Index

# A class that the training rows of a fold lack, or a value beyond all doubt, costs no more than this
# many nats.
WORST = -700.0
# Factors of the variances that are tried, the largest first: half an octave apart, down to where the
# mode itself is believed. Beyond two it is a few rows that ask for more, and others do not agree.
_FACTORS = 2.0 ** (np.arange(2, -27, -1) / 2)
# How far from one a factor usually is, in logarithms.
_USUAL = 1.0


class Said(NamedTuple):
    """What a classifier says of rows that it was not shown, their variances open."""

    model: Any
    m: Array
    v: Array
    column: Index  # of the row's class among the model's
    known: Any  # whether the model has that class
    weight: Array

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, weight: Array) -> Said:
        """Return what a model says of labelled rows."""
        column, known = np.searchsorted(model.classes_, y), np.isin(y, model.classes_)
        m, v = model._latents(X)
        return cls(model, m, v, np.where(known, column, 0), known, weight)

    def score(self, factor: float = 1.0) -> float:
        """Return the mean log probability of the labels, the variances multiplied by a number."""
        log_p = self.model._log_proba_of(self.m, factor * self.v)
        picked = np.maximum(log_p[np.arange(self.column.size), self.column], WORST)
        return float(np.average(np.where(self.known, picked, WORST), weights=self.weight))


class Judge(NamedTuple):
    """How candidates are scored: what is kept of a fold, and what all folds together make of it."""

    hear: Callable[[Any, Any, Any, Array], Any]
    settle: Callable[[Sequence[Any]], tuple[float, list[float]]]


def as_they_are(scores: Sequence[float]) -> tuple[float, list[float]]:
    """Return scores of models that are taken as they are."""
    return 1.0, list(scores)


def as_sure_as_they_may_be(folds: Sequence[Said]) -> tuple[float, list[float]]:
    r"""Return the factor of the variances under which all folds are predicted best, and their scores.

    Where classes are nearly separable Laplace's variances grow with the scale and the mode does not:
    dense models are right and do not dare to say so. Those of sparse models, which leave out the doubt
    about what was chosen, are too small. So the log-loss of models as they are prefers sparse ones,
    whatever their errors. One number for a candidate, :math:`\log c \sim \mathcal N(0, 1)` and at most
    2, makes it as sure as the rows left out allow; the labels it prefers stay the same.
    """
    rows = np.array([said.weight.sum() for said in folds])
    scores = np.array([[said.score(factor) for said in folds] for factor in _FACTORS])
    best = int(np.argmax(scores @ rows - 0.5 * (np.log(_FACTORS) / _USUAL) ** 2))
    return float(_FACTORS[best]), scores[best].tolist()
