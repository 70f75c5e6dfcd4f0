"""Acceleration as a wrapper around any solver."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._component import Component
from .._protocols import Array
from ..priors import Prior
from .em import EM
from .loop import rank_tolerance
from .problem import Problem, State


class Accelerated(Component):
    r"""Extrapolate the steps of another solver; never accept a worse objective.

    SQUAREM (R. Varadhan, C. Roland, Scandinavian Journal of Statistics 35, 2008) takes two steps,
    :math:`r` and then :math:`r + v`, and extrapolates to :math:`w - 2\alpha r + \alpha^2 v` with
    :math:`\alpha = -\|r\|/\|v\|`, followed by a step of the solver itself. Under a prior that is not
    convex that may lead to another optimum.

    Parameters
    ----------
    solver : Solver, default=None
        What to accelerate; ``None`` is :class:`EM`.

    Examples
    --------
    >>> from laconism import SparseBayesClassifier
    >>> from laconism.datasets import make_ripley
    >>> from laconism.priors import GeneralizedGaussian
    >>> from laconism.solvers import EM, Accelerated
    >>> X, y = make_ripley(100, random_state=0)
    >>> prior = GeneralizedGaussian(q=1.5, scale=1.0)
    >>> plain = SparseBayesClassifier(prior, kernel="rbf", solver="em", max_iter=20000).fit(X, y)
    >>> quick = SparseBayesClassifier(prior, kernel="rbf", solver=Accelerated(EM())).fit(X, y)
    >>> quick.n_iter_ < plain.n_iter_ / 5
    True
    """

    def __init__(self, solver: Any = None) -> None:
        self.solver = solver

    def check(self) -> None:
        """Raise unless the solver is valid."""
        self._inner.check()

    @property
    def _inner(self) -> Any:
        return EM() if self.solver is None else self.solver

    @property
    def prunes(self) -> bool:
        """Whether the solver prunes."""
        return bool(self._inner.prunes)

    @property
    def exchanges(self) -> bool:
        """Whether the solver's kernels are exchanged for better ones at the end."""
        return bool(getattr(self._inner, "exchanges", False))

    @property
    def checks_excluded(self) -> bool:
        """Whether columns that the start has left out are checked at the end."""
        return bool(getattr(self._inner, "checks_excluded", False))

    def rank_tol(self, prior: Prior) -> float:
        """Return how much of a kernel matrix its factors may miss: what the solver itself allows."""
        return rank_tolerance(self._inner, prior)

    def init(self, problem: Problem) -> State:
        """Return the solver's own start."""
        return self._inner.init(problem)  # type: ignore[no-any-return]

    def step(self, problem: Problem, state: State) -> State:
        """Return the state after a jump, or after the solver's own steps if those lead higher."""
        inner = self._inner
        first = inner.step(problem, state)
        reached = inner.step(problem, first)
        r = _difference(first, state)
        v = _difference(reached, first) - r
        bend = float(np.linalg.norm(v))
        if bend == 0:
            return reached  # type: ignore[no-any-return]
        alpha = min(-float(np.linalg.norm(r)) / bend, -1.0)
        target = np.append(state.w, state.b) - 2 * alpha * r + alpha**2 * v
        landed = problem.refit(target[:-1], float(target[-1]), reached.likelihood, state.offset)
        if not np.isfinite(landed.objective):
            return reached  # type: ignore[no-any-return]
        landed = inner.step(problem, landed)
        return landed if landed.objective >= reached.objective else reached  # type: ignore[no-any-return]

    def done(self, problem: Problem, old: State, new: State, tol: float) -> str | None:
        """Return the solver's own sentence."""
        return self._inner.done(problem, old, new, tol)  # type: ignore[no-any-return]


def _difference(new: State, old: State) -> Array:
    """Return how far weights and intercept have moved, as one vector."""
    return np.append(new.w - old.w, new.b - old.b)
