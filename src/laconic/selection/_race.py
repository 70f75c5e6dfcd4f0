"""Candidates that will not be chosen are not tried on the folds that are left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._protocols import Array
from ..priors import GeneralizedGaussian
from ._confidence import Said, settle
from ._path import Entry, Trial, Tried

# How many standard errors of their difference, row by row, make it clear that a candidate is behind the
# leader, and that it will not be ahead of a sparser one.
_BEHIND, _IDLE = 1.5, 2.0


@dataclass
class Runner:
    """A candidate: a prior at a width, and how it has done so far."""

    prior: GeneralizedGaussian
    gamma: float | None
    tried: list[Tried] = field(default_factory=list)
    runs: bool = True

    @property
    def entry(self) -> Entry:
        """Return it as the next fold sees it: the scales of the last fold are its first guess."""
        return Entry(self.prior, self.tried[-1].scales if self.tried else [], self.runs)

    @property
    def size(self) -> tuple[float, float]:
        """How many columns it has kept, in the mean; and its shape, where that cannot tell."""
        return float(np.mean([each.trial.kept for each in self.tried])), self.prior.q

    @property
    def params(self) -> dict[str, Any]:
        """Return it as parameters of the estimator."""
        params: dict[str, Any] = {"prior__q": self.prior.q, "prior__scale": self.prior.scale}
        return params if self.gamma is None else {**params, "gamma": self.gamma}

    def trials(self, factors: Array, n_folds: int) -> list[Trial]:
        """Return a trial for each fold, its variances settled; of folds that it did not see, nothing."""
        best = settle(self.said, factors)
        trials = [
            each.trial._replace(score=float(each.said.scores()[best]), factor=float(factors[best]))
            for each in self.tried
        ]
        return trials + [Trial()] * (n_folds - len(trials))

    @property
    def said(self) -> list[Said]:
        """What it has said of the rows of each fold."""
        return [each.said for each in self.tried]

    def log_p(self, factors: Array) -> Array:
        """Return what it says of all rows so far, its variances settled."""
        best = settle(self.said, factors)
        return np.concatenate([said.log_p[best] for said in self.said])


def thin_out(runners: Sequence[Runner], factors: Array, total: float, allowed: float | None) -> None:
    """Stop those of which it is clear already that they will not be chosen.

    In the end the sparsest is chosen of those that are behind the best by no more nats than are
    ``allowed``, on rows of the weight ``total``; None is one standard error of the best. So one that is
    further behind is out, and one that does not lead and will not be ahead of a sparser one by as much.

    Rows are compared one by one: what is hard is hard for all, and the difference between two
    candidates is known far better than the score of either.
    """
    running = [runner for runner in runners if runner.runs]
    log_p = np.array([runner.log_p(factors) for runner in running])
    weight = np.concatenate([said.weight for said in running[0].said])
    share, leader = float(weight.sum()) / total, int(np.argmax(log_p @ weight))
    if allowed is None:
        allowed = _error(log_p[leader], weight) / math.sqrt(share)
    stays: list[int] = []
    for one in sorted(range(len(running)), key=lambda one: running[one].size):
        lead = log_p[leader] - log_p[one]
        behind = weight @ lead > max(_BEHIND * _error(lead, weight), allowed * share)
        ahead = (log_p[one] - log_p[sparser] for sparser in stays)
        idle = one != leader and any(
            weight @ gain + _IDLE * _error(gain, weight) < allowed * share for gain in ahead
        )
        running[one].runs = not (behind or idle)
        if running[one].runs:
            stays.append(one)


def _error(values: Array, weight: Array) -> float:
    """Return the standard error of a weighted sum over rows; weight 2 is a row seen twice."""
    middle = float(np.average(values, weights=weight))
    return math.sqrt(float(weight @ (values - middle) ** 2))
