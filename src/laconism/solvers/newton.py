"""Iteratively re-weighted least squares with the true Hessian of the likelihood."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .._component import Component, is_name, is_positive, require
from .._protocols import Prior
from .problem import FEW_ROWS, Problem, State, objective_converged
from .ridge_starts import scaled_ridge_start
from .starts import best_start, better_start, l1_start, smooth_start
from .steps import newton_step

# From this many observations for each column on, the data alone determine every weight.
_TALL = 20
# With so many observations for each column, and no more columns than this, a regression may also begin
# with all of them: what is left over tells of the noise, and it takes no time.
_ROOM, _FEW_COLUMNS = 1.2, 500
# Part of a kernel matrix that its factors may miss where they choose the kernels of a start, which are
# then weighed as exact columns, and where they weigh all kernels. The weights of the papers' problem
# came out within 1e-7 of those of the full matrix, for both.
_CHOOSE, _WEIGH = 1e-6, 1e-8


class Newton(Component):
    r"""Newton's method on the likelihood, the touching Gaussian for the prior, step halving.

    The bound of EM has curvature 1 everywhere; the true curvature of a probit is that only for a
    hopelessly misclassified row. Using it takes far fewer iterations (``python -m benchmarks run
    solves``) to the same stationary points: the gradient is zero at the answer.

    Parameters
    ----------
    start : {"auto", "ridge", "l1"}, default="auto"
        Where to begin. ``"l1"`` solves a convex lasso problem at the noise's own level first, without
        a parameter and in the columns' own units; ``"ridge"`` spreads the weight over all columns.
        ``"auto"`` takes ``"l1"`` for priors that absorb zeros and ``"ridge"`` for the others; features
        that are outnumbered twenty to one by observations start where the likelihood alone puts them,
        unless that is nearly at infinity. A regression on up to 500 features, with a fifth more
        observations than those, begins at both, and the start whose model explains most for its size
        is taken: a lasso loses its way among features that repeat each other, such as a spectrum's.
    rate : float, optional
        Rate of the lasso start, as a part of the universal threshold ``sqrt(2 log p)`` in standard
        errors; by default what has recovered known models best. For kernels on few rows under a prior
        whose kernels are not exchanged in the end (all but Jeffreys'), two of them are tried, and the
        one whose model explains most for its size is taken.
    """

    prunes = True
    looks_again = True  # for what a start that makes zeros may have left out
    exchanges = True  # kernels for better ones, at the end

    def __init__(
        self, start: Literal["auto", "ridge", "l1"] = "auto", rate: float | None = None
    ) -> None:
        self.start = start
        self.rate = rate

    def check(self) -> None:
        """Raise unless ``start`` is known and ``rate`` positive."""
        known = is_name(self.start, "auto", "ridge", "l1")
        require(known, self, "start must be 'auto', 'ridge' or 'l1'", self.start)
        positive = self.rate is None or is_positive(self.rate)
        require(positive, self, "rate must be a positive number or None", self.rate)

    def rank_tol(self, prior: Prior) -> float:
        """Return how much of a kernel matrix its factors may miss."""
        return _CHOOSE if np.isinf(prior.kink) and self.start != "ridge" else _WEIGH

    def init(self, problem: Problem) -> State:
        """Return the start."""
        if self.start == "ridge" or (self.start == "auto" and not np.isinf(problem.prior.kink)):
            return scaled_ridge_start(problem)
        n_seen, p = problem.weight.sum(), problem.design.shape[1]
        if self.start == "auto" and not problem.kernels and n_seen >= _TALL * p:
            return smooth_start(problem)
        if self.start == "auto" and self._may_repeat(problem):
            return better_start(problem, self)
        # Where kernels are exchanged in the end, it matters less with which ones a search begins.
        if (
            self.rate is None
            and problem.kernels
            and n_seen <= FEW_ROWS
            and not problem.penalty_unbounded
        ):
            return best_start(problem, self)
        return l1_start(problem, self.rate)

    @staticmethod
    def _may_repeat(problem: Problem) -> bool:
        """Return whether features may repeat each other, and there are rows enough to weigh them all."""
        p = problem.design.shape[1]
        room = 1 < p <= _FEW_COLUMNS and problem.weight.sum() >= _ROOM * p
        return room and problem.penalty_unbounded and not problem.kernels

    def step(self, problem: Problem, state: State) -> State:
        """Return the state after one safeguarded Newton step."""
        return newton_step(problem, state)

    def done(self, problem: Problem, old: State, new: State, tol: float) -> str | None:
        """Return a sentence if the objective has stopped rising."""
        return objective_converged(problem, old, new, tol)
