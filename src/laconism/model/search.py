"""The base of all searches: validation, scoring, the choice among trials, and publishing."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._component import is_jobs, is_switch
from .._protocols import Array
from ..judging.row_scores import (
    UNIT_FACTOR,
    VARIANCE_FACTORS,
    ScorerAdapter,
    Scoring,
    score_labels,
    score_values,
)
from ..judging.trials import Data, Trial
from .tasks import as_targets
from .validation import ROWS, all_or_nothing, check_one_kind, entries_once, naming_columns


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
            Weights of the rows, in the fits and in the default score.
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
        numeric = {} if self._classifies else {"y_numeric": True}
        with naming_columns(X, y, not self._classifies):
            rows, targets = validate_data(self, X, y, **ROWS, **numeric)
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

    def _publish_search(
        self, params: list[dict[str, Any]], found: list[list[Trial]], best: int, winner: Winner
    ) -> None:
        """Publish the trials of each candidate, the best of them and the model refitted to all rows."""
        self.cv_results_ = as_results(params, found, self._size_name)
        self.n_splits_ = len(found[0])
        self.best_index_ = best
        self.best_params_ = params[best]
        self.best_score_ = float(self.cv_results_["mean_test_score"][best])
        self.best_estimator_ = winner.model
        self.refit_time_ = winner.seconds
        self.n_iter_ = winner.model.n_iter_
        if self._classifies:
            self.classes_ = winner.model.classes_
            self.variance_factor_ = found[best][0].factor
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
        kernel = getattr(self, "kernel", None)
        tags.input_tags.pairwise = isinstance(kernel, str) and kernel == "precomputed"
        return tags


class ClassifierSearch:
    """Scoring and predictions of a search over classifiers."""

    _chosen: Any
    _classifies = True
    _default_scoring = Scoring(score_labels, VARIANCE_FACTORS)

    def predict_proba(self, X: Any) -> Array:
        """Return the chosen model's probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._chosen.predict_proba(X)  # type: ignore[no-any-return]

    def predict_log_proba(self, X: Any) -> Array:
        """Return the chosen model's log probabilities of the classes, exact in the tails.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._chosen.predict_log_proba(X)  # type: ignore[no-any-return]

    def decision_function(self, X: Any) -> Array:
        """Return the chosen model's moderated latent.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) for more than two classes
        """
        return self._chosen.decision_function(X)  # type: ignore[no-any-return]


class RegressorSearch:
    """Scoring and predictions of a search over regressors."""

    _chosen: Any
    _classifies = False
    _default_scoring = Scoring(score_values, UNIT_FACTOR)

    def predict_dist(self, X: Any) -> tuple[Array, Array]:
        """Return the chosen model's mean and standard deviation of a new observation at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        mean, std : ndarrays of shape (n_samples,)
        """
        return self._chosen.predict_dist(X)  # type: ignore[no-any-return]

    def predict_interval(self, X: Any, coverage: float = 0.95) -> tuple[Array, Array]:
        """Return the chosen model's predictive interval of a new observation at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.95
            The probability with which the observation is inside, between 0 and 1.

        Returns
        -------
        low, high : ndarrays of shape (n_samples,)
        """
        return self._chosen.predict_interval(X, coverage)  # type: ignore[no-any-return]

    def log_density(self, X: Any, y: Any) -> Array:
        """Return the chosen model's predictive log density of an observation at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            The observations.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._chosen.log_density(X, y)  # type: ignore[no-any-return]


def choose(
    found: list[list[Trial]],
    *,
    handicap: Array | float = 0.0,
    tolerance: float = 0.0,
    one_standard_error: bool = False,
) -> int:
    """Return the smallest candidate that is as good as the best one.

    Parameters
    ----------
    found : list of lists of Trial
        The trials of each candidate, one for each fold.
    handicap : ndarray or float, default=0.0
        Nats per row that are subtracted from the score of each candidate.
    tolerance : float, default=0.0
        Nats per row by which a smaller candidate may be worse than the best.
    one_standard_error : bool, default=False
        Whether the tolerance is one standard error of the best candidate's score instead.
    """
    scores = np.array([[trial.score for trial in folds] for folds in found])
    kept = mean_of_tried(np.array([[trial.kept for trial in folds] for folds in found]))
    mean = np.where(np.isnan(scores).any(axis=1), -np.inf, scores.mean(axis=1)) - handicap
    best = int(np.argmax(mean))
    if one_standard_error and scores.shape[1] > 1:
        tolerance = scores[best].std(ddof=1) / np.sqrt(scores.shape[1])
    if not tolerance:
        return best
    good = mean >= mean[best] - tolerance
    return int(np.lexsort((-mean, np.where(good, kept, np.inf)))[0])


def refit(model: Any, X: Any, y: Any, sample_weight: Any) -> Winner:
    """Return a model fitted to all rows, and the seconds it took."""
    began = time.perf_counter()
    model.fit(X, y, sample_weight=sample_weight)
    return Winner(model, time.perf_counter() - began)


def as_results(params: list[dict[str, Any]], found: list[list[Trial]], size_name: str) -> dict[str, Any]:
    """Return the trials in the layout of scikit-learn's ``GridSearchCV``.

    A candidate that was not tried on all folds has no mean score.
    """
    table = np.array([[list(trial) for trial in folds] for folds in found])
    scores, kept, fit, score, _ = np.moveaxis(table, 2, 0)
    results: dict[str, Any] = {}
    for name, values in (("fit_time", fit), ("score_time", score)):
        mean = results[f"mean_{name}"] = mean_of_tried(values)
        results[f"std_{name}"] = np.sqrt(mean_of_tried((values - mean[:, None]) ** 2))
    for name in params[0]:
        values = [each[name] for each in params]
        column = np.ma.MaskedArray(np.empty(len(values), dtype=object), mask=False)
        column[:] = values
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
    tried = ~np.isnan(values)
    total = np.where(tried, values, 0.0).sum(axis=1)
    return np.asarray(np.where(tried.any(axis=1), total, np.nan) / np.maximum(tried.sum(axis=1), 1))
