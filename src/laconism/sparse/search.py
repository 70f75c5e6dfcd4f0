"""The sparse searches: candidates, a race over folds, the choice, and a refit on all rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import clone

from .._component import is_name, unknown
from ..judging.folds import draw_folds
from ..judging.race import Race, choose_candidate
from ..judging.row_scores import UNIT_FACTOR
from ..judging.trials import Data
from ..model.callbacks import candidate_reporter
from ..model.search import CVSearch, Winner, refit
from ..model.threads import one_blas_thread
from .candidates import (
    ANY_PRIOR,
    MORE_FEATURES,
    MORE_KERNELS,
    SparseCandidate,
    candidate_paths,
    larger_scales,
)
from .fold_path import TryPath


@dataclass(eq=False, repr=False)
class SparseBayesSearch(CVSearch):
    """Choose among priors and widths."""

    shapes: Any = (0.1, 0.5, 1.0, 1.5, 2.0)
    _: KW_ONLY
    scales: Any = "evidence"
    kernel: Any = None
    gammas: Any = "auto"
    degree: int = 3
    coef0: float = 1.0
    expansion: int = 1
    fit_intercept: bool = True
    penalize_intercept: bool = False
    max_iter: int = 1000
    tol: float = 1e-8
    rank_tol: Any = "auto"
    max_rank: int = 1000
    cv: Any = None
    scoring: Any = None
    criterion: str = "cv"
    one_standard_error: bool = False
    race: bool = True
    n_jobs: int | None = None
    callbacks: Any = None

    _size_name = "relevant"

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Make the candidates, try them, choose, refit and publish."""
        data, template = self._validate(X, y, sample_weight), self._template(ANY_PRIOR)
        checked = template._fit_data(*data)  # validates everything but the grid
        paths = candidate_paths(self, checked.X)
        race = self._race(template, data, groups)

        def refitted(candidate: SparseCandidate) -> Winner:
            return refit(clone(template).set_params(**candidate.params), X, y, sample_weight)

        with one_blas_thread():
            race.run(paths)
        candidates = [*chain(*paths)]
        best, trials = choose_candidate(candidates, race.factors, race.rule)
        winner = refitted(best)
        larger = larger_scales(best, winner.model) if race.rule is MORE_KERNELS else []
        if larger:
            before = best
            with one_blas_thread():
                race.run([larger], beside=[before])
            best, more = choose_candidate(
                [before, *larger], race.factors, race.rule, lambda each: each is not before
            )
            winner = winner if best is before else refitted(best)
            candidates, trials = [*candidates, *larger], [*trials, *more[1:]]
        self._publish_search(candidates, race.factors, best, trials, winner)

    def _race(self, template: Any, data: Data, groups: Any) -> Race[SparseCandidate]:
        """Return the race over the folds; the evidence is that of a single fold with all rows."""
        report = candidate_reporter(self.callbacks)
        if self._by_evidence():
            everything = np.arange(data.y.size)
            folds, drops = [(everything, everything)], False
            factors: Any = UNIT_FACTOR
            try_path: Any = TryPath(template, data)
        else:
            scoring = self._resolve_scoring(template)
            folds = draw_folds(self.cv, data, groups, self._classifies)
            factors, drops = scoring.factors, self.race and scoring.by_rows
            try_path = TryPath(template, data, scoring.score)
        return Race(
            try_path,
            rounds=[[fold] for fold in folds],
            weight=sum(float(data.weight[test].sum()) for _, test in folds),
            factors=factors,
            drops=drops,
            rule=self._rule(MORE_FEATURES if self.kernel is None else MORE_KERNELS),
            n_jobs=self.n_jobs,
            on_done=lambda each: report(each.mean_score(factors), each.size),
        )

    def _by_evidence(self) -> bool:
        """Return whether the criterion is the evidence; raise if it does not suit the columns."""
        if is_name(self.criterion, "evidence") and self.kernel is not None:
            raise ValueError(
                "criterion='evidence' needs kernel=None: between kernels it prefers too few; "
                "use criterion='cv'."
            )
        if not is_name(self.criterion, "cv", "evidence"):
            raise unknown("criterion", str(self.criterion), ["cv", "evidence"])
        return self.criterion == "evidence"
