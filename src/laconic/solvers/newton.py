"""Iteratively re-weighted least squares with the true Hessian of the likelihood."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from .._component import Component, require
from ._loop import Problem, State, flat
from ._starts import l1_start, scaled_ridge_start
from .em import em_step

_HALVINGS = 20


class Newton(Component):
    r"""Newton's method on the likelihood, the touching Gaussian for the prior, step halving.

    The bound of EM has curvature 1 everywhere; the true curvature of a probit is that only for a
    hopelessly misclassified row. Using it takes a thirtieth of the iterations (FINDINGS; `make bench`)
    to the same stationary points: the gradient is zero at the answer.

    Parameters
    ----------
    start : {"auto", "ridge", "l1"}, default="auto"
        Where to begin. ``"l1"`` solves a convex lasso problem at the noise's own level first, without
        a parameter and in the columns' own units; ``"ridge"`` spreads the weight over all columns.
        ``"auto"`` takes ``"l1"`` for priors that absorb zeros and ``"ridge"`` for the others.
    """

    prunes = True

    def __init__(self, start: Literal["auto", "ridge", "l1"] = "auto") -> None:
        self.start = start

    def check(self) -> None:
        """Raise unless ``start`` is known."""
        known = self.start in ("auto", "ridge", "l1")
        require(known, self, "start must be 'auto', 'ridge' or 'l1'", self.start)

    def init(self, problem: Problem) -> State:
        """Return the start."""
        sparse = np.isinf(problem.prior.kink) if self.start == "auto" else self.start == "l1"
        return l1_start(problem) if sparse else scaled_ridge_start(problem)

    def step(self, problem: Problem, state: State) -> State:
        """Return the state after one safeguarded Newton step."""
        answer = problem.ridge(*problem.osculate(state), state.w)
        dw, db = answer.weights - state.w, answer.intercept - state.b
        for halving in range(_HALVINGS):
            t = 0.5**halving
            w, b = state.w + t * dw, state.b + t * db
            new = problem.refit(w, b, state.likelihood, state.offset)
            if new.objective >= state.objective:
                return new
        new = em_step(problem, state)
        # At the answer rounding alone decides; an ascent method then stays where it is.
        return new if new.objective >= state.objective else replace(state)

    def done(self, problem: Problem, old: State, new: State, tol: float) -> str | None:
        """Return a sentence if the objective has stopped rising."""
        return flat(problem, old, new, tol)
