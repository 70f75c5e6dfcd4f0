"""The base of all searches: validation, scoring, the rule of the choice, and publishing."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, Self, TypeVar

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import check_scoring
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._component import is_jobs, is_name, is_switch
from .._protocols import Array
from ..judging.compare import Rule, Trial
from ..judging.race import Candidate
from ..judging.row_scores import (
    UNIT_FACTOR,
    VARIANCE_FACTORS,
    ScorerAdapter,
    Scoring,
    score_labels,
    score_values,
)
from ..judging.trials import Data
from .predictions import BinaryPredictions, GaussianPredictions
from .tasks import as_targets
from .validation import ROWS, all_or_nothing, check_one_kind, entries_once, naming_columns

# The best with the fewest columns: a larger one must be better by one standard error.
ONE_STANDARD_ERROR = Rule(errors=1.0)

C = TypeVar("C", bound=Candidate)
P = ParamSpec("P")
R = TypeVar("R")


class Winner(NamedTuple):
    """The chosen model, fitted to all rows."""

    model: Any
    seconds: float


class CVSearch(BaseEstimator):  # type: ignore[misc]
    """Choose among candidates by their trials; subclasses make the candidates and try them."""

    cv: Any
    scoring: Any
    one_standard_error: bool
    race: bool
    n_jobs: int | None
    callbacks: Any
    best_estimator_: Any

    _estimator: Any
    _classifies: bool
    _default_scoring: Scoring  # where ``scoring`` is None
    _size_name: str  # of the sizes in the results

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose a candidate by cross-validation, and refit it on all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, or the square kernel matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels of a classifier, targets of a regressor.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in the fits, in the default score and in a scorer that requests them.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows that are never split between training and test rows, such as all rows of one
            patient. With ``cv`` a number or None the folds are made of whole groups; a splitter of
            scikit-learn gets the groups.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            self._search(X, y, sample_weight, groups)
        return self

    @abstractmethod
    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Make the candidates, try them, choose, refit and publish."""

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> Data:
        """Return rows, targets and weights, or raise."""
        numeric = not self._classifies
        with naming_columns(X, y, numeric):
            rows, targets = validate_data(self, X, y, y_numeric=numeric, **ROWS)
        rows = entries_once(rows)
        if self._classifies:
            check_one_kind(targets)
        else:
            targets = as_targets(targets)
        for name, holds, rule in (
            ("one_standard_error", is_switch(self.one_standard_error), "True or False"),
            ("race", is_switch(self.race), "True or False"),
            ("n_jobs", is_jobs(self.n_jobs), "None or a whole number other than zero"),
        ):
            if not holds:
                raise ValueError(f"{name} must be {rule}, got {getattr(self, name)!r}.")
        weight = _check_sample_weight(sample_weight, rows, dtype=np.float64, copy=True)
        return Data(rows, targets, weight)

    def _template(self, *given: Any) -> Any:
        """Return the estimator with these arguments and the settings that it shares with the search."""
        own, theirs = self.get_params(deep=False), self._estimator._get_param_names()
        shared = set(own) & set(theirs) - {"n_jobs", "callbacks"}
        return clone(self._estimator(*given, **{name: own[name] for name in shared}))

    def _resolve_scoring(self, template: Any) -> Scoring:
        """Return how candidates are scored: by log densities, or by a scorer of scikit-learn."""
        if self.scoring is None:
            return self._default_scoring
        if not (isinstance(self.scoring, str) or callable(self.scoring)):
            raise ValueError(
                f"scoring must be None, the name of one score or a function of a model, X and y, got "
                f"{self.scoring!r}."
            )
        scorer = ScorerAdapter(check_scoring(template, scoring=self.scoring))
        return Scoring(scorer, UNIT_FACTOR, by_rows=False)

    def _rule(self, labels: Rule) -> Rule:
        """Return when a candidate is preferred to one before it, given the rule for labels.

        Of regressions, and by other scores than log probabilities, the best candidate is taken.
        """
        if self.one_standard_error:
            return ONE_STANDARD_ERROR
        return labels if self._classifies and self.scoring is None else Rule()

    def _publish_search(
        self, candidates: Sequence[C], factors: Array, best: C, trials: list[Trial], winner: Winner
    ) -> None:
        """Publish the results of the candidates, the best of them and its model on all rows."""
        self.cv_results_ = as_results(candidates, factors, self._size_name)
        self.candidates_ = trials
        self.n_splits_ = len(best.tried)
        self.best_index_ = candidates.index(best)
        self.best_params_ = best.params
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_estimator_ = winner.model
        self.refit_time_ = winner.seconds
        self.n_iter_ = winner.model.n_iter_
        if self._classifies:
            self.classes_ = winner.model.classes_
            self.variance_factor_ = float(factors[best.factor_index(factors)])
            winner.model._multiply_variances(self.variance_factor_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def predict(self, X: Any) -> Array:
        """Return the predictions of the chosen model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._chosen.predict(X)  # type: ignore[no-any-return]

    @property
    def _chosen(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_name(getattr(self, "kernel", None), "precomputed")
        return tags


def _of_chosen(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Return a method of a search that calls that of the chosen model, whose documentation it has."""

    @wraps(method)
    def call(self: Any, /, *given: P.args, **options: P.kwargs) -> R:
        return getattr(self._chosen, method.__name__)(*given, **options)  # type: ignore[no-any-return]

    return call


class ClassifierSearch:
    """Scoring and predictions of a search over classifiers: those of the chosen model."""

    _chosen: Any
    _classifies = True
    _default_scoring = Scoring(score_labels, VARIANCE_FACTORS)

    predict_proba = _of_chosen(BinaryPredictions.predict_proba)
    predict_log_proba = _of_chosen(BinaryPredictions.predict_log_proba)
    decision_function = _of_chosen(BinaryPredictions.decision_function)


class RegressorSearch:
    """Scoring and predictions of a search over regressors: those of the chosen model."""

    _chosen: Any
    _classifies = False
    _default_scoring = Scoring(score_values, UNIT_FACTOR)

    predict_dist = _of_chosen(GaussianPredictions.predict_dist)
    predict_interval = _of_chosen(GaussianPredictions.predict_interval)
    log_density = _of_chosen(GaussianPredictions.log_density)


def refit(model: Any, X: Any, y: Any, sample_weight: Any) -> Winner:
    """Return a model fitted to all rows, and the seconds it took."""
    began = time.perf_counter()
    model.fit(X, y, sample_weight=sample_weight)
    return Winner(model, time.perf_counter() - began)


def as_results(candidates: Sequence[Candidate], factors: Array, size_name: str) -> dict[str, Any]:
    """Return the results of the candidates in the layout of scikit-learn's ``GridSearchCV``.

    A candidate that was not tried on all folds has no mean score.
    """
    n_folds = max(len(each.tried) for each in candidates)
    table = np.full((4, len(candidates), n_folds), np.nan)
    for row, candidate in enumerate(candidates):
        best = candidate.factor_index(factors)
        for fold, tried in enumerate(candidate.tried):
            score = tried.scores.scores()[best]
            table[:, row, fold] = score, tried.kept, tried.fit_seconds, tried.score_seconds
    scores, kept, fit, score = table
    results: dict[str, Any] = {}
    for name, values in (("fit_time", fit), ("score_time", score)):
        mean = results[f"mean_{name}"] = mean_of_tried(values)
        results[f"std_{name}"] = np.sqrt(mean_of_tried((values - mean[:, None]) ** 2))
    params = [candidate.params for candidate in candidates]
    for name in params[0]:
        column = np.ma.MaskedArray(np.empty(len(params), dtype=object), mask=False)
        column[:] = [each[name] for each in params]
        results[f"param_{name}"] = column
    results["params"] = params
    for split, column in enumerate(scores.T):
        results[f"split{split}_test_score"] = column
    results["mean_test_score"] = scores.mean(axis=1)
    results["std_test_score"] = scores.std(axis=1)
    worst = np.where(np.isnan(results["mean_test_score"]), -np.inf, results["mean_test_score"])
    results["rank_test_score"] = rankdata(-worst, method="min").astype(np.int32)
    results[f"mean_n_{size_name}"] = mean_of_tried(kept)
    return results


def mean_of_tried(values: Array) -> Array:
    """Return the mean over the folds on which each candidate was tried, NaN if it never was."""
    return np.asarray(np.ma.masked_invalid(values).mean(axis=1).filled(np.nan))
