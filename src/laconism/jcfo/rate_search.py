"""Rates of a joint model by cross-validation: the fewest features of candidates as good as the best."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin

from .._protocols import Array
from ..judging.compare import Rule
from ..judging.folds import draw_folds
from ..judging.race import Race, choose_candidate
from ..judging.trials import Data
from ..model.callbacks import candidate_reporter
from ..model.search import CVSearch, Winner
from ..model.threads import one_blas_thread
from .rate_path import MIN_ERROR_NATS, JCFOCandidate, fit_candidates, make_grid, try_fold

# For predictions each step away from the gentlest selection must gain this much: record 032.
_NATS_PER_STEP = 2.0
# The first folds are rounds of their own, after each of which candidates may be dropped; the other folds
# are one round, shared by the workers.
_N_SINGLE_ROUNDS = 2


@dataclass(eq=False, repr=False)
class JCFOSearch(SelectorMixin, CVSearch):  # type: ignore[misc]
    """The search for rates that classifier and regressor share."""

    kernel: str = "rbf"
    _: KW_ONLY
    selection_rates: Any = "auto"
    weight_rates: Any = "auto"
    scale_rates: Any = "auto"
    initial_scales: Any = "auto"
    degree: int = 2
    solver: str = "varpro"
    screening: Any = None
    n_centres: int | None = None
    standardize: bool = True
    fit_intercept: bool = True
    max_iter: int = 200
    tol: float = 1e-6
    random_state: Any = 0
    cv: Any = None
    scoring: Any = None
    one_standard_error: bool = True
    race: bool = True
    n_jobs: int | None = None
    callbacks: Any = None

    _size_name = "features"

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Make the candidates, try them, choose, refit and publish."""
        data, template = self._validate(X, y, sample_weight), self._template()
        prepared = template._prepare(template._fit_data(*data))  # validates all settings but the grid
        candidates = make_grid(self, prepared)
        if self._classifies and self.scoring is None and not self.one_standard_error:
            for candidate in candidates:
                candidate.charge = _NATS_PER_STEP * candidate.n_steps / float(data.weight.sum())
        race = self._race(template, data, groups)
        with one_blas_thread():
            race.run([candidates])
        best, trials = choose_candidate(candidates, race.factors, race.rule, race.order)
        began = time.perf_counter()
        with one_blas_thread():
            model = self._refit(template, X, data, candidates, best)
        winner = Winner(model, time.perf_counter() - began)
        self._publish_search(candidates, race.factors, best, trials, winner)

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
            weight=sum(float(data.weight[test].sum()) for _, test in folds),
            factors=scoring.factors,
            drops=drops,
            rule=self._rule(Rule()),
            n_jobs=self.n_jobs,
            min_error_nats=MIN_ERROR_NATS,
            # For predictions the gentlest selection comes first: record 032.
            order=attrgetter("size" if self.one_standard_error else "n_steps"),
            on_fold=candidate_reporter(self.callbacks),
        )

    def _refit(
        self,
        template: Any,
        X: Any,
        data: Data,
        candidates: Sequence[JCFOCandidate],
        best: JCFOCandidate,
    ) -> Any:
        """Return the chosen model on all rows, reached along the path that the folds took.

        ``X`` has the names of the features.
        """
        model = clone(template).set_params(**best.params)
        prepared = model._prepare(model._fit_data(X, data.y, data.weight))
        alone = [replace(each, runs=each is best) for each in candidates]
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
    rounds = [*([fold] for fold in folds[:_N_SINGLE_ROUNDS]), folds[_N_SINGLE_ROUNDS:]]
    return [each for each in rounds if len(each)]
