"""An exact solver for the Laplace prior, whose problem is convex; it ends with a certificate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._component import Component
from .._protocols import Array, Index
from ..linalg import dissimilar, solve_semidefinite
from ..priors import Prior
from .line_search import backtrack
from .problem import Problem, State, objective_converged

# Columns that join the working set at once; as many as it has, once those are more.
_MIN_COLUMNS_ADDED = 64
# Kernels that join it at once where columns have near duplicates.
_KERNELS_ADDED = 6
# No two of them have a larger absolute cosine than this.
_MAX_COSINE = 0.65


class Proximal(Component):
    r"""Proximal Newton on a working set, for penalties :math:`\mathrm{rate}\,|w|`.

    On the working set the likelihood is replaced by its second-order expansion, whose lasso is solved
    exactly without a pass over the rows. Then the columns that violate optimality most join the set. It
    ends with a certificate: for every column :math:`|\partial\log p/\partial w_j| \le \mathrm{rate}`,
    with equality and the right sign where :math:`w_j \ne 0`.

    Parameters
    ----------
    fit_noise : bool, default=True
        Whether the likelihood's own parameters are re-estimated along the way.
    certify : bool, default=True
        Whether to go on until the certificate holds; ``False`` stops when growing the working set
        gains less than ``tol`` nats per observation, good enough for a start.
    """

    prunes = False

    def __init__(self, fit_noise: bool = True, certify: bool = True) -> None:
        self.fit_noise = fit_noise
        self.certify = certify

    def rank_tol(self, prior: Prior) -> float:
        """Return the relative error that the factors of a kernel matrix may have."""
        return 1e-8  # below the accuracy of the certificate

    def init(self, problem: Problem) -> State:
        """Return the empty model."""
        return problem.empty()

    def step(self, problem: Problem, state: State, max_steps: int = 4) -> State:
        """Return the state after the working set has grown and been solved.

        That takes a few Newton steps, until one gains a small fraction of what all have gained. For a
        start, the working set may grow earlier.
        """
        working = self._working_set(problem, state)
        part = problem.keep(working)
        inner = replace(state, w=state.w[working], gradient=None, metric=None)
        inner_tol, tol = (0.01, 1e-10) if self.certify else (0.1, 1e-3)
        for _ in range(max_steps):
            before, inner = inner, _newton_lasso(part, inner, tol)
            if inner.objective - before.objective <= inner_tol * (inner.objective - state.objective):
                break
        if self.fit_noise:
            inner = part.reestimate(inner)
        w = np.zeros_like(state.w)
        w[working] = inner.w
        # The gradient of all columns shows whether this is optimal.
        new = replace(inner, w=w, gradient=None, metric=None)
        return replace(new, gradient=problem.gradient(new))

    def _working_set(self, problem: Problem, state: State) -> Index:
        support, excess = state.w != 0, _excess(problem, state)
        if not excess.any():
            return np.flatnonzero(support)
        if problem.near_duplicates:
            worst = dissimilar(excess, problem.cosines, _KERNELS_ADDED, _MAX_COSINE)
        else:
            worst = np.argsort(-excess, kind="stable")[: max(_MIN_COLUMNS_ADDED, int(support.sum()))]
        support[worst[excess[worst] > 0]] = True
        return np.flatnonzero(support)

    def done(self, problem: Problem, old: State, new: State, tol: float) -> str | None:
        """Return a sentence if the certificate of optimality holds."""
        if not self.certify:
            enough = tol * float(problem.weight.sum())
            if not problem.near_duplicates and _expected_gains(problem, new).sum() <= enough:
                return f"converged: no columns promise more than {tol:g} nats per observation"
            still = objective_converged(problem, old, new, tol)
            # Of kernels that are all similar a few join at a time, and the first may gain nothing. The
            # next ones join only if something has changed.
            moved = old.objective != new.objective or not np.array_equal(old.w, new.w)
            waits = (
                still
                and moved
                and problem.near_duplicates
                and _expected_gains(problem, new).max(initial=0.0) > enough
            )
            return None if waits else still
        residual = optimality(problem, new)
        if residual <= 1e-3 * np.sqrt(tol):  # the objective is quadratic in the error of the slopes
            return f"converged: optimal to {residual:.1e} of the rate"
        if old.objective == new.objective:
            errors = optimality(problem, new, np.sqrt(problem.curvature(new)))
            return (
                f"converged to the last digit: optimal to {residual:.1e} of the rate, "
                f"{errors:.1e} of the rate or standard error"
            )
        return None


def _excess(problem: Problem, state: State) -> Array:
    """Return by how much the slopes of columns of weight zero exceed the prior's kink."""
    excess = np.abs(problem.gradient(state)) - problem.kinks()
    return np.where(state.w != 0, 0.0, np.maximum(excess, 0.0))


def _expected_gains(problem: Problem, state: State) -> Array:
    """Return the nats that each column of weight zero would gain alone.

    In the units of ``scale`` the curvature along each of them is about one.
    """
    excess = _excess(problem, state)
    return np.asarray((excess if problem.scale is None else excess / problem.scale) ** 2 / 2)


def optimality(problem: Problem, state: State, least_unit: Array | float = 0.0) -> float:
    """Return the largest violation of the lasso's optimality conditions, in units of the rate.

    ``least_unit`` is a unit for those slopes whose rate is smaller, such as their standard errors.
    """
    slope, rate = problem.gradient(state), problem.kinks()
    level = 0.0
    if problem.intercept:  # its slope, in standard errors
        information = float(problem.laplace_targets(state)[0].sum())
        level = abs(float(problem.weight @ state.slope)) / np.sqrt(information)
    if not slope.size:
        return level
    at_zero = np.maximum(np.abs(slope) - rate, 0.0)
    off = np.where(state.w == 0, at_zero, np.abs(slope - rate * np.sign(state.w)))
    return max(level, float((off / np.maximum(rate, least_unit)).max()))


def _newton_lasso(problem: Problem, state: State, tol: float) -> State:
    """Return the state after one Newton step: the lasso of the second-order expansion."""
    metric = problem.metric(state) if state.metric is None else state.metric
    H, push = metric.gram, float(problem.weight @ state.slope)
    level, slope = push * metric.spread, problem.gradient(state) - push * metric.centre
    w = lasso_quadratic(H, slope + H @ state.w, problem.kinks(), state.w, tol)
    dw = w - state.w
    db = level - float(metric.centre @ dw)
    with np.errstate(over="ignore", invalid="ignore"):  # a curvature of rounding has no minimum
        promised = slope @ dw - dw @ H @ dw / 2 + problem.penalty(state.w) - problem.penalty(w)
    promised += push * level / 2
    if not promised > 1e-15 * abs(state.objective):  # lost in rounding
        return state

    def at(step: float) -> State:
        # The whole step lands on exact zeros, which w + (w' - w) would miss by a rounding.
        moved = w if step == 1 else state.w + step * dw
        return problem.state(moved, state.b + step * db, state.likelihood)

    def rises(new: State, _: float) -> bool:
        return new.objective > state.objective

    reused = metric is state.metric
    found = backtrack(at, rises, max_trials=1) if reused else backtrack(at, rises)
    if found is not None:
        new, step = found
        return problem.reuse_metric(metric, new) if problem.many_rows and step == 1 else new
    # The metric of an earlier state may be out of date here.
    return _newton_lasso(problem, replace(state, metric=None), tol) if reused else state


def lasso_quadratic(
    H: Array,
    c: Array,
    rate: Array,
    w: Array,
    tol: float = 1e-10,
    *,
    rounding: float = 0.0,
    reach: float = 1e100,
) -> Array:
    r"""Return the minimiser of :math:`\tfrac12 w^T H w - c^T w + \sum_j \mathrm{rate}_j |w_j|`.

    An active-set method: within an orthant the minimiser is one linear solve, on the way to which the
    first weight that reaches zero stays there. Slopes within ``tol`` of the rate count as equal to it.
    So do those within ``rounding`` of the sum of their terms: the slopes of an ill-conditioned matrix
    may never come nearer. A weight whose minimum is farther than ``reach``, for lack of curvature, stays
    where it is.
    """
    w, length = w.copy(), np.sqrt(np.maximum(np.diag(H), 0.0))
    slack, curved, lost = tol * rate, reach * H.diagonal() > np.abs(c), False
    for _ in range(10 * (w.size + 1)):
        slope, on = c - H @ w, w != 0
        if rounding:
            terms = np.abs(c) + length * (length @ np.abs(w))  # |H_jk| <= length_j length_k
            slack = tol * rate + rounding * terms
        sign = np.sign(np.where(on, w, slope))
        steep = slope - rate * sign
        free = (curved & (on | (steep * sign > slack))).nonzero()[0]
        if (np.abs(steep[free]) <= slack[free]).all():
            break
        free, d = _direction(H, free, sign, steep, w)
        if rounding:  # one step beyond it is enough
            below = not steep[free] @ d > rounding * (terms @ np.abs(w))
            if below and lost:
                break
            lost |= below
        start = w[free]
        shrinking = (d * sign[free] < 0).nonzero()[0]  # none of them at zero: see _direction
        with np.errstate(over="ignore"):  # a step of nearly zero crosses zero at infinity
            crossing = -start[shrinking] / d[shrinking]
        t = crossing.min(initial=1.0)
        w[free] = start + t * d
        w[free[shrinking[crossing <= t]]] = 0.0
    return w


def _direction(H: Array, free: Index, sign: Array, steep: Array, w: Array) -> tuple[Index, Array]:
    """Return the free weights and the step to their minimum, none leaving zero on the wrong side.

    The steepest one, added alone to a solved support, never would, so it is held last.
    """
    while True:
        d = solve_semidefinite(H[free[:, None], free], steep[free])
        at_zero = w[free] == 0
        wrong = at_zero & (d * sign[free] <= 0)
        if not wrong.any():
            return free, d
        if wrong.sum() == at_zero.sum() > 1:
            wrong[np.argmax(np.where(at_zero, np.abs(steep[free]), -1.0))] = False
        free = free[~wrong]
