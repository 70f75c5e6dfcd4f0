"""What all searches share: rows in, trials judged, the best one chosen and offered."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._component import is_jobs, is_switch
from .._protocols import Array
from ..judging.row_scores import AS_THEY_ARE, FACTORS, WORST, RowScores, Scoring, score_labels
from ..judging.trials import Data, Trial
from .tasks import as_targets
from .validation import ROWS, all_or_nothing, check_one_kind, entries_once, naming_columns


class CVSearch(BaseEstimator):  # type: ignore[misc]
    """Choose among candidates by their trials; subclasses say which there are, and try them."""

    cv: Any
    scoring: Any
    one_standard_error: bool
    race: bool
    n_jobs: int | None
    callbacks: Any
    best_estimator_: Any

    _estimator: Any
    _classifies: bool
    _counted: str  # what the fewest of are wanted, as the results name it

    def _log_p(self, model: Any, X: Any, y: Any) -> Array:
        raise NotImplementedError

    def _score_rows(self, model: Any, X: Any, y: Any, weight: Array) -> RowScores:
        return RowScores(self._log_p(model, X, y)[None], weight)

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> float:
        raise NotImplementedError

    def _trust(self, factor: float) -> None:
        """Take in what the variances of the chosen model are to be multiplied by: of values, one."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose, and fit what was chosen on all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, or the square matrix of a kernel that is precomputed.
        y : array-like of shape (n_samples,)
            Labels of a classifier, targets of a regressor.
        sample_weight : array-like of shape (n_samples,), default=None
            Of the rows, in fits and in the log score alike.
        groups : array-like of shape (n_samples,), default=None
            Rows of a group, such as several of one patient, are never on both sides of a fold: a number
            of folds, or None, then is that many of groups, and a splitter of scikit-learn gets them.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            self._trust(self._search(X, y, sample_weight, groups))
        return self

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> Data:
        """Return rows, targets and weights, judged."""
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
        return Data(
            rows, targets, _check_sample_weight(sample_weight, rows, dtype=np.float64, copy=True)
        )

    def _judge(self, template: Any) -> Scoring:
        """Return how candidates are scored: as they are, by their log probabilities or as is asked."""
        if self.scoring is None:
            return Scoring(self._score_rows, AS_THEY_ARE)
        if not (isinstance(self.scoring, str) or callable(self.scoring)):
            raise ValueError(
                f"scoring must be None, the name of one score or a function of a model, X and y, got "
                f"{self.scoring!r}."
            )
        scorer = ScorerAdapter(check_scoring(template, scoring=self.scoring))
        return Scoring(scorer, AS_THEY_ARE, by_rows=False)

    def _choose(
        self,
        params: list[dict[str, Any]],
        found: list[list[Trial]],
        *,
        handicap: Array | float = 0.0,
        allowed: float = 0.0,
    ) -> None:
        """Publish the trials of each candidate, and which is the best."""
        self.cv_results_ = as_results(params, found, self._counted)
        self.n_splits_ = len(found[0])
        self.best_index_ = self._best(found, handicap, allowed)
        self.best_params_ = params[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])

    def _best(self, found: list[list[Trial]], handicap: Array | float, allowed: float) -> int:
        """Return the sparsest candidate that is as good as the best one.

        That is the best by more than its ``handicap``; as good is who is worse by no more than what is
        ``allowed``, or by one standard error where that is asked for.
        """
        scores = np.array([[trial.score for trial in folds] for folds in found])
        kept = mean_of_tried(np.array([[trial.kept for trial in folds] for folds in found]))
        mean = np.where(np.isnan(scores).any(axis=1), -np.inf, scores.mean(axis=1)) - handicap
        best = int(np.argmax(mean))
        if self.one_standard_error and scores.shape[1] > 1:
            allowed = scores[best].std(ddof=1) / np.sqrt(scores.shape[1])
        if not allowed:
            return best
        good = mean >= mean[best] - allowed
        return int(np.lexsort((-mean, np.where(good, kept, np.inf)))[0])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def predict(self, X: Any) -> Array:
        """Return what the chosen model predicts.

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
        return tags


class OffersClasses:
    """What a search over classifiers offers."""

    _chosen: Any
    best_estimator_: Any
    scoring: Any

    def _judge(self, template: Any) -> Scoring:
        """Return how candidates are scored: by the log-loss, each as sure of itself as it may be."""
        if self.scoring is None:
            return Scoring(score_labels, FACTORS)
        return super()._judge(template)  # type: ignore[misc, no-any-return]

    def _trust(self, factor: float) -> None:
        """Publish what the variances of the chosen model are multiplied by, as rows left out ask for."""
        self.variance_factor_, chosen = factor, self.best_estimator_
        self.classes_ = chosen.classes_
        chosen.posteriors_ = [each.times(factor) for each in chosen.posteriors_]

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
        """Return their logarithms, exact in the tails.

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


class OffersValues:
    """What a search over regressors offers."""

    _chosen: Any

    def _log_p(self, model: Any, X: Any, y: Any) -> Array:
        return np.maximum(model.log_density(X, y), WORST)  # type: ignore[no-any-return]

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
        """Return the ends of the interval that holds a new observation at each row.

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
        """Return the logarithm of the density of a new observation at each row.

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


class ScorerAdapter:
    """A scorer of scikit-learn, of all rows of a fold together; a class, so that workers unpickle it."""

    def __init__(self, scorer: Any) -> None:
        self.scorer = scorer

    def __call__(self, model: Any, X: Any, y: Any, weight: Array) -> RowScores:
        return RowScores(np.array([[float(self.scorer(model, X, y))]]), np.array([weight.sum()]))


def as_results(params: list[dict[str, Any]], found: list[list[Trial]], counted: str) -> dict[str, Any]:
    """Return the trials as scikit-learn's ``GridSearchCV`` lays them out.

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
    results[f"mean_n_{counted}"] = mean_of_tried(kept)
    return results


def mean_of_tried(values: Array) -> Array:
    """Return the mean over the folds on which each candidate was tried, NaN if it never was."""
    tried = ~np.isnan(values)
    total = np.where(tried, values, 0.0).sum(axis=1)
    return np.asarray(np.where(tried.any(axis=1), total, np.nan) / np.maximum(tried.sum(axis=1), 1))
