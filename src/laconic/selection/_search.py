"""What the two searches share: candidates -> trials -> the best -> a fit on all rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from .._component import is_name, unknown
from ..estimators._base import SparseBayesBase
from ..estimators._callbacks import check_callbacks
from ..estimators._threads import one_blas_thread
from ..estimators._validation import check_gamma
from ..priors import GeneralizedGaussian
from ..solvers import Record
from ._base import Search
from ._candidates import check_values, path_of, width_grid
from ._confidence import Judge, as_they_are
from ._path import Data, follow, weigh

# Kernels whose gamma is a width.
_WITH_WIDTH = ("rbf", "matern")


class SparseBayesSearch(Search):
    """Choose among priors and widths; subclasses say which estimator, and how it is scored."""

    shapes: Any
    scales: Any
    kernel: Any
    gammas: Any
    criterion: Literal["cv", "evidence"]

    _estimator: type[SparseBayesBase]
    _counted = "relevant"

    def _template(self) -> SparseBayesBase:
        """Return the estimator with everything that is not searched."""
        own, theirs = self.get_params(deep=False), self._estimator._get_param_names()
        shared = set(own) & set(theirs) - {"n_jobs", "callbacks"}
        kind: Any = self._estimator
        return clone(kind(GeneralizedGaussian(), **{name: own[name] for name in shared}))  # type: ignore[no-any-return]

    def _search(self, X: Any, y: Any, sample_weight: Any) -> float:
        """Choose and fit; return what the variances of the chosen model are to be multiplied by."""
        callbacks = check_callbacks(self.callbacks)
        data, template = self._rows(X, y, sample_weight), self._template()
        question: Any = template._question(*data)  # judges everything but the grid
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
        self._choose(params, found)
        best = clone(template).set_params(**self.best_params_)
        began = time.perf_counter()
        self.best_estimator_ = best.fit(X, y, sample_weight=sample_weight)
        self.refit_time_ = time.perf_counter() - began
        self.n_iter_ = self.best_estimator_.n_iter_
        factor: float = found[self.best_index_][0].factor
        return factor

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
        if is_name(self.criterion, "evidence"):
            if self.kernel is not None:
                raise ValueError(
                    "criterion='evidence' needs kernel=None: between kernels it prefers too few; "
                    "use criterion='cv'."
                )
            return (delayed(weigh)(each, data, priors) for each in templates)
        if not is_name(self.criterion, "cv"):
            raise unknown("criterion", str(self.criterion), ["cv", "evidence"])
        folds, judge = self._folds(data), self._judge(template)
        return (delayed(follow)(each, data, folds, priors, judge) for each in templates)

    def _judge(self, template: SparseBayesBase) -> Judge:
        """Return how candidates are scored."""
        return Judge(self._score(template), as_they_are)

    def _widths(self, X: Any) -> list[float | None]:
        """Return the values of gamma to try; None where the kernel has none."""
        automatic = is_name(self.gammas, "auto")
        gammas = [] if automatic else check_values(self, "gammas")
        for gamma in gammas:
            check_gamma(gamma)
        if not isinstance(self.kernel, str) or self.kernel in ("linear", "precomputed"):
            return [None]
        if automatic:
            return [*width_grid(X)] if self.kernel in _WITH_WIDTH else [None]
        return gammas

    @staticmethod
    def _params(prior: GeneralizedGaussian, gamma: float | None) -> dict[str, Any]:
        params: dict[str, Any] = {"prior__q": prior.q, "prior__scale": prior.scale}
        return params if gamma is None else {**params, "gamma": gamma}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags
