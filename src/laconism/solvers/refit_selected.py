"""Refit the selected columns: drop those not worth their price, estimate the others under one prior."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from .._protocols import Array
from ..judging.price import selection_price
from ..laplace.mode import refit_by_degrees
from ..likelihoods import Binary, Likelihood
from ..linalg import Quadratic, solve_semidefinite
from ..priors import Gaussian, Prior
from . import Callback, Metric, Problem, Solution, Solver, State, resume


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
    """Return the columns that are worth their price, refitted without the shrinkage of the search.

    Weights of targets get one Gaussian, its width by the evidence; for labels, whose evidence shrinks
    too much if classes are nearly separable, the prior is bound to the number of kept columns.
    """
    settings: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "callback": callback}
    few = answer
    if not answer.problem.kernels:  # the weights of kernels differ in size, and cancel
        few, free = drop_unpaid(answer, n_candidates)
        if np.ptp(few.state.curvature) == 0:  # the likelihood is quadratic: Gaussian noise
            return _refit_gaussian(few, free, solver, settings)
    labels = isinstance(few.state.likelihood, Binary)
    bound = unbound.bind(few.active.size, kernel=few.problem.kernels, labels=labels)
    if few is answer and bound == few.problem.prior:
        return answer
    problem = replace(few.problem, prior=bound)
    return resume(few, problem, problem.with_objective(few.state), solver, **settings)


def _refit_gaussian(few: Solution, free: _Free, solver: Solver, settings: dict[str, Any]) -> Solution:
    """Return the weights under one Gaussian for all of them."""
    # The noise of the unpenalised fit: shrinkage is no noise.
    likelihood = refit_by_degrees(few.problem, free.best.likelihood, free.best.f, free.w.size)
    more = resume(few, *_with_common_width(free, likelihood.hold()), solver, **settings)
    return replace(
        more,
        state=replace(more.state, likelihood=likelihood),
        problem=replace(more.problem, likelihood=likelihood),
    )


def drop_unpaid(answer: Solution, n_candidates: int) -> tuple[Solution, _Free]:
    """Return the solution without columns that are not worth their price; at least one stays."""
    here = answer
    while True:
        free = _Free.of(here.problem, here.state)
        price = selection_price(free.evidence, free.weakest, n_candidates)
        if here.active.size == 1:
            return here, free
        less = drop_weakest(here, free)
        if free.best.fit - less.state.fit >= price:
            return here, free
        # The objective of the search continues.
        here = replace(less, state=replace(less.state, objective=answer.state.objective))


def drop_weakest(answer: Solution, free: _Free | None = None) -> Solution:
    """Return the solution without the column of the smallest t-value, the other weights adapted."""
    free = _Free.of(answer.problem, answer.state) if free is None else free
    less, left = free.without(free.weakest), np.delete(np.arange(answer.active.size), free.weakest)
    problem = answer.problem.keep(left)
    state = problem.state(less.w[left], less.b, less.likelihood)
    return replace(answer, active=answer.active[left], problem=problem, state=state)


@dataclass(frozen=True)
class _Free:
    """The maximum of the likelihood to second order."""

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

    @property
    def weakest(self) -> int:
        """The column of the smallest t-value."""
        return int(np.argmin(self.evidence))

    def without(self, column: int) -> State:
        """Return the state with one weight at zero, the others adapted."""
        own = max(float(self.covariance[column, column]), np.finfo(float).tiny)
        step = -self.covariance[:, column] * (self.w[column] / own)
        step[column] = -self.w[column]
        b = self.b - float(self.metric.centre @ step)
        return self.problem.refit(self.w + step, b, self.state.likelihood)


def _with_common_width(free: _Free, likelihood: Likelihood) -> tuple[Problem, State]:
    """Return the problem with one Gaussian for all weights, in standard errors, and its solution."""
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


def _common_width(
    quadratic: Quadratic, scale: Array, widest: float = 1e6, max_iter: int = 200, tol: float = 1e-10
) -> float:
    r"""Return the width of one Gaussian for all weights, in standard errors, of largest evidence.

    MacKay's fixed point :math:`\sum_j (s_j w_j)^2 / \gamma`, :math:`\gamma` the effective parameters.
    """
    width = widest
    for _ in range(max_iter):
        found = quadratic.ridge((width / scale) ** 2)
        size = float(np.sum((scale * found.weights) ** 2)) / max(found.n_well_determined, 1e-300)
        old = width
        width = min(max(math.sqrt(size), 1 / widest), widest)
        if abs(width - old) <= tol * old:
            break
    return width
