"""A Problem: data, design, prior and likelihood. A State: weights and what the next step needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from .._protocols import Array, Design, Index
from ..likelihoods import Likelihood
from ..linalg import CACHED_ENTRIES, RELATIVE_JITTER, Quadratic, Ridge, ridge
from ..priors import Prior

# The smallest curvature of a row relative to the touching Gaussian's, where a likelihood is not concave:
# an outlier has negative curvature, with which a Newton step has no bound.
_MIN_TOUCHING_FRACTION = 0.2
# From this many entries on, with enough rows per column, passes over the rows dominate an iteration.
_MIN_ENTRIES_TO_REUSE_METRIC = 10_000
# From this many rows per column on a problem is tall: the data alone determine every weight.
TALL_ROWS_PER_COLUMN = 20
# Up to this many observations a kernel model is fitted more than once and the best fit taken.
MAX_ROWS_FOR_RETRY = 1000
# The curvature of the rows is the same, for a step or a start, if it has changed by less than this
# fraction.
MAX_CURVATURE_CHANGE = 0.1


def floor_curvature(curvature: Array) -> Array:
    """Return the curvatures of rows, none below a small fraction of the largest.

    The curvature of a well-classified row is nearly zero, and its Gaussian's target would be infinite.
    """
    floor = max(RELATIVE_JITTER * curvature.max(initial=0.0), np.finfo(float).tiny)
    return np.asarray(np.maximum(curvature, floor))


@dataclass(frozen=True)
class Problem:
    """Maximise ``sum_i weight_i log p(y_i | f_i) - sum_j penalty((scale_j w_j)^2)``, ``f = Phi w + b``.

    ``intercept`` is whether ``b`` is free; a penalised intercept is a column of the design. ``scale``
    is the unit of each weight, for starts that must not depend on units. ``kernels`` is whether columns
    are kernels: many columns in few directions. ``near_duplicates`` is whether columns have near
    duplicates, as kernels on every row do and kernels on chosen rows do not. ``leave_whole_rows`` is
    whether leaving out a row of weight ``k`` leaves out all of it and not one of ``k``.
    """

    design: Design
    y: Array
    likelihood: Likelihood
    prior: Prior
    weight: Array
    intercept: bool
    kernels: bool = False
    near_duplicates: bool = False
    scale: Array | None = None
    leave_whole_rows: bool = False

    def keep(self, active: Index) -> Self:
        """Return the problem of these columns only."""
        scale = None if self.scale is None else self.scale[active]
        return replace(self, design=self.design.keep(active), scale=scale)

    def rows(self, index: Index) -> Self:
        """Return the problem of these rows only."""
        return replace(self, design=self.design.rows(index), y=self.y[index], weight=self.weight[index])

    @cached_property
    def squares(self) -> Array:
        """The squared length of each column, rows weighted."""
        return self.design.square_rmatvec(self.weight)

    def cosines(self, column: int) -> Array:
        """Return the absolute cosine between this column and each of the others, rows weighted."""
        squares = np.maximum(self.squares, 0.0)  # those of factored columns are sums that may cancel
        lengths = np.sqrt(squares) * np.sqrt(squares[column])
        products = np.abs(self.design.gram_rows(np.array([column]), self.weight)[0])
        return np.asarray(products / np.where(lengths > 0, lengths, np.inf))

    def penalty(self, w: Array) -> float:
        """Return the penalty of all weights."""
        scaled = w if self.scale is None else self.scale * w
        return float(np.sum(self.prior.penalty(scaled**2)))

    def variance(self, w: Array) -> Array:
        """Return the variance of the Gaussian that touches the prior of each weight."""
        if self.scale is None:
            return self.prior.variance(w**2)
        least = 1e-290  # so that dividing by the square of a scale does not overflow
        return self.prior.variance((self.scale * w) ** 2) / np.maximum(self.scale**2, least)

    def kinks(self) -> Array:
        """Return the largest gradient at which each weight stays zero."""
        return self.prior.kink * (np.ones(self.design.shape[1]) if self.scale is None else self.scale)

    def latent(self, w: Array, b: float) -> Array:
        """Return ``Phi w + b``."""
        return self.design.matvec(w) + b

    def state(self, w: Array, b: float, likelihood: Likelihood, offset: float = 0.0) -> State:
        """Return the state at these weights, with its objective."""
        return self._at(w, b, self.latent(w, b), likelihood, offset)

    def refit(self, w: Array, b: float, likelihood: Likelihood, offset: float = 0.0) -> State:
        """Return the state at these weights with the likelihood's own parameters re-estimated."""
        f = self.latent(w, b)
        likelihood = likelihood.refit(self.y, f, self.weight, int(np.count_nonzero(w)))
        return self._at(w, b, f, likelihood, offset)

    def with_objective(self, state: State) -> State:
        """Return a state of the same columns with the objective of this prior; no pass over rows."""
        return replace(state, objective=state.fit - self.penalty(state.w), offset=0.0)

    def reestimate(self, state: State) -> State:
        """Return the state with the likelihood's own parameters re-estimated, where it has any."""
        active = int(np.count_nonzero(state.w))
        likelihood = state.likelihood.refit(self.y, state.f, self.weight, active)
        if likelihood is state.likelihood:
            return self.with_objective(state)
        return self._at(state.w, state.b, state.f, likelihood, 0.0)

    def _at(self, w: Array, b: float, f: Array, likelihood: Likelihood, offset: float) -> State:
        slope, curvature, fit = np.empty_like(f), np.empty_like(f), 0.0
        step = CACHED_ENTRIES // 8  # so that the temporaries of a likelihood stay in the cache
        for start in range(0, f.size, step):
            rows = slice(start, start + step)
            log_p, slope[rows], curvature[rows] = likelihood.evaluate(self.y[rows], f[rows])
            fit += float(self.weight[rows] @ log_p)
        if not likelihood.concave:
            _, touching = likelihood.surrogate(self.y, f, np.zeros_like(f))
            np.maximum(curvature, _MIN_TOUCHING_FRACTION * touching, out=curvature)
        objective = fit - self.penalty(w) - offset
        return State(w, b, f, likelihood, slope, curvature, fit, objective, None, None, offset)

    def empty(self) -> State:
        """Return the model without columns: the best intercept, where it is free."""
        return self._empty

    @cached_property
    def _empty(self) -> State:
        none = self.keep(np.arange(0))
        state = none.refit(np.zeros(0), 0.0, self.likelihood)
        for _ in range(100 if self.intercept else 0):
            information = float(self.laplace_targets(state)[0].sum())
            step = float(self.weight @ state.slope) / information
            new = none.refit(state.w, state.b + step, state.likelihood)
            if not (state.likelihood.concave or new.objective >= state.objective):  # EM's step
                z, r = state.likelihood.surrogate(self.y, state.f, np.zeros_like(state.f))
                step = float(self.weight @ (r * (z - state.f))) / float(self.weight @ r)
                new = none.refit(state.w, state.b + step, state.likelihood)
            state = new
            if abs(step) * np.sqrt(information) < 1e-5:  # the next would be its square
                break
        return replace(state, w=np.zeros(self.design.shape[1]))

    def laplace_targets(self, state: State) -> tuple[Array, Array]:
        """Return precision and target of the Gaussian with the likelihood's own curvature.

        The floor of the curvature changes neither the gradient nor the solution.
        """
        curvature = floor_curvature(state.curvature)
        return self.weight * curvature, state.f + state.slope / curvature

    def metric(self, state: State) -> Metric:
        """Return the curvature of the likelihood in the weights at this state."""
        r = self.weight * state.curvature
        total = max(float(r.sum()), np.finfo(float).tiny)
        gram = self.design.gram(r)
        if not self.intercept:
            return Metric(state.curvature, gram, np.zeros(gram.shape[0]), 0.0)
        centre = self.design.rmatvec(r) / total
        return Metric(state.curvature, gram - total * np.outer(centre, centre), centre, 1 / total)

    def reuse_metric(self, metric: Metric, new: State) -> State:
        """Return the new state with an earlier metric, unless the curvature has changed too much."""
        change = new.curvature - metric.curvature
        if np.abs(change, out=change).mean() > MAX_CURVATURE_CHANGE * metric.curvature.mean():
            return new
        return replace(new, metric=metric)

    def gradient(self, state: State) -> Array:
        """Return the slope of the log-likelihood in each weight."""
        if state.gradient is not None:
            return state.gradient
        return self.design.rmatvec(self.weight * state.slope)

    def curvature(self, state: State) -> Array:
        """Return minus the second derivative of the log-likelihood along each weight.

        A free intercept is eliminated.
        """
        r = self.weight * state.curvature
        diagonal = self.design.square_rmatvec(r)
        if self.intercept:
            diagonal = diagonal - self.design.rmatvec(r) ** 2 / max(r.sum(), np.finfo(float).tiny)
        return np.maximum(diagonal, 0.0)

    def ridge(self, r: Array, z: Array, w: Array) -> Ridge:
        """Solve the weighted ridge problem that touches prior and likelihood at ``w``."""
        return ridge(self.design, r, z, self.variance(w), intercept=self.intercept)

    def ridge_to_convergence(
        self, metric: Metric, state: State, max_iter: int = 50, tol: float = 1e-4
    ) -> Ridge:
        """Solve ridge problems, each with the prior touched at the last solution, until these converge.

        The quadratic has the gradient of this state. ``tol`` is the last step's fraction of the way.
        """
        push = float(self.weight @ state.slope)
        slope = self.gradient(state) - push * metric.centre + metric.gram @ state.w
        level = state.b + push * metric.spread + float(metric.centre @ state.w)
        quadratic = Quadratic(metric.gram, slope, metric.centre, level, metric.spread)
        answer = quadratic.ridge(self.variance(state.w))
        for _ in range(max_iter):
            old, answer = answer.weights, quadratic.ridge(self.variance(answer.weights))
            far = np.abs(old - state.w).max(initial=0.0)
            if np.abs(answer.weights - old).max(initial=0.0) <= tol * far:
                break
        return answer

    @property
    def penalty_unbounded(self) -> bool:
        """Whether the penalty is minus infinity at zero, so that two supports do not compare by it."""
        return not np.isfinite(self.prior.penalty(np.zeros(1))[0])

    @property
    def allows_exchange(self) -> bool:
        """Whether kept kernels may be exchanged at the end, so that a start may be rough.

        Not on many rows, where an exchange costs as much as the search.
        """
        return self.kernels and self.penalty_unbounded and float(self.weight.sum()) <= MAX_ROWS_FOR_RETRY

    @property
    def many_rows(self) -> bool:
        """Whether a pass over the rows costs more than a factorisation of the columns' size."""
        n, p = self.design.shape
        return n * p >= _MIN_ENTRIES_TO_REUSE_METRIC and n >= TALL_ROWS_PER_COLUMN * p


@dataclass(frozen=True)
class Metric:
    """Minus the second derivative of the log-likelihood in the weights, a free intercept eliminated."""

    curvature: Array  # of each row at the state of the metric, to see how far it has changed since
    gram: Array
    centre: Array  # the weighted mean of the columns
    spread: float  # the variance of the latent at the centre

    def keep(self, active: Index) -> Self:
        """Return the metric of these weights only."""
        return replace(self, gram=self.gram[np.ix_(active, active)], centre=self.centre[active])


@dataclass(frozen=True)
class State:
    """What the next step needs."""

    w: Array
    b: float
    f: Array
    likelihood: Likelihood
    slope: Array  # of the log-likelihood in f
    curvature: Array  # minus its second derivative
    fit: float  # the log-likelihood
    objective: float
    metric: Metric | None  # an earlier one for the next Newton step, if it may be reused
    gradient: Array | None  # in each weight, if known
    # The change of the objective by pruning: an improper prior has no level, and with this one the
    # objective of an ascent method never falls.
    offset: float

    def worth(self, price: float) -> float:
        """Return the log-likelihood less the price of each column: penalties do not compare supports."""
        return self.fit - price * int(np.count_nonzero(self.w))


def objective_converged(problem: Problem, old: State, new: State, tol: float) -> str | None:
    """Return a sentence if the objective changed by less than ``tol`` nats per observation."""
    if abs(new.objective - old.objective) <= tol * problem.weight.sum():
        return f"converged: the objective changed by at most {tol:g} nats per observation"
    return None
