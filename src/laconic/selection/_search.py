"""What the two searches share: candidates -> trials -> the best -> a fit on all rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._component import unknown
from .._protocols import Array
from ..estimators._base import SparseBayesBase
from ..estimators._callbacks import check_callbacks
from ..estimators._threads import one_blas_thread
from ..estimators._validation import ROWS
from ..priors import GeneralizedGaussian
from ..solvers import Record
from ._candidates import check_values, path_of, width_grid
from ._path import Data, Score, Trial, follow, weigh

# Kernels whose gamma is a width.
_WITH_WIDTH = ("rbf", "matern")


class SparseBayesSearch(BaseEstimator):  # type: ignore[misc]
    """Choose among priors and widths; subclasses say which estimator, and how it is scored."""

    shapes: Any
    scales: Any
    kernel: Any
    gammas: Any
    cv: Any
    scoring: Any
    criterion: Literal["cv", "evidence"]
    one_standard_error: bool
    n_jobs: int | None
    callbacks: Any
    best_estimator_: Any

    _estimator: type[SparseBayesBase]
    _classifies: bool

    def _log_score(self, model: Any, X: Any, y: Any, weight: Array) -> float:
        raise NotImplementedError

    def _template(self) -> SparseBayesBase:
        """Return the estimator with everything that is not searched."""
        own, theirs = self.get_params(deep=False), self._estimator._get_param_names()
        shared = set(own) & set(theirs) - {"n_jobs", "callbacks"}
        kind: Any = self._estimator
        return clone(kind(GeneralizedGaussian(), **{name: own[name] for name in shared}))  # type: ignore[no-any-return]

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _search(self, X: Any, y: Any, sample_weight: Any) -> None:
        callbacks = check_callbacks(self.callbacks)
        numeric = {} if self._classifies else {"y_numeric": True}
        rows, targets = validate_data(self, X, y, **ROWS, **numeric)
        weight = _check_sample_weight(sample_weight, rows, dtype=np.float64, copy=True)
        template = self._template()
        question: Any = template._question(rows, targets, weight)  # judges everything but the grid
        data = Data(rows, targets, weight)
        priors = path_of(check_values(self, "shapes"), check_values(self, "scales"))
        widths = self._widths(question.X)
        jobs = self._jobs(template, data, priors, widths)
        began, found = time.perf_counter(), []
        params: list[dict[str, Any]] = []
        with one_blas_thread():
            results = Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs)
            for gamma, trials in zip(widths, results, strict=True):
                for prior, folds in zip(priors, trials, strict=True):
                    found.append(folds)
                    params.append(self._params(prior, gamma))
                    score, kept = np.mean([(trial.score, trial.kept) for trial in folds], axis=0)
                    record = Record(len(found), score, round(kept), time.perf_counter() - began)
                    for callback in callbacks:
                        callback(record)
        self.cv_results_ = _results(params, found)
        self.n_splits_ = len(found[0])
        self.best_index_ = self._best(found)
        self.best_params_ = params[self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        best = clone(template).set_params(**self.best_params_)
        began = time.perf_counter()
        self.best_estimator_ = best.fit(X, y, sample_weight=sample_weight)
        self.refit_time_ = time.perf_counter() - began
        self.n_iter_ = self.best_estimator_.n_iter_

    def _jobs(
        self,
        template: SparseBayesBase,
        data: Data,
        priors: list[GeneralizedGaussian],
        widths: list[float | None],
    ) -> Iterator[Any]:
        """Yield one job a width."""
        templates = (
            clone(template).set_params(**({} if gamma is None else {"gamma": gamma})) for gamma in widths
        )
        if self.criterion == "evidence":
            if self.kernel is not None:
                raise ValueError(
                    "criterion='evidence' needs kernel=None: between kernels it prefers too few; "
                    "use criterion='cv'."
                )
            return (delayed(weigh)(each, data, priors) for each in templates)
        if self.criterion != "cv":
            raise unknown("criterion", str(self.criterion), ["cv", "evidence"])
        splitter = check_cv(self.cv, data.y, classifier=self._classifies)
        folds = list(splitter.split(data.X, data.y))
        score: Score = self._log_score
        if self.scoring is not None:
            score = _Scorer(check_scoring(template, scoring=self.scoring))
        return (delayed(follow)(each, data, folds, priors, score) for each in templates)

    def _widths(self, X: Any) -> list[float | None]:
        """Return the values of gamma to try; None where the kernel has none."""
        if not isinstance(self.kernel, str) or self.kernel in ("linear", "precomputed"):
            return [None]
        if isinstance(self.gammas, str) and self.gammas == "auto":
            return [*width_grid(X)] if self.kernel in _WITH_WIDTH else [None]
        return check_values(self, "gammas")

    @staticmethod
    def _params(prior: GeneralizedGaussian, gamma: float | None) -> dict[str, Any]:
        params: dict[str, Any] = {"prior__q": prior.q, "prior__scale": prior.scale}
        return params if gamma is None else {**params, "gamma": gamma}

    def _best(self, found: list[list[Trial]]) -> int:
        """Return the best candidate; or the sparsest that is as good, as far as the folds can tell."""
        scores = np.array([[trial.score for trial in folds] for folds in found])
        kept = np.array([np.mean([trial.kept for trial in folds]) for folds in found])
        mean = np.where(np.isnan(scores).any(axis=1), -np.inf, scores.mean(axis=1))
        best = int(np.argmax(mean))
        if not self.one_standard_error or scores.shape[1] < 2:
            return best
        error = scores[best].std(ddof=1) / np.sqrt(scores.shape[1])
        good = mean >= mean[best] - error
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
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


class _Scorer:
    """A scorer of scikit-learn, called as ours are; a class, so that workers can unpickle it."""

    def __init__(self, scorer: Any) -> None:
        self.scorer = scorer

    def __call__(self, model: Any, X: Any, y: Any, weight: Array) -> float:
        return float(self.scorer(model, X, y))


def _results(params: list[dict[str, Any]], found: list[list[Trial]]) -> dict[str, Any]:
    """Return the trials as scikit-learn's ``GridSearchCV`` lays them out."""
    table = np.array([[list(trial) for trial in folds] for folds in found])
    scores, kept, fit, score = np.moveaxis(table, 2, 0)
    results: dict[str, Any] = {}
    for name, values in (("fit_time", fit), ("score_time", score)):
        results[f"mean_{name}"], results[f"std_{name}"] = values.mean(axis=1), values.std(axis=1)
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
    results["mean_n_relevant"] = kept.mean(axis=1)
    return results
