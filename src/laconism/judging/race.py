"""A race over folds: candidates that can no longer be chosen are dropped before later folds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Generic, TypeVar

import numpy as np
from joblib import Parallel, delayed

from .._protocols import Array, Index
from .calibrate import best_variance_factor
from .compare import Rule, standard_error
from .row_scores import RowScores, Scoring
from .trials import Trial, Tried

# A candidate is dropped if the leader is better by this rule.
BEHIND_LEADER = Rule(errors=1.5)
# It is also dropped if it cannot become better than every smaller candidate by the required gain.
_AHEAD_OF_SMALLER = Rule(errors=2.0)

Fold = tuple[Index, Index]


@dataclass(eq=False)
class Candidate:
    """A candidate of a search, and its results so far."""

    tried: list[Tried] = field(default_factory=list, kw_only=True)
    runs: bool = field(default=True, kw_only=True)
    handicap: float = field(default=0.0, kw_only=True)  # nats per row by which it must be better
    tie_break: float = field(default=0.0, kw_only=True)  # orders candidates of equal size

    @property
    def size(self) -> tuple[float, float]:
        """Mean number of kept columns or features, and the tie-break for candidates of equal size."""
        return float(np.mean([each.trial.kept for each in self.tried])), self.tie_break

    @property
    def scores(self) -> list[RowScores]:
        """The scores of the rows of each fold so far."""
        return [each.scores for each in self.tried]

    def log_density(self, factors: Array) -> Array:
        """Return the log density of all rows so far, under the best variance factor."""
        best = best_variance_factor(self.scores, factors)
        return np.concatenate([scores.log_p[best] for scores in self.scores])

    def trials(self, factors: Array, n_folds: int) -> list[Trial]:
        """Return a trial for each fold, under the best factor; NaN on folds where it was not tried."""
        best = best_variance_factor(self.scores, factors)
        found = [
            each.trial._replace(score=float(each.scores.scores()[best]), factor=float(factors[best]))
            for each in self.tried
        ]
        return found + [Trial()] * (n_folds - len(found))


C = TypeVar("C", bound=Candidate)


@dataclass(frozen=True)
class Race(Generic[C]):
    """Rounds of folds on which candidates are tried, and the rules to drop candidates.

    Candidates come in paths. One path on one fold is one job: there a candidate may start from the
    solution of the one before it.
    """

    try_path: Callable[[Sequence[C], Fold], Sequence[Tried | None]]
    rounds: Sequence[Sequence[Fold]]  # candidates may be dropped after each round
    weights: Sequence[float]  # total weight of the test rows of each fold
    scoring: Scoring
    drops: bool  # whether candidates are dropped at all
    required: float | None  # see drop_dominated
    n_jobs: int | None
    unseen_nats: float = 0.0  # see drop_dominated
    on_fold: Callable[[int, Sequence[Tried]], Any] = lambda number, tried: None
    on_done: Callable[[list[Trial]], Any] = lambda trials: None

    def run(self, paths: Sequence[Sequence[C]], beside: C | None = None) -> None:
        """Try the candidates of each path on the folds; ``beside`` has already been tried on all."""
        done = 0
        with Parallel(n_jobs=self.n_jobs, return_as="generator") as workers:
            for folds in self.rounds:
                live = [path for path in paths if any(candidate.runs for candidate in path)]
                running = [candidate for candidate in chain(*live) if candidate.runs]
                jobs = [(path, fold) for fold in folds for path in live]
                results = workers(delayed(self.try_path)(_lean(path), fold) for path, fold in jobs)
                for place, ((path, _), tried) in enumerate(zip(jobs, results, strict=True), start=1):
                    _record(path, tried)
                    if place % len(live) == 0:
                        done += 1
                        self.on_fold(done, [each for each in tried if each is not None])
                last = done == len(self.weights)
                if self.drops and not last:
                    others = [] if beside is None else [replace(beside, tried=beside.tried[:done])]
                    self._drop_dominated([*others, *chain(*paths)])
                for candidate in running:
                    if last or not candidate.runs:
                        self.on_done(self.trials(candidate))

    def _drop_dominated(self, candidates: Sequence[Candidate]) -> None:
        total = float(sum(self.weights))
        drop_dominated(candidates, self.scoring.factors, total, self.required, self.unseen_nats)

    def trials(self, candidate: Candidate) -> list[Trial]:
        """Return a trial of the candidate for each fold."""
        return candidate.trials(self.scoring.factors, len(self.weights))


def _lean(path: Sequence[C]) -> list[C]:
    """Return the candidates with their last result only: less to send to a worker."""
    return [replace(candidate, tried=candidate.tried[-1:]) for candidate in path]


def _record(path: Sequence[Candidate], tried: Sequence[Tried | None]) -> None:
    """Record the results of one job; a candidate without a result is dropped."""
    for candidate, result in zip(path, tried, strict=True):
        candidate.runs = candidate.runs and result is not None
        if candidate.runs and result is not None:
            candidate.tried.append(result)


def drop_dominated(
    candidates: Sequence[Candidate],
    factors: Array,
    total: float,
    required: float | None,
    unseen_nats: float = 0.0,
) -> None:
    """Drop the candidates that can no longer be chosen.

    The final choice is the smallest candidate that is worse than the best by at most ``required`` nats
    on all rows, of weight ``total``; None is one standard error of the best. So a candidate is dropped
    if it is clearly worse than that. It is also dropped if it is not the leader and cannot become
    better than a smaller candidate by as much. Scores are compared row by row, because the difference
    of two candidates has a smaller standard error than either score.

    Parameters
    ----------
    candidates : sequence of Candidate
    factors : ndarray
        The variance factors to choose from.
    total : float
        Weight of the rows of all folds.
    required : float or None
        Nats by which a larger candidate must be better.
    unseen_nats : float, default=0.0
        A standard error that is always added: differences on few rows underestimate the variation.
    """
    running = [candidate for candidate in candidates if candidate.runs]
    log_p = np.array([candidate.log_density(factors) - candidate.handicap for candidate in running])
    weight = np.concatenate([scores.weight for scores in running[0].scores])
    share, leader = float(weight.sum()) / total, int(np.argmax(log_p @ weight))
    if required is None:
        required = standard_error(log_p[leader], weight) / math.sqrt(share)
    needed = required * share
    behind = replace(BEHIND_LEADER, nats=needed)
    stays: list[int] = []
    for one in sorted(range(len(running)), key=lambda one: running[one].size):
        smaller = (log_p[one] - log_p[other] for other in stays)
        no_use = one != leader and any(
            weight @ gain + _AHEAD_OF_SMALLER.threshold(gain, weight, unseen_nats) < needed
            for gain in smaller
        )
        running[one].runs = not (
            behind.prefers(log_p[leader] - log_p[one], weight, unseen_nats) or no_use
        )
        if running[one].runs:
            stays.append(one)
