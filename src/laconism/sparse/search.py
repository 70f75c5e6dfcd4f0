"""The sparse searches: candidates, a race over folds, the choice, and a refit on all rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import chain
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from .._component import is_name, unknown
from ..judging.compare import Rule
from ..judging.folds import draw_folds
from ..judging.race import Race
from ..judging.trials import Data, Trial
from ..model.callbacks import check_callbacks
from ..model.search import CVSearch, Winner, choose, refit
from ..model.threads import one_blas_thread
from ..model.validation import check_gamma, check_values
from ..priors import GeneralizedGaussian
from ..solvers import Record
from .base import SparseBayesBase
from .candidates import SparseCandidate, prior_path, width_grid
from .fold_path import TryPath, try_by_evidence

# Kernels whose gamma is a width.
_KERNELS_WITH_WIDTH = ("rbf", "matern")
# A classifier with more kernels must make the left-out labels five times as likely.
MORE_KERNELS = Rule(nats=math.log(5))
# A smaller set of features needs no advantage: whether few or many matter is a property of the data.
MORE_FEATURES = Rule()
# Multiples of the scale that the evidence gives to a dense model, the largest first.
_SCALE_MULTIPLES = (30.0, 10.0, 3.0)

Report = Callable[[list[Trial]], None]


class SparseBayesSearch(CVSearch):
    """Choose among priors and widths."""

    shapes: Any
    scales: Any
    kernel: Any
    gammas: Any
    criterion: Literal["cv", "evidence"]

    _estimator: type[SparseBayesBase]
    _size_name = "relevant"

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Make the candidates, try them, choose, refit and publish."""
        report = self._reporter()
        data, template = self._validate(X, y, sample_weight), self._template()
        checked = template._fit_data(*data)  # validates everything but the grid
        priors = prior_path(check_values(self, "shapes"), check_values(self, "scales"))
        widths = self._widths(checked.X)
        paths = [[SparseCandidate(prior, gamma) for prior in priors] for gamma in widths]
        candidates = [*chain(*paths)]
        by_evidence, rule = self._by_evidence(), self._size_rule()
        tolerance = rule.nats / float(data.weight.sum())

        def best_of(found: list[list[Trial]], handicap: Any = 0.0) -> int:
            within_error = self.one_standard_error
            return choose(found, handicap=handicap, tolerance=tolerance, one_standard_error=within_error)

        def winner_of(candidate: SparseCandidate) -> Winner:
            return refit(clone(template).set_params(**candidate.params), X, y, sample_weight)

        if by_evidence:
            with one_blas_thread():
                found = try_by_evidence(template, data, priors)
            for trials in found:
                report(trials)
            best = best_of(found)
            winner = winner_of(candidates[best])
        else:
            race = self._race(template, data, groups, report)
            with one_blas_thread():
                race.run(paths)
            found = [race.trials(candidate) for candidate in candidates]
            best = best_of(found)
            winner = winner_of(candidates[best])
            larger = _larger_scales(candidates[best], winner.model) if rule.nats else []
            if larger:
                with one_blas_thread():
                    race.run([larger], beside=candidates[best])
                handicap = np.repeat([0.0, tolerance], [len(candidates), len(larger)])
                candidates += larger
                found += [race.trials(candidate) for candidate in larger]
                before, best = best, best_of(found, handicap)
                winner = winner if best == before else winner_of(candidates[best])
        self._publish_search([candidate.params for candidate in candidates], found, best, winner)

    def _template(self) -> SparseBayesBase:
        """Return the estimator with everything that is not searched."""
        own, theirs = self.get_params(deep=False), self._estimator._get_param_names()
        shared = set(own) & set(theirs) - {"n_jobs", "callbacks"}
        kind: Any = self._estimator
        return clone(kind(GeneralizedGaussian(), **{name: own[name] for name in shared}))  # type: ignore[no-any-return]

    def _size_rule(self) -> Rule:
        """Return by how much a candidate with more columns must be better than one with fewer."""
        by_density = self.scoring is None and self.criterion == "cv"
        kernels = self._classifies and self.kernel is not None
        return MORE_KERNELS if kernels and by_density else MORE_FEATURES

    def _race(
        self, template: SparseBayesBase, data: Data, groups: Any, report: Report
    ) -> Race[SparseCandidate]:
        """Return the race over the folds."""
        scoring = self._resolve_scoring(template)
        folds = draw_folds(self.cv, data, groups, self._classifies)
        return Race(
            TryPath(template, data, scoring.score),
            rounds=[[fold] for fold in folds],
            weights=[float(data.weight[test].sum()) for _, test in folds],
            scoring=scoring,
            drops=self.race and scoring.by_rows,
            required=None if self.one_standard_error else self._size_rule().nats,
            n_jobs=self.n_jobs,
            on_done=report,
        )

    def _reporter(self) -> Report:
        """Return the function that reports each finished candidate to the callbacks."""
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
        """Return whether the criterion is the evidence, or raise where it does not suit the columns."""
        if is_name(self.criterion, "evidence") and self.kernel is not None:
            raise ValueError(
                "criterion='evidence' needs kernel=None: between kernels it prefers too few; "
                "use criterion='cv'."
            )
        if not is_name(self.criterion, "cv", "evidence"):
            raise unknown("criterion", str(self.criterion), ["cv", "evidence"])
        return self.criterion == "evidence"

    def _widths(self, X: Any) -> list[float | None]:
        """Return the values of gamma to try; None where the kernel has none."""
        automatic = is_name(self.gammas, "auto")
        gammas = [] if automatic else check_values(self, "gammas")
        for gamma in gammas:
            check_gamma(gamma)
        if not isinstance(self.kernel, str) or self.kernel in ("linear", "precomputed"):
            return [None]
        if automatic:
            return [*width_grid(X)] if self.kernel in _KERNELS_WITH_WIDTH else [None]
        return gammas


def _larger_scales(chosen: SparseCandidate, model: Any) -> list[SparseCandidate]:
    """Return the chosen candidate with larger scales, where the evidence may have found too small a one.

    Where classes are nearly separable, Laplace's evidence of a dense model prefers too small a scale. Of
    several outputs, with a scale each, none are tried.
    """
    prior = chosen.prior
    if not (prior.learns and prior.q > 1 and len(model.priors_) == 1):
        return []
    scale = float(model.prior_.scale)
    larger = [GeneralizedGaussian(prior.q, multiple * scale) for multiple in _SCALE_MULTIPLES]
    return [SparseCandidate(each, chosen.gamma) for each in larger]
