"""What the two searches share: candidates -> trials -> the best -> a fit on all rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import chain
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from .._component import is_name, unknown
from ..judging.folds import draw_folds
from ..judging.race import Race, SparseCandidate
from ..judging.trials import Data, Trial
from ..model.callbacks import check_callbacks
from ..model.search import CVSearch
from ..model.threads import one_blas_thread
from ..model.validation import check_gamma
from ..priors import GeneralizedGaussian
from ..solvers import Record
from .base import SparseBayesBase
from .candidates import check_values, path_of, width_grid
from .fold_path import weigh

# Kernels whose gamma is a width.
_WITH_WIDTH = ("rbf", "matern")
# Kernels are many views of few directions, and more of them have to make the labels of the rows left out
# five times as likely: in nats. (Of features it is a matter of fact whether few or many count.)
_FIVE = math.log(5)
# Multiples of the scale that the evidence gives to a dense model, the largest first.
_BOLDER = (30.0, 10.0, 3.0)

Report = Callable[[list[Trial]], None]


class SparseBayesSearch(CVSearch):
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

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> float:
        """Choose and fit; return what the variances of the chosen model are to be multiplied by."""
        report = self._reporter()
        data, template = self._rows(X, y, sample_weight), self._template()
        question: Any = template._fit_data(*data)  # judges everything but the grid
        priors = path_of(check_values(self, "shapes"), check_values(self, "scales"))
        paths = [
            [SparseCandidate(prior, gamma) for prior in priors] for gamma in self._widths(question.X)
        ]
        with one_blas_thread():
            if self._by_evidence():
                found = weigh(template, data, priors)
                for trials in found:
                    report(trials)
            else:
                race = self._race(template, data, groups, report)
                race.run(paths)
                found = [race.trials(runner) for runner in chain(*paths)]
        runners = [*chain(*paths)]
        price = self._allowed() / float(data.weight.sum())
        self._choose([runner.params for runner in runners], found, allowed=price)
        self._refit(template, X, y, sample_weight)
        bolder = self._larger_scales(runners[self.best_index_])
        if bolder:
            with one_blas_thread():
                race.run([bolder], beside=runners[self.best_index_])
            handicap = np.repeat([0.0, price], [len(runners), len(bolder)])
            runners, found = runners + bolder, found + [race.trials(runner) for runner in bolder]
            before, params = self.best_index_, [runner.params for runner in runners]
            self._choose(params, found, handicap=handicap, allowed=price)
            if self.best_index_ != before:
                self._refit(template, X, y, sample_weight)
        factor: float = found[self.best_index_][0].factor
        return factor

    def _refit(self, template: SparseBayesBase, X: Any, y: Any, sample_weight: Any) -> None:
        """Publish the chosen model, fitted to all rows."""
        began = time.perf_counter()
        best: Any = clone(template).set_params(**self.best_params_)
        self.best_estimator_ = best.fit(X, y, sample_weight=sample_weight)
        self.refit_time_ = time.perf_counter() - began
        self.n_iter_ = self.best_estimator_.n_iter_

    def _larger_scales(self, chosen: SparseCandidate) -> list[SparseCandidate]:
        """Return the chosen candidate with larger scales, where the evidence may have been timid.

        Where classes are nearly separable Laplace's evidence of a dense model is: the rows left out know
        better. Of several outputs, with a scale each, it is left alone.
        """
        model, prior = self.best_estimator_, chosen.prior
        if not (self._allowed() and prior.learns and prior.q > 1 and len(model.priors_) == 1):
            return []
        scale = float(model.prior_.scale)
        return [
            SparseCandidate(GeneralizedGaussian(prior.q, times * scale), chosen.gamma)
            for times in _BOLDER
        ]

    def _reporter(self) -> Report:
        """Return what tells the callbacks of each candidate that is done."""
        callbacks, began, number = check_callbacks(self.callbacks), time.perf_counter(), 0

        def report(trials: list[Trial]) -> None:
            nonlocal number
            number += 1
            score, kept = np.nanmean([(trial.score, trial.kept) for trial in trials], axis=0)
            record = Record(number, score, round(kept), time.perf_counter() - began)
            for callback in callbacks:
                callback(record)

        return report

    def _by_evidence(self) -> bool:
        """Return which criterion is asked for, if it suits the columns."""
        if is_name(self.criterion, "evidence") and self.kernel is not None:
            raise ValueError(
                "criterion='evidence' needs kernel=None: between kernels it prefers too few; "
                "use criterion='cv'."
            )
        if not is_name(self.criterion, "cv", "evidence"):
            raise unknown("criterion", str(self.criterion), ["cv", "evidence"])
        return self.criterion == "evidence"

    def _race(self, template: SparseBayesBase, data: Data, groups: Any, report: Report) -> Race:
        """Return the folds and the rules."""
        judge = self._judge(template)
        allowed = None if self.one_standard_error else self._allowed()
        thins = self.race and judge.by_rows
        folds = draw_folds(self.cv, data, groups, self._classifies)
        return Race(template, data, folds, judge, thins, allowed, self.n_jobs, report)

    def _allowed(self) -> float:
        """Return by how many nats in all the best candidate may be better than a sparser one."""
        judged = self.scoring is None and self.criterion == "cv"
        return _FIVE if self._classifies and self.kernel is not None and judged else 0.0

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags
