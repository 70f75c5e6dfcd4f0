"""Expectation maximisation, to the letter of the papers."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from .._component import Component, is_name, is_positive, require
from .problem import Problem, State, objective_converged
from .steps import em_step, ridge_start


class EM(Component):
    r"""The EM algorithm of Figueiredo (NIPS 2001; with Jain, CVPR 2001) for any prior and likelihood.

    .. math:: w \leftarrow D (I + D \Phi^T R \Phi D)^{-1} D \Phi^T R z, \quad D^2 = v(w^2)

    Parameters
    ----------
    ridge : float, default=1e-6
        Penalty of the ridge regression it starts from.
    stop : {"objective", "weights"}, default="objective"
        ``"weights"`` is the papers' rule, :math:`\|\Delta w\| < \mathrm{tol}\,\|w\|` (they take
        ``tol=1e-3``), which can stop a nat too early; ``"objective"`` stops when an iteration gains
        less than ``tol`` nats per observation.
    """

    prunes = True

    def __init__(self, ridge: float = 1e-6, stop: Literal["objective", "weights"] = "objective") -> None:
        self.ridge = ridge
        self.stop = stop

    def check(self) -> None:
        """Raise unless ``ridge`` is positive and ``stop`` is known."""
        require(is_positive(self.ridge), self, "ridge must be a positive number", self.ridge)
        known = is_name(self.stop, "objective", "weights")
        require(known, self, "stop must be 'objective' or 'weights'", self.stop)

    def init(self, problem: Problem) -> State:
        """Return the papers' weakly penalised ridge estimate, step 2 of [FJ01]."""
        return ridge_start(problem, self.ridge)

    def step(self, problem: Problem, state: State) -> State:
        """Return the state after one iteration, or the same state if rounding lowers the objective.

        EM never lowers it in exact arithmetic, but columns of entries of 1e30 leave no digit of the
        normal equations.
        """
        with np.errstate(all="ignore"):
            new = em_step(problem, state)
        # Less than a nat is the usual rounding of a sum over rows, and changes nothing.
        lost = np.isfinite(state.objective) and not new.objective > state.objective - 1
        return replace(state) if lost else new

    def done(self, problem: Problem, old: State, new: State, tol: float) -> str | None:
        """Return a sentence if the chosen rule is met."""
        if self.stop == "objective":
            return objective_converged(problem, old, new, tol)
        if np.linalg.norm(new.w - old.w) <= tol * np.linalg.norm(old.w):
            return f"converged: the weights moved by less than {tol:g} of their length"
        return None
