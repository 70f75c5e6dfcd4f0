"""When a search among many columns is over: who may stay, and how large those are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from .._protocols import Array, Likelihood, Prior
from ..judging.price import selection_price
from ..laplace.mode import refit_by_degrees
from ..likelihoods import Binary
from ..linalg import Quadratic, solve_semidefinite
from ..priors import Gaussian
from . import Callback, Metric, Problem, Solution, Solver, State, resume

# The common width is found when it stays the same to this part; so many turns at the most.
_SAME, _TURNS = 1e-10, 200
# A column whose t-value promises so many times its price is not looked at more closely.
_PLENTY = 2.0
# No width beyond this many standard errors: it would be no prior.
_WIDEST = 1e6


def refit_selected(
    answer: Solution,
    unbound: Prior,
    n_candidates: int,
    solver: Solver,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None,
) -> Solution:
    """Return the columns that are worth their price, estimated as if nobody had searched.

    A prior that chooses among many columns shrinks each by itself, the more the smaller it is: it might
    still be noise. That costs large ones more than least squares would. Those that were chosen are a few
    weights of a like size, and one Gaussian for all of them, its width by the evidence, costs less
    (Stein). So it is for targets, where the evidence is exact; Laplace's is too timid where classes are
    nearly separable, and there the prior of that many columns goes on.
    """
    settings: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "callback": callback}
    few = answer
    if not answer.problem.kernels:  # whose weights are of any size, and cancel
        few, free = dismiss(answer, n_candidates)
        if _is_quadratic(few.state):
            return _estimate(few, free, solver, settings)
    labels = isinstance(few.state.likelihood, Binary)
    settled = unbound.bind(few.active.size, kernel=few.problem.kernels, labels=labels)
    if few is answer and settled == few.problem.prior:
        return answer
    problem = replace(few.problem, prior=settled)
    return resume(few, problem, problem.with_objective(few.state), solver, **settings)


def _estimate(few: Solution, free: _Free, solver: Solver, settings: dict[str, Any]) -> Solution:
    """Return the weights under one Gaussian for all of them."""
    # The noise is that of the free weights: what a strict prior has shrunk away is none.
    likelihood = refit_by_degrees(few.problem, free.best.likelihood, free.best.f, free.w.size)
    more = resume(few, *_of_a_like_size(free, likelihood.hold()), solver, **settings)
    return replace(
        more,
        state=replace(more.state, likelihood=likelihood),
        problem=replace(more.problem, likelihood=likelihood),
    )


def dismiss(answer: Solution, n_candidates: int) -> tuple[Solution, _Free]:
    """Return the answer without the columns that are not worth their price; the last one stays."""
    here = answer
    while True:
        free = _Free.of(here.problem, here.state)
        least = int(np.argmin(free.evidence))
        asked = selection_price(free.evidence, least, n_candidates)
        # To second order it brings half of its squared t-value: no need to look if that is plenty.
        if here.active.size == 1 or free.evidence[least] / 2 > _PLENTY * asked:
            return here, free
        less = free.without(least)
        if free.best.fit - less.fit >= asked:
            return here, free
        left = np.delete(np.arange(here.active.size), least)
        problem = here.problem.keep(left)
        state = problem.state(less.w[left], less.b, less.likelihood)
        state = replace(state, objective=answer.state.objective)  # another model, no worse for that
        here = replace(here, active=here.active[left], problem=problem, state=state)


@dataclass(frozen=True)
class _Free:
    """The weights that the likelihood alone would choose, to second order."""

    problem: Problem
    state: State  # where the curvature was taken
    metric: Metric
    covariance: Array
    w: Array
    b: float
    evidence: Array  # squared t-values

    @classmethod
    def of(cls, problem: Problem, state: State) -> Self:
        metric = problem.metric(state) if state.metric is None else state.metric
        push = float(problem.weight @ state.slope)
        covariance = solve_semidefinite(metric.gram, np.eye(state.w.size))
        step = covariance @ (problem.gradient(state) - push * metric.centre)
        b = state.b + push * metric.spread - float(metric.centre @ step)
        w, spread = state.w + step, np.maximum(np.diag(covariance), np.finfo(float).tiny)
        return cls(problem, state, metric, covariance, w, b, w**2 / spread)

    @cached_property
    def best(self) -> State:
        """The state at these weights."""
        return self.problem.refit(self.w, self.b, self.state.likelihood)

    def without(self, column: int) -> State:
        """Return the state with one weight at zero, the others adapted."""
        own = max(float(self.covariance[column, column]), np.finfo(float).tiny)
        step = -self.covariance[:, column] * (self.w[column] / own)
        step[column] = -self.w[column]
        b = self.b - float(self.metric.centre @ step)
        return self.problem.refit(self.w + step, b, self.state.likelihood)


def _is_quadratic(state: State) -> bool:
    """Return whether the log-likelihood has the same curvature everywhere, as that of targets has."""
    return bool(np.ptp(state.curvature) <= 1e-12 * state.curvature.max())


def _of_a_like_size(free: _Free, likelihood: Likelihood) -> tuple[Problem, State]:
    """Return the problem with one Gaussian for all weights, in standard errors, and its answer."""
    curvature = likelihood.evaluate(free.problem.y, free.best.f)[2]
    factor = float(curvature.max() / free.metric.curvature.max())
    gram, spread = factor * free.metric.gram, free.metric.spread / factor
    metric = Metric(curvature, gram, free.metric.centre, spread)
    level = free.b + float(metric.centre @ free.w)
    quadratic = Quadratic(gram, gram @ free.w, metric.centre, level, spread)
    scale = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    width = _common_width(quadratic, scale)
    prior = Gaussian(width=width)
    problem = replace(free.problem, prior=prior, likelihood=likelihood, scale=scale)
    answer = quadratic.ridge((width / scale) ** 2)
    state = problem.state(answer.weights, answer.intercept, likelihood)
    return problem, replace(state, metric=metric if problem.many_rows else None)


def _common_width(quadratic: Quadratic, scale: Array) -> float:
    r"""Return the width of one Gaussian for all weights, in standard errors, that the evidence prefers.

    MacKay's fixed point :math:`\sum_j (s_j w_j)^2 / \gamma`, where :math:`\gamma` counts the weights
    that the data determine.
    """
    width = _WIDEST
    for _ in range(_TURNS):
        found = quadratic.ridge((width / scale) ** 2)
        size = float(np.sum((scale * found.weights) ** 2)) / max(found.n_well_determined, 1e-300)
        old, width = width, min(max(math.sqrt(size), 1e-6), _WIDEST)
        if abs(width - old) <= _SAME * old:
            break
    return width
