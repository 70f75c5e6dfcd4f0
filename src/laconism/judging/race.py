"""The choice among the candidates of a search, and a race that drops those without a chance."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed

from .._protocols import Array, Index
from .calibrate import best_variance_factor
from .compare import Rule, Trial, choose, standard_error
from .trials import FoldResult

# How far, in standard errors, the folds that are left may turn a comparison.
MARGIN_ERRORS = 1.5

Fold = tuple[Index, Index]


@dataclass(eq=False)
class Candidate(ABC):
    """A candidate of a search, and its results so far."""

    tried: list[FoldResult] = field(default_factory=list, kw_only=True)
    runs: bool = field(default=True, kw_only=True)
    charge: float = field(default=0.0, kw_only=True)  # log prior odds against it, in nats per row

    @property
    @abstractmethod
    def params(self) -> dict[str, Any]:
        """The candidate as parameters of the estimator."""

    @property
    def size(self) -> float:
        """Mean number of kept columns or features."""
        return float(np.mean([result.kept for result in self.tried]))

    def mean_score(self, factors: Array) -> float:
        """Return the mean over its folds so far of its scores, under the best variance factor."""
        best = self.factor_index(factors)
        return float(np.mean([result.scores.scores()[best] for result in self.tried]))

    def factor_index(self, factors: Array) -> int:
        """Return the index of the best variance factor of its folds so far."""
        return best_variance_factor([result.scores for result in self.tried], factors)


C = TypeVar("C", bound=Candidate)
Order = Callable[[Any], float]  # of a candidate: the smaller or simpler ones first


class Scored(NamedTuple):
    """A candidate with the log density of its left-out rows, under its best variance factor.

    The charge of the candidate is subtracted.
    """

    candidate: Any
    name: str
    log_density: Array
    size: float


def score(candidate: Candidate, factors: Array) -> Scored:
    """Return the left-out log density of a candidate at each row of its folds so far."""
    best = candidate.factor_index(factors)
    log_density = np.concatenate([result.scores.log_p[best] for result in candidate.tried])
    return Scored(candidate, _name(candidate), log_density - candidate.charge, candidate.size)


def choose_candidate(
    candidates: Sequence[C], factors: Array, rule: Rule, order: Order = lambda each: each.size
) -> tuple[C, list[Trial]]:
    """Return the winner of the candidates that were tried on all folds, and a table of all.

    They are compared in ascending order; of several that are equal in it, the best comes first.
    """
    n_folds = max(len(candidate.tried) for candidate in candidates)
    complete = [each for each in candidates if len(each.tried) == n_folds]
    weight = np.concatenate([result.scores.weight for result in complete[0].tried])
    scored = [score(each, factors) for each in complete]
    scored.sort(key=lambda each: (order(each.candidate), -float(weight @ each.log_density)))
    winner, trials = choose(scored, lambda each, champion: each, rule, weight)
    trials = [
        trial._replace(seconds=_seconds(each.candidate))
        for trial, each in zip(trials, scored, strict=True)
    ]
    dropped = [each for each in candidates if len(each.tried) < n_folds]
    return winner.candidate, [*trials, *(Trial(_name(each), _seconds(each)) for each in dropped)]


def _name(candidate: Candidate) -> str:
    """Return the parameters of a candidate in words."""
    return ", ".join(f"{name}={value}" for name, value in candidate.params.items())


def _seconds(candidate: Candidate) -> float:
    return sum(result.fit_seconds + result.score_seconds for result in candidate.tried)


@dataclass(frozen=True)
class Race(Generic[C]):
    """Rounds of folds on which candidates are tried; those that cannot be chosen any more are dropped.

    Candidates come in paths. One path on one fold is one job: there a candidate may start from the
    solution of the one before it.
    """

    try_path: Callable[[Sequence[C], Fold], Sequence[FoldResult | None]]
    rounds: Sequence[Sequence[Fold]]  # candidates may be dropped after each round
    weight: float  # of the left-out rows of all folds
    factors: Array  # variance factors to choose from
    drops: bool  # whether candidates are dropped at all
    rule: Rule  # of the choice at the end
    n_jobs: int | None
    min_error_nats: float = 0.0  # error of every comparison, beside the standard error
    order: Order = lambda each: each.size
    on_fold: Callable[[float, float], Any] = lambda score, kept: None  # of the best on one fold
    on_done: Callable[[C], Any] = lambda candidate: None

    def run(self, paths: Sequence[Sequence[C]], beside: Sequence[C] = ()) -> None:
        """Try the candidates of each path on the folds; those ``beside`` were tried on all already."""
        done = 0
        with Parallel(n_jobs=self.n_jobs, return_as="generator") as workers:
            for number, folds in enumerate(self.rounds, start=1):
                live = [path for path in paths if any(candidate.runs for candidate in path)]
                running = [candidate for candidate in chain(*live) if candidate.runs]
                jobs = [(path, fold) for fold in folds for path in live]
                found = workers(delayed(self.try_path)(_lean(path), fold) for path, fold in jobs)
                for place, ((path, _), results) in enumerate(zip(jobs, found, strict=True), start=1):
                    _record(path, results)
                    if place % len(live) == 0:
                        done += 1
                        self.on_fold(*self._best_of(results))
                last = number == len(self.rounds)
                if self.drops and not last:
                    before = [replace(each, tried=each.tried[:done]) for each in beside]
                    self.drop([*before, *chain(*paths)])
                for candidate in running:
                    if last or not candidate.runs:
                        self.on_done(candidate)

    def _best_of(self, results: Sequence[FoldResult | None]) -> tuple[float, float]:
        """Return score and size of the best result on one fold, each under its own variance factor."""
        found = [result for result in results if result is not None]
        best = [best_variance_factor([result.scores], self.factors) for result in found]
        scores = [float(each.scores.scores()[k]) for each, k in zip(found, best, strict=True)]
        first = int(np.argmax(scores))
        return scores[first], found[first].kept

    def drop(self, candidates: Sequence[C]) -> None:
        """Drop the candidates that the rule will hardly prefer to the champion of the folds so far.

        A later one must be ahead of it by the rule's threshold, an earlier one must not be behind by
        more. One with the same log densities as an earlier one has nothing to add.
        """
        running = [each for each in candidates if each.runs]
        weight = np.concatenate([result.scores.weight for result in running[0].tried])
        share = float(weight.sum()) / self.weight
        rule = Rule(self.rule.nats * share, self.rule.errors * math.sqrt(share))
        champion, _ = choose_candidate(running, self.factors, rule, self.order)
        best, seen = score(champion, self.factors), set()
        for each in sorted(running, key=lambda each: (each is not champion, self.order(each))):
            gain = best.log_density - score(each, self.factors).log_density
            key = gain.tobytes()
            earlier = self.order(champion) <= self.order(each)
            ahead = float(weight @ gain) + rule.threshold(gain, weight) * (1 if earlier else -1)
            margin = MARGIN_ERRORS * standard_error(gain, weight, self.min_error_nats)
            each.runs = each is champion or not (ahead > margin or key in seen)
            seen.add(key)


def _lean(path: Sequence[C]) -> list[C]:
    """Return the candidates with their last result only: less to send to a worker."""
    return [replace(candidate, tried=candidate.tried[-1:]) for candidate in path]


def _record(path: Sequence[Candidate], results: Sequence[FoldResult | None]) -> None:
    """Record the results of one job; a candidate without a result is dropped."""
    for candidate, result in zip(path, results, strict=True):
        candidate.runs = candidate.runs and result is not None
        if candidate.runs and result is not None:
            candidate.tried.append(result)
