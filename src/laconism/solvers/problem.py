"""What is asked, and where a solver stands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from .._protocols import Array, Design, Index, Likelihood, Prior
from ..linalg import Quadratic, Ridge, ridge

# The least curvature of a row, as a part of the largest.
_LEAST_CURVATURE = 1e-10
# And as a part of the touching Gaussian's where a likelihood is not concave: a target so far out that it
# bends the other way pulls, and without any curvature there would be no end to that.
_LEAST_PART = 0.2
# A squared scale that is less than this would make a variance that is no number.
_LEAST_SQUARE = 1e-290
# From this many entries and rows for each column on, the passes over the rows are what an iteration
# costs.
_MANY = 10_000
_TALL = 20
# Up to this many observations a kernel model that lost its way is worth another try.
FEW_ROWS = 1000
# A curvature is used again while it is within this part of the present one.
_STALE = 0.1
# How often the prior is touched anew on one quadratic, at the most.
_DEPTH = 50
# A sweep that moves the weights by less than this part of the way so far is the last.
_NEAR = 1e-4
# Rows at which a likelihood is evaluated at once: its temporaries stay in the cache.
_BLOCK = 1 << 13


def lifted(curvature: Array) -> Array:
    """Return the curvatures of rows, each a part of the largest at least.

    A well-classified row has next to none; with so little the target of its Gaussian stays finite.
    """
    floor = max(_LEAST_CURVATURE * curvature.max(initial=0.0), np.finfo(float).tiny)
    return np.asarray(np.maximum(curvature, floor))


@dataclass(frozen=True)
class Problem:
    """Maximise ``sum_i weight_i log p(y_i | f_i) - sum_j penalty((scale_j w_j)^2)``, ``f = Phi w + b``.

    ``intercept`` says whether ``b`` is free; a penalised intercept is a column of the design.
    ``scale`` measures each weight in units of its column, for starts that must not depend on units;
    ``kernels`` says that the columns are many views of few directions, ``crowded`` that each comes with
    near copies of itself, as kernels on every row do and kernels on chosen rows do not.
    ``leave_whole_rows`` says that a row which counts for several is left out as a whole, not one of it.
    """

    design: Design
    y: Array
    likelihood: Likelihood
    prior: Prior
    weight: Array
    intercept: bool
    kernels: bool = False
    crowded: bool = False
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

    def likeness(self, column: int) -> Array:
        """Return the absolute cosine between this column and each of the others, rows weighted."""
        lengths = np.sqrt(self.squares * self.squares[column])
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
        return self.prior.variance((self.scale * w) ** 2) / np.maximum(self.scale**2, _LEAST_SQUARE)

    def kinks(self) -> Array:
        """Return the gradient that each weight withstands at zero."""
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

    def seen(self, state: State) -> State:
        """Return another prior's state of the same columns as it looks from here; no pass over rows."""
        return replace(state, objective=state.fit - self.penalty(state.w), offset=0.0)

    def relearn(self, state: State) -> State:
        """Return it with the likelihood's own parameters re-estimated, where it has any."""
        active = int(np.count_nonzero(state.w))
        likelihood = state.likelihood.refit(self.y, state.f, self.weight, active)
        if likelihood is state.likelihood:
            return self.seen(state)
        return self._at(state.w, state.b, state.f, likelihood, 0.0)

    def _at(self, w: Array, b: float, f: Array, likelihood: Likelihood, offset: float) -> State:
        slope, curvature, fit = np.empty_like(f), np.empty_like(f), 0.0
        for start in range(0, f.size, _BLOCK):
            rows = slice(start, start + _BLOCK)
            log_p, slope[rows], curvature[rows] = likelihood.evaluate(self.y[rows], f[rows])
            fit += float(self.weight[rows] @ log_p)
        if not likelihood.concave:
            _, touching = likelihood.surrogate(self.y, f, np.zeros_like(f))
            np.maximum(curvature, _LEAST_PART * touching, out=curvature)
        objective = fit - self.penalty(w) - offset
        return State(w, b, f, likelihood, slope, curvature, fit, objective, None, None, offset)

    def empty(self) -> State:
        """Return the model without columns: the best intercept, where it is free."""
        return self._empty

    @cached_property
    def _empty(self) -> State:
        none = self.keep(np.arange(0))
        state = none.refit(np.zeros(0), 0.0, self.likelihood)
        for _ in range(100 if self.intercept else 0):  # Newton's method on one number
            information = float(self.laplace_targets(state)[0].sum())
            step = float(self.weight @ state.slope) / information
            new = none.refit(state.w, state.b + step, state.likelihood)
            if not (state.likelihood.concave or new.objective >= state.objective):  # as EM would
                z, r = state.likelihood.surrogate(self.y, state.f, np.zeros_like(state.f))
                step = float(self.weight @ (r * (z - state.f))) / float(self.weight @ r)
                new = none.refit(state.w, state.b + step, state.likelihood)
            state = new
            if abs(step) * np.sqrt(information) < 1e-5:  # the next would be its square
                break
        return replace(state, w=np.zeros(self.design.shape[1]))

    def laplace_targets(self, state: State) -> tuple[Array, Array]:
        """Return precision and target of the Gaussian with the likelihood's own curvature.

        The gradient, and with it the answer, knows nothing of the curvature that rows are lent.
        """
        curvature = lifted(state.curvature)
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

    def remember(self, metric: Metric, new: State) -> State:
        """Return the new state with the metric of the last, where that is worth more than it costs.

        The gradient is exact, so the answer is the same; on many rows a matrix that is already there
        makes a step that is nearly as good in a tenth of the time.
        """
        change = new.curvature - metric.curvature
        if np.abs(change, out=change).mean() > _STALE * metric.curvature.mean():
            return new
        return replace(new, metric=metric)

    def gradient(self, state: State) -> Array:
        """Return the slope of the log-likelihood in each weight."""
        if state.gradient is not None:
            return state.gradient
        return self.design.rmatvec(self.weight * state.slope)

    def curvature(self, state: State) -> Array:
        """Return minus the second derivative of the log-likelihood along each weight.

        The intercept is eliminated; the inverse square root is a weight's standard error if it were
        alone.
        """
        r = self.weight * state.curvature
        diagonal = self.design.square_rmatvec(r)
        if self.intercept:
            diagonal = diagonal - self.design.rmatvec(r) ** 2 / max(r.sum(), np.finfo(float).tiny)
        return np.maximum(diagonal, 0.0)

    def ridge(self, r: Array, z: Array, w: Array) -> Ridge:
        """Solve the weighted ridge problem that touches prior and likelihood at ``w``."""
        return ridge(self.design, r, z, self.variance(w), intercept=self.intercept)

    def deep_ridge(self, metric: Metric, state: State) -> Ridge:
        """Solve it again and again, the prior touched anew each time, until the weights settle.

        All of that happens in the space of the columns: on many rows it costs next to nothing. The
        quadratic has the exact slope and this curvature, whichever rows and weights that is from.
        """
        push = float(self.weight @ state.slope)
        slope = self.gradient(state) - push * metric.centre + metric.gram @ state.w
        level = state.b + push * metric.spread + float(metric.centre @ state.w)
        quadratic = Quadratic(metric.gram, slope, metric.centre, level, metric.spread)
        answer = quadratic.ridge(self.variance(state.w))
        for _ in range(_DEPTH):
            old, answer = answer.weights, quadratic.ridge(self.variance(answer.weights))
            far = np.abs(old - state.w).max(initial=0.0)  # it need not be nearer than it has come
            if np.abs(answer.weights - old).max(initial=0.0) <= _NEAR * far:
                break
        return answer

    @property
    def penalty_unbounded(self) -> bool:
        """Whether the penalty falls without bound at zero: its level compares no two optima."""
        return not np.isfinite(self.prior.penalty(np.zeros(1))[0])

    @property
    def exchangeable(self) -> bool:
        """Whether kept kernels make room for better ones in the end, so that a start may be rough.

        On many rows that would cost as much as the search itself, and win next to nothing.
        """
        return self.kernels and self.penalty_unbounded and float(self.weight.sum()) <= FEW_ROWS

    @property
    def many_rows(self) -> bool:
        """Whether a pass over the rows costs more than a factorisation of the columns' size."""
        n, p = self.design.shape
        return n * p >= _MANY and n >= _TALL * p


@dataclass(frozen=True)
class Metric:
    """Minus the second derivative of the log-likelihood in the weights, a free intercept eliminated."""

    curvature: Array  # of each row where it was taken: how far it has changed tells whether it is stale
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
    # The curvature that the next Newton step goes by, if it is still good; its own otherwise.
    metric: Metric | None
    # The slope in each weight, if somebody has already asked for it.
    gradient: Array | None
    # What pruning took from or gave to the objective: an improper prior has no level of its own, and
    # with this one the objective of an ascent method never drops.
    offset: float


def objective_converged(problem: Problem, old: State, new: State, tol: float) -> str | None:
    """Return a sentence if the objective rose by less than ``tol`` nats per observation."""
    if abs(new.objective - old.objective) <= tol * problem.weight.sum():
        return f"converged: the objective changed by at most {tol:g} nats per observation"
    return None
