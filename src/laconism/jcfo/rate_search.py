"""Rates of a joint model by cross-validation: the fewest features of candidates as good as the best."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin

from .._protocols import Array
from ..judging.folds import draw_folds
from ..judging.race import Race
from ..judging.trials import Data
from ..model.callbacks import check_callbacks
from ..model.search import CVSearch, Winner, choose
from ..model.threads import one_blas_thread
from .prepare import PreparedData
from .rate_grid import JCFOCandidate, Rates, handicaps, make_grid
from .rate_path import MIN_ERROR_NATS, fit_candidates, fold_reporter, try_fold

# The first folds are rounds of their own, after each of which candidates may be dropped; the other folds
# are one round, shared by the workers.
_N_SINGLE_ROUNDS = 2


class JCFOSearch(SelectorMixin, CVSearch):  # type: ignore[misc]
    """The search for rates that classifier and regressor share."""

    kernel: Any
    selection_rates: Any
    weight_rates: Any
    scale_rates: Any

    _size_name = "features"

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Make the candidates, try them, choose, refit and publish."""
        data, template = self._validate(X, y, sample_weight), self._template()
        prepared = template._prepare(template._fit_data(*data))  # validates all settings but the grid
        grid = make_grid(self, prepared)
        handicap = handicaps(self, grid, float(data.weight.sum()))
        candidates = [
            JCFOCandidate(rates, handicap=nats) for rates, nats in zip(grid, handicap, strict=True)
        ]
        race = self._race(template, data, groups)
        with one_blas_thread():
            race.run([candidates])
        found = [race.trials(candidate) for candidate in candidates]
        best = choose(found, handicap=handicap, one_standard_error=self.one_standard_error)
        began = time.perf_counter()
        with one_blas_thread():
            model = self._refit(template, X, data, prepared, grid, grid[best])
        winner = Winner(model, time.perf_counter() - began)
        self._publish_search([rates.params for rates in grid], found, best, winner)

    def _template(self) -> Any:
        """Return the estimator with the settings that it shares with the search."""
        own, theirs = self.get_params(deep=False), self._estimator._get_param_names()
        shared = set(own) & set(theirs) - {"callbacks"}
        return clone(self._estimator(**{name: own[name] for name in shared}))

    def _race(self, template: Any, data: Data, groups: Any) -> Race[JCFOCandidate]:
        """Return the race over the folds."""
        scoring = self._resolve_scoring(template)
        folds = draw_folds(self.cv, data, groups, self._classifies)
        drops = self.race and scoring.by_rows
        return Race(
            partial(try_fold, template, data, scoring, drops),
            rounds=_rounds(folds) if drops else [folds],
            weights=[float(data.weight[test].sum()) for _, test in folds],
            scoring=scoring,
            drops=drops,
            required=None if self.one_standard_error else 0.0,
            n_jobs=self.n_jobs,
            unseen_nats=MIN_ERROR_NATS,
            on_fold=fold_reporter(check_callbacks(self.callbacks), scoring.factors),
        )

    def _refit(
        self,
        template: Any,
        X: Any,
        data: Data,
        prepared: PreparedData,
        grid: Sequence[Rates],
        best: Rates,
    ) -> Any:
        """Return the chosen model on all rows, reached along the path that the folds took.

        ``X`` has the names of the features, and ``prepared`` the rates at which the posteriors of all
        candidates are evaluated.
        """
        model, rates = clone(template).set_params(**best.params), prepared.problems[0]
        own = model._prepare(model._fit_data(X, data.y, data.weight))
        prepared = own.at_rates(rates.weight_rate, rates.scale_rate)
        alone = [JCFOCandidate(each, runs=each == best) for each in grid]
        ((_, fits),) = fit_candidates(model, prepared, alone)
        model._publish_fits(prepared, fits)
        return model

    # ---- what the chosen model offers ---------------------------------------------------------

    @property
    def feature_scales_(self) -> Array:
        """The scales of the chosen model."""
        return np.asarray(self._chosen.feature_scales_)

    def _get_support_mask(self) -> Array:
        return np.asarray(self._chosen.get_support())


def _rounds(folds: Sequence[Any]) -> list[Sequence[Any]]:
    """Return the folds in rounds; candidates may be dropped after each."""
    single = [[fold] for fold in folds[:_N_SINGLE_ROUNDS]]
    return [*single, folds[_N_SINGLE_ROUNDS:]] if len(folds) > _N_SINGLE_ROUNDS else [*single]
