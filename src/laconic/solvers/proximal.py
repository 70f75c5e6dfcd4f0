"""The convex case: an exact solver for the Laplace prior that ends by a certificate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._component import Component
from .._protocols import Array, Index
from ..linalg import newton_direction
from ._loop import Problem, State

# Columns taken into the working set at once, at the least; it doubles with the support.
_GROWTH = 10
_INNER = 50
_HALVINGS = 30
# The certificate: slopes meet the optimality conditions to this part of sqrt(tol). The objective is
# quadratic in the slopes' error, so sqrt(tol) is its natural measure.
_CERTIFICATE = 1e-3


class Proximal(Component):
    r"""Proximal Newton on a working set, for penalties :math:`\mathrm{rate}\,|w|`.

    On the working set the signs are fixed, so the problem is smooth: a Newton step, cut off where a
    weight would change its sign (it becomes zero). When the working set is solved, the columns that
    violate optimality most join it. It ends by a certificate: for every column
    :math:`|\partial\log p/\partial w_j| \le \mathrm{rate}`, with equality and the right sign where
    :math:`w_j \ne 0`.

    Parameters
    ----------
    fit_noise : bool, default=True
        Whether the likelihood's own parameters are re-estimated along the way.
    """

    prunes = False

    def __init__(self, fit_noise: bool = True) -> None:
        self.fit_noise = fit_noise

    def init(self, problem: Problem) -> State:
        """Return the empty model."""
        return problem.refit(np.zeros(problem.design.shape[1]), 0.0, problem.likelihood)

    def step(self, problem: Problem, state: State) -> State:
        """Return the state after the working set has grown and been solved."""
        working = self._working_set(problem, state)
        part = problem.keep(working)
        inner = replace(state, w=state.w[working])
        inner = _solve_on_orthants(part, inner, 1e-9)
        w = np.zeros_like(state.w)
        w[working] = inner.w
        if self.fit_noise:
            return problem.refit(w, inner.b, inner.likelihood)
        return problem.state(w, inner.b, inner.likelihood)

    def _working_set(self, problem: Problem, state: State) -> Index:
        support = state.w != 0
        excess = np.where(support, -np.inf, np.abs(problem.gradient(state)) - problem.kinks())
        room = max(_GROWTH, int(support.sum()))
        worst = np.argsort(-excess, kind="stable")[:room]
        support[worst[excess[worst] > 0]] = True
        return np.flatnonzero(support)

    def done(self, problem: Problem, old: State, new: State, tol: float) -> str | None:
        """Return a sentence if the certificate of optimality holds."""
        residual = optimality(problem, new)
        if residual <= _CERTIFICATE * np.sqrt(tol):
            return f"converged: optimal to {residual:.1e} of the rate"
        if old.objective == new.objective:
            return f"converged to the last digit: optimal to {residual:.1e} of the rate"
        return None


def optimality(problem: Problem, state: State) -> float:
    """Return the largest violation of the lasso's optimality conditions, in units of the rate."""
    slope, rate = problem.gradient(state), problem.kinks()
    if not slope.size:
        return 0.0
    off = np.maximum(np.abs(slope) / rate - 1, 0.0)
    on = np.abs(slope / rate - np.sign(state.w))
    return float(np.where(state.w == 0, off, on).max())


def _solve_on_orthants(problem: Problem, state: State, tol: float) -> State:
    """Return the lasso solution on these columns, by Newton steps within orthants."""
    rate = problem.kinks()
    for _ in range(_INNER):
        slope_f, curvature = state.likelihood.derivatives(problem.y, state.f)
        level = float(problem.weight @ slope_f) if problem.intercept else 0.0
        slope = problem.design.rmatvec(problem.weight * slope_f)
        sign = np.where(state.w != 0, np.sign(state.w), np.sign(slope))
        steep = slope - rate * sign
        # A zero weight moves only if its slope beats the penalty.
        free = np.flatnonzero((state.w != 0) | (steep * sign > 0))
        r = problem.weight * np.maximum(curvature, 1e-10)
        flat = (np.abs(steep[free]) <= tol * rate[free]).all()
        if flat and abs(level) <= tol * np.sqrt(r.sum()):
            break
        free, d, db = _direction(problem, state, free, sign, steep, r, level)
        new = _line_search(problem, state, free, sign[free], d, db)
        if new is None:
            break
        state = new
    return state


def _direction(
    problem: Problem, state: State, free: Index, sign: Array, steep: Array, r: Array, level: float
) -> tuple[Index, Array, float]:
    """Return the Newton step on the free weights, none of which leaves zero on the wrong side.

    Weights that would are held at zero and the step is taken without them. The steepest alone, added
    to a solved support, never would: so it is the last to be held.
    """
    while True:
        d, db = newton_direction(
            problem.design.keep(free), r, steep[free], level, intercept=problem.intercept
        )
        at_zero = state.w[free] == 0
        wrong = at_zero & (d * sign[free] <= 0)
        if not wrong.any():
            return free, d, db
        if wrong.sum() == at_zero.sum() > 1:
            wrong[np.argmax(np.where(at_zero, np.abs(steep[free]), -1.0))] = False
        free = free[~wrong]


def _line_search(
    problem: Problem, state: State, free: Index, sign: Array, d: Array, db: float
) -> State | None:
    """Return the first better state along the step: whole and folded at zero, or cut and halved."""
    w = state.w[free]
    with np.errstate(divide="ignore", invalid="ignore"):
        # When each weight reaches zero; never, for those that move away from it.
        crossing = np.where((w != 0) & (d * sign < 0), -w / d, np.inf)

    def at(t: float) -> State:
        full = state.w.copy()
        full[free] = np.where(crossing <= t, 0.0, w + t * d)
        return problem.state(full, state.b + t * db, state.likelihood)

    # Up to the first sign change the objective is smooth and concave, so a short enough step cannot
    # fail but for rounding at the answer. The whole step, folded, usually does not fail either.
    first = float(min(crossing.min(initial=1.0), 1.0))
    for t in (1.0, *(first * 0.5**halving for halving in range(_HALVINGS))):
        new = at(t)
        if new.objective > state.objective:
            return new
    return None
