"""Candidates that will not be chosen are not tried on the folds that are left."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from .._protocols import Array, Index
from ..priors import GeneralizedGaussian
from ..sparse.base import SparseBayesBase
from ..sparse.fold_path import Entry, try_fold
from .row_scores import RowScores, Scoring, best_variance_factor
from .trials import Data, Trial, Tried

# How many standard errors of their difference, row by row, make it clear that a candidate is behind the
# leader, and that it will not be ahead of a sparser one.
_BEHIND, _IDLE = 1.5, 2.0


@dataclass(eq=False)
class Candidate:
    """A candidate of any search, and how it has done so far."""

    tried: list[Tried] = field(default_factory=list, kw_only=True)
    runs: bool = field(default=True, kw_only=True)

    @property
    def size(self) -> tuple[float, ...]:
        """How many columns or features it has kept, in the mean."""
        return (float(np.mean([each.trial.kept for each in self.tried])),)

    @property
    def said(self) -> list[RowScores]:
        """What it has said of the rows of each fold."""
        return [each.said for each in self.tried]

    def log_p(self, factors: Array) -> Array:
        """Return what it says of all rows so far, its variances settled."""
        best = best_variance_factor(self.said, factors)
        return np.concatenate([said.log_p[best] for said in self.said])

    def trials(self, factors: Array, folds: int) -> list[Trial]:
        """Return a trial for each fold, its variances settled; of folds that it did not see, nothing."""
        best = best_variance_factor(self.said, factors)
        found = [
            each.trial._replace(score=float(each.said.scores()[best]), factor=float(factors[best]))
            for each in self.tried
        ]
        return found + [Trial()] * (folds - len(found))


@dataclass(eq=False)
class SparseCandidate(Candidate):
    """A prior at a width."""

    prior: GeneralizedGaussian
    gamma: float | None

    @property
    def entry(self) -> Entry:
        """Return it as the next fold sees it: the scales of the last fold are its first guess."""
        return Entry(self.prior, self.tried[-1].scales if self.tried else [], self.runs)

    @property
    def size(self) -> tuple[float, ...]:
        """How many columns it has kept; and its shape, where that cannot tell."""
        return (*super().size, self.prior.q)

    @property
    def params(self) -> dict[str, Any]:
        """Return it as parameters of the estimator."""
        params: dict[str, Any] = {"prior__q": self.prior.q, "prior__scale": self.prior.scale}
        return params if self.gamma is None else {**params, "gamma": self.gamma}


@dataclass(frozen=True)
class Race:
    """Folds on which candidates are tried, one after the other, and the rules by which they are out."""

    template: SparseBayesBase
    data: Data
    folds: Sequence[tuple[Index, Index]]
    judge: Scoring
    thins: bool  # whether anyone is ever out
    allowed: float | None  # see thin_out
    n_jobs: int | None
    report: Callable[[list[Trial]], None]

    def run(
        self, paths: Sequence[Sequence[SparseCandidate]], beside: SparseCandidate | None = None
    ) -> None:
        """Try the candidates of each width, along its path, beside one that is through already."""
        with Parallel(n_jobs=self.n_jobs, return_as="generator") as workers:
            for number, fold in enumerate(self.folds, start=1):
                on = [path for path in paths if any(runner.runs for runner in path)]
                running = [[runner for runner in path if runner.runs] for path in on]
                jobs = (delayed(try_fold)(*self._job(path, fold)) for path in on)
                for path, tried in zip(running, workers(jobs), strict=True):
                    for runner, each in zip(path, tried, strict=True):
                        runner.tried.append(each)
                last = number == len(self.folds)
                if self.thins and not last:
                    others = [] if beside is None else [replace(beside, tried=beside.tried[:number])]
                    self._drop_dominated([*others, *chain(*paths)])
                for runner in chain(*running):
                    if last or not runner.runs:
                        self.report(self.trials(runner))

    def _job(self, path: Sequence[SparseCandidate], fold: tuple[Index, Index]) -> tuple[Any, ...]:
        template, gamma = clone(self.template), path[0].gamma
        if gamma is not None:
            template.set_params(gamma=gamma)
        return template, self.data, fold, [runner.entry for runner in path], self.judge.hear

    def _drop_dominated(self, runners: Sequence[SparseCandidate]) -> None:
        total = float(sum(self.data.weight[test].sum() for _, test in self.folds))
        drop_dominated(runners, self.judge.factors, total, self.allowed)

    def trials(self, runner: SparseCandidate) -> list[Trial]:
        """Return a trial of it for each fold."""
        return runner.trials(self.judge.factors, len(self.folds))


def drop_dominated(
    runners: Sequence[Candidate],
    factors: Array,
    total: float,
    allowed: float | None,
    unseen: float = 0.0,
) -> None:
    """Stop those of which it is clear already that they will not be chosen.

    In the end the sparsest is chosen of those that are behind the best by no more nats than are
    ``allowed``, on rows of the weight ``total``; None is one standard error of the best. So one that is
    further behind is out, and one that does not lead and will not be ahead of a sparser one by as much.

    Rows are compared one by one: what is hard is hard for all, and the difference between two
    candidates is known far better than the score of either. Few rows that are alike do not tell how
    others will differ: by ``unseen`` nats, to say the least.
    """
    running = [runner for runner in runners if runner.runs]
    log_p = np.array([runner.log_p(factors) for runner in running])
    weight = np.concatenate([said.weight for said in running[0].said])
    share, leader = float(weight.sum()) / total, int(np.argmax(log_p @ weight))
    if allowed is None:
        allowed = _error(log_p[leader], weight) / math.sqrt(share)
    stays: list[int] = []
    for one in sorted(range(len(running)), key=lambda one: running[one].size):
        behind = is_behind(log_p[leader] - log_p[one], weight, allowed * share, unseen)
        ahead = (log_p[one] - log_p[sparser] for sparser in stays)
        idle = one != leader and any(
            weight @ gain + _IDLE * _error(gain, weight, unseen) < allowed * share for gain in ahead
        )
        running[one].runs = not (behind or idle)
        if running[one].runs:
            stays.append(one)


def is_behind(lead: Array, weight: Array, allowed: float = 0.0, unseen: float = 0.0) -> bool:
    """Whether it is clear, row by row, that a candidate is behind by more nats than are allowed."""
    return bool(weight @ lead > max(_BEHIND * _error(lead, weight, unseen), allowed))


def _error(values: Array, weight: Array, unseen: float = 0.0) -> float:
    """Return the standard error of a weighted sum over rows; weight 2 is a row seen twice."""
    middle = float(np.average(values, weights=weight))
    return math.hypot(math.sqrt(float(weight @ (values - middle) ** 2)), unseen)
