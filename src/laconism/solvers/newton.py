"""Iteratively re-weighted least squares with the true Hessian of the likelihood."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .._component import Component, is_name, is_positive, require
from ..priors import Prior
from .problem import (
    MAX_ROWS_FOR_RETRY,
    TALL_ROWS_PER_COLUMN,
    Problem,
    State,
    objective_converged,
)
from .starts import best_start, better_start, l1_start, smooth_start
from .steps import newton_step, scaled_ridge_start

# With this many observations per column a regression may also start with all columns: the residuals of
# such a fit still estimate the noise.
_MIN_ROWS_PER_COLUMN_FULL_START = 1.2
# No full start with more columns than this, to save time.
_MAX_COLUMNS_FULL_START = 500


class Newton(Component):
    r"""Newton's method on the likelihood, the touching Gaussian for the prior, step halving.

    The bound of EM has curvature 1 everywhere, the largest that a probit has, at rows that are far on
    the wrong side. The true curvature leads to the same stationary points in far fewer iterations
    (``python -m benchmarks run solves``).

    Parameters
    ----------
    start : {"auto", "ridge", "l1"}, default="auto"
        Where to begin. ``"l1"`` first solves a convex lasso problem at the level of the noise, without
        a parameter and independent of units; ``"ridge"`` spreads the weight over all columns. ``"auto"``
        takes ``"l1"`` for priors that absorb zeros and ``"ridge"`` for the others. With 20 or more
        observations per feature it takes the maximum of the likelihood, unless classes are nearly
        separable. A regression on up to 500 features, with at least 1.2 observations per feature, tries
        both the lasso and the maximum of the likelihood and takes the start whose model has the larger
        fit less the price of its columns: a lasso fails where features are strongly correlated, such as
        those of a spectrum.
    rate : float, optional
        Rate of the lasso start, as a fraction of the universal threshold ``sqrt(2 log p)`` in standard
        errors; by default one that depends on the kind of problem. For kernels on up to 1000
        observations under a prior whose kernels are not exchanged at the end (all but Jeffreys'), two
        rates are tried and the one with the better model is taken.
    """

    prunes = True
    checks_excluded = True  # a start with exact zeros may have left out a useful column
    exchanges = True  # kept kernels may be exchanged for better ones at the end

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
        # Factors that only choose kernels, which are then weighed as exact columns, may be rougher.
        return 1e-6 if np.isinf(prior.kink) and self.start != "ridge" else 1e-8

    def init(self, problem: Problem) -> State:
        """Return the start."""
        if self.start == "ridge" or (self.start == "auto" and not np.isinf(problem.prior.kink)):
            return scaled_ridge_start(problem)
        n_seen, p = problem.weight.sum(), problem.design.shape[1]
        if self.start == "auto" and not problem.kernels and n_seen >= TALL_ROWS_PER_COLUMN * p:
            return smooth_start(problem)
        if self.start == "auto" and self._may_be_collinear(problem):
            return better_start(problem, self)
        # Where kernels are exchanged at the end, one start is enough.
        if (
            self.rate is None
            and problem.kernels
            and n_seen <= MAX_ROWS_FOR_RETRY
            and not problem.penalty_unbounded
        ):
            return best_start(problem, self)
        return l1_start(problem, self.rate)

    @staticmethod
    def _may_be_collinear(problem: Problem) -> bool:
        """Return whether features may be collinear, with rows enough to estimate all their weights."""
        p = problem.design.shape[1]
        room = 1 < p <= _MAX_COLUMNS_FULL_START
        room = room and float(problem.weight.sum()) >= _MIN_ROWS_PER_COLUMN_FULL_START * p
        return room and problem.penalty_unbounded and not problem.kernels

    def step(self, problem: Problem, state: State) -> State:
        """Return the state after one safeguarded Newton step."""
        return newton_step(problem, state)

    def done(self, problem: Problem, old: State, new: State, tol: float) -> str | None:
        """Return a sentence if the objective has stopped rising."""
        return objective_converged(problem, old, new, tol)
