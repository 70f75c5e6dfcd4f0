"""The sparse searches: candidates, a race over folds, the choice, and a refit on all rows."""

from __future__ import annotations

import math
from itertools import chain
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from .._component import is_name, unknown
from ..judging.compare import Rule
from ..judging.folds import draw_folds
from ..judging.race import Race
from ..judging.trials import Data, Trial
from ..model.callbacks import CandidateReport, candidate_reporter
from ..model.search import CVSearch, Winner, choose, refit
from ..model.threads import one_blas_thread
from .candidates import SparseCandidate, candidate_paths, larger_scales, template_model
from .fold_path import TryPath, try_by_evidence

# A classifier with more kernels must make the left-out labels five times as likely.
MORE_KERNELS = Rule(nats=math.log(5))
# Few features have no advantage over many: how many matter is a property of the data.
MORE_FEATURES = Rule()


class SparseBayesSearch(CVSearch):
    """Choose among priors and widths."""

    shapes: Any
    scales: Any
    kernel: Any
    gammas: Any
    criterion: Literal["cv", "evidence"]

    _size_name = "relevant"

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Make the candidates, try them, choose, refit and publish."""
        report = candidate_reporter(self.callbacks)
        data, template = self._validate(X, y, sample_weight), template_model(self)
        checked = template._fit_data(*data)  # validates everything but the grid
        paths = candidate_paths(self, checked.X)
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
                found = try_by_evidence(template, data, [candidate.prior for candidate in candidates])
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
            larger = larger_scales(candidates[best], winner.model) if rule.nats else []
            if larger:
                with one_blas_thread():
                    race.run([larger], beside=candidates[best])
                handicap = np.repeat([0.0, tolerance], [len(candidates), len(larger)])
                candidates += larger
                found += [race.trials(candidate) for candidate in larger]
                before, best = best, best_of(found, handicap)
                winner = winner if best == before else winner_of(candidates[best])
        self._publish_search([candidate.params for candidate in candidates], found, best, winner)

    def _size_rule(self) -> Rule:
        """Return by how much a candidate with more columns must be better than one with fewer."""
        by_density = self.scoring is None and self.criterion == "cv"
        kernels = self._classifies and self.kernel is not None
        return MORE_KERNELS if kernels and by_density else MORE_FEATURES

    def _race(
        self, template: Any, data: Data, groups: Any, report: CandidateReport
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
