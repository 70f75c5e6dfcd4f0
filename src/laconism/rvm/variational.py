"""Variational Bayes for a grid of weights and their precisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Literal, Self

import numpy as np

from .._component import Component, is_count, is_name, is_number, require
from .._protocols import Array, Index
from ..laplace.first_precision import first_precision, own_precisions
from ..laplace.mode import own_precision, refit_by_degrees
from ..likelihoods import Likelihood
from ..linalg import Ridge, ridge
from ..solvers import Problem
from .precisions import MIN_WELL_DETERMINED, Combine, Precisions, over_slices

# Share of the weights below which pruning, which costs a solve, waits until a step gains under a nat.
_MIN_PRUNED_SHARE = 0.1
# Least divisor, and least argument of a logarithm.
_TINY = np.finfo(float).tiny


def _log_second_moment(m: Array, v: Array) -> Array:
    """Return ``log E[f^2]``."""
    return np.log(np.maximum(m**2 + v, _TINY))


@dataclass(frozen=True)
class RpropStep:
    """What an update changes, and the multiple of each change (Rprop: M. Riedmiller, H. Braun, 1993)."""

    change: Array
    multiple: Array

    def next(self, change: Array) -> RpropStep:
        """Return the step after one more update: longer where the sign stays, else shorter."""
        agreement = change * self.change
        longer, shorter = np.minimum(1.3 * self.multiple, 2.0), np.maximum(0.5 * self.multiple, 0.7)
        return RpropStep(
            change, np.select([agreement > 0, agreement < 0], [longer, shorter], self.multiple)
        )

    def keep(self, index: Index) -> RpropStep:
        """Return the step of these coordinates."""
        return RpropStep(self.change[index], self.multiple[index])


@dataclass(frozen=True)
class VariationalState:
    """The distributions ``q(w)`` and ``q(alpha)`` on the slices that are kept, and their bound."""

    problem: Problem  # of the columns that are kept
    full_grid: tuple[int, ...]  # before slices were pruned
    kept: tuple[Index, ...]  # slices of each mode
    precisions: Precisions
    likelihood: Likelihood
    ridge: Ridge
    m: Array  # mean and
    v: Array  # variance of the latent at the training rows
    r: Array  # precision of the surrogate
    expansion: Array  # log E[f^2] at which the surrogate was taken
    objective: float
    offset: float  # what pruning changed in the bound: bounds of two models are not comparable
    rprop: RpropStep | None  # of the update that led here

    @classmethod
    def of(
        cls,
        problem: Problem,
        full_grid: tuple[int, ...],
        kept: tuple[Index, ...],
        precisions: Precisions,
        likelihood: Likelihood,
        m: Array,
        v: Array,
        offset: float = 0.0,
        rprop: RpropStep | None = None,
    ) -> Self:
        """Return ``q(w)``, eq. (14), with the surrogate likelihood of ``f ~ N(m, v)``."""
        z, r = likelihood.surrogate(problem.y, m, v)
        r, expansion = problem.weight * r, _log_second_moment(m, v)
        variance = 1 / precisions.precision.ravel()
        answer = ridge(problem.design, r, z, variance, intercept=problem.intercept)
        m = problem.latent(answer.weights, answer.intercept)
        v = answer.latent_variance(problem.design, r)
        model = (problem, full_grid, kept, precisions, likelihood)
        new = cls(*model, answer, m, v, r, expansion, 0.0, offset, rprop)
        return replace(new, objective=new.bound() - offset)

    def update(
        self, precisions: Precisions, likelihood: Likelihood, v: Array, rprop: RpropStep | None = None
    ) -> VariationalState:
        """Return the state under other precisions, with the surrogate at the mean of this one."""
        model = (self.problem, self.full_grid, self.kept, precisions, likelihood)
        return VariationalState.of(*model, self.m, v, self.offset, rprop)

    def keep(self, slices: tuple[Index, ...]) -> VariationalState:
        """Return the state with these slices only; its bound continues from its last value."""
        problem, kept = self.problem.keep(_places(slices, self.precisions.grid)), self.kept
        rows = sum(self.precisions.grid) + np.arange(self.m.size)
        positions = np.append(self.precisions.positions(slices), rows)
        rprop = None if self.rprop is None else self.rprop.keep(positions)
        kept = tuple(old[index] for old, index in zip(kept, slices, strict=True))
        model = (problem, self.full_grid, kept, self.precisions.keep(slices), self.likelihood)
        new = VariationalState.of(*model, self.m, self.v, rprop=rprop)
        return replace(new, objective=self.objective, offset=new.objective - self.objective)

    @property
    def b(self) -> float:
        """Mean of the intercept."""
        return self.ridge.intercept

    @property
    def active(self) -> Index:
        """Which of all weights are kept."""
        return _places(self.kept, self.full_grid)

    @cached_property
    def w(self) -> Array:
        """Mean of all weights, zero where a slice was pruned."""
        w = np.zeros(prod(self.full_grid))
        w[self.active] = self.ridge.weights
        return w

    @cached_property
    def posterior(self) -> Ridge:
        """Mean of ``q(w)``, and around it the likelihood's own curvature.

        A bound on the likelihood is more curved than the likelihood, so ``q(w)`` is too narrow for
        predictions. For Gaussian noise there is no difference.
        """
        problem = self.problem
        _, slope, curvature = self.likelihood.evaluate(problem.y, self.m)
        r = problem.weight * own_precision(slope, curvature)
        if np.array_equal(r, self.r):
            return self.ridge
        variance = 1 / self.precisions.precision.ravel()
        own = ridge(problem.design, r, self.m, variance, intercept=problem.intercept)
        return replace(own, weights=self.ridge.weights, intercept=self.b)

    @property
    def mean(self) -> Array:
        """Mean of the kept weights, on their grid."""
        return self.ridge.weights.reshape(self.precisions.grid)

    @cached_property
    def well_determined(self) -> Array:
        """How far the data determine each weight (MacKay's gamma), on the grid."""
        return self.ridge.well_determined().reshape(self.precisions.grid)

    @property
    def square(self) -> Array:
        """The squared mean weights; those on columns of 1e-160 would overflow."""
        return np.asarray(np.minimum(np.abs(self.mean), 1e150) ** 2)

    @property
    def second_moment(self) -> Array:
        """``E[w^2]``, eq. (18) of [GRID]."""
        return np.asarray(self.square + (1 - self.well_determined) / self.precisions.precision)

    def relevance(self, mode: int) -> Array:
        """Return the effective number of parameters in each slice of a mode."""
        return over_slices(self.posterior.well_determined().reshape(self.precisions.grid), mode)

    def bound(self) -> float:
        r"""Return the evidence lower bound, eq. (13), and for the sum eq. (24), with all constants.

        With :math:`A` the expected precisions, :math:`\sum A_k\Sigma_{kk} = \sum(1 - \gamma_k)` and
        :math:`\log|\Sigma| = -\sum\log A_k - \log|I + DGD|`. The intercept has a flat prior of density
        one, and given the weights the precision :math:`\sum r`.
        """
        precisions, problem, A = self.precisions, self.problem, self.precisions.precision
        bound = float(problem.weight @ self.likelihood.bound(problem.y, self.m, self.v))
        terms = precisions.log_precision - np.log(A) - (np.sqrt(A) * self.mean) ** 2
        weights = float(terms.sum()) + self.ridge.n_well_determined
        bound += 0.5 * weights - 0.5 * self.ridge.log_det - precisions.divergence()
        if problem.intercept:
            bound += 0.5 * float(1 + np.log(2 * np.pi) - np.log(self.r.sum()))
        return bound


def _places(slices: tuple[Index, ...], grid: tuple[int, ...]) -> Index:
    """Return the flat indices of the weights in these slices of a grid."""
    return np.ravel_multi_index(np.ix_(*slices), grid).ravel()


@dataclass(eq=False, repr=False)
class Variational(Component):
    r"""Variational Bayes for weights whose precisions are shared by the slices of a grid.

    Alternates :math:`q(w) = \mathcal N(\mu, \Sigma)` with
    :math:`\Sigma = (\mathrm{diag}\,A + \Phi^T R\Phi)^{-1}` and the gamma posteriors of the slices'
    precisions; one mode, ``grid=None``, is the variational relevance vector machine. ``rate`` is in
    units of one over the first precision, so that the units of columns and targets do not matter.
    """

    grid: tuple[int, ...] | None = None
    combine: Combine = "product"
    solver: Literal["fast", "vb"] = "fast"
    shape: float = 1e-12
    rate: float = 1e-12

    prunes = False  # the loop prunes single weights; here whole slices are pruned

    def rank_tol(self, n_columns: int) -> float:
        """Return the tolerance for a low-rank design: all columns are weighted through its factors."""
        return 1e-8

    def check(self) -> None:
        """Raise unless the settings make sense together."""
        known = is_name(self.combine, "product", "sum")
        require(known, self, "combine must be 'product' or 'sum'", self.combine)
        require(is_name(self.solver, "fast", "vb"), self, "solver must be 'fast' or 'vb'", self.solver)
        for name in ("shape", "rate"):
            value = getattr(self, name)
            fits = is_number(value) and 0 <= value <= 1e6
            require(fits, self, f"{name} must be a number from 0 to 1e6", value)
        proper = self.shape > 0 or self.combine == "product" or self.grid is None or len(self.grid) == 1
        held = self.rate > 0 or self.shape < 1
        require(held, self, "rate must be positive where shape is one or more", self.rate)
        # Without a proper prior a mode that is switched off makes the bound infinite.
        require(proper, self, "shape must be positive when precisions are summed", self.shape)
        sizes = self.grid is None or all(is_count(size) for size in self.grid)
        require(sizes, self, "grid must hold positive whole numbers", self.grid)

    def init(self, problem: Problem) -> VariationalState:
        """Return the state under one precision for all weights, or for features in their own units."""
        grid = (problem.design.shape[1],) if self.grid is None else tuple(self.grid)
        empty = problem.empty()
        A = first_precision(problem, empty)
        precisions = Precisions.uniform(self.combine, self.shape, self.rate, grid, A)
        # Kernels share one unit, and so do the slices of a grid.
        if len(grid) == 1 and not problem.kernels:
            precisions = precisions.with_log_means(np.log(own_precisions(problem, empty)))
        kept = tuple(np.arange(size) for size in grid)
        v = 1 / np.maximum(empty.curvature, _TINY)  # the prior's latent at that precision
        return VariationalState.of(problem, grid, kept, precisions, empty.likelihood, empty.f, v)

    def step(self, problem: Problem, state: VariationalState) -> VariationalState:
        """Return the state after one round of updates, without the slices that it pruned."""
        if self.solver == "vb":
            return _variational_update(state)
        new = state
        for _ in range(3):  # the loop tests for convergence after a step of some gain
            new = _fast_update(new)
            if (pruned := _prune(new, _MIN_PRUNED_SHARE)) is not new:
                return pruned
        return _prune(new, 0.0) if new.objective - state.objective < 1.0 else new

    def done(
        self, problem: Problem, old: VariationalState, new: VariationalState, tol: float
    ) -> str | None:
        """Return a sentence if the bound has stopped rising and no slice has just been pruned."""
        same = old.precisions.grid == new.precisions.grid
        if same and new.objective - old.objective <= tol * problem.weight.sum():
            return f"converged: the bound rose by at most {tol:g} nats per observation"
        return None


def _variational_update(state: VariationalState) -> VariationalState:
    """Return the papers' update; where a floor under the noise lowers the bound, the noise stays."""
    problem, share = state.problem, state.problem.weight / state.problem.weight.sum()
    precisions = state.precisions.variational(state.second_moment)
    likelihood = state.likelihood.refit(
        problem.y, state.m, problem.weight, state.ridge.n_well_determined, float(share @ state.v)
    )
    for candidate in (likelihood, state.likelihood):
        new = state.update(precisions, candidate, state.v)
        if _keeps_bound(new, state):
            return new
    return state


def _fast_update(state: VariationalState) -> VariationalState:
    """Return MacKay's update by Rprop, the plain one, or the papers': the first that keeps the bound."""
    precisions = state.precisions.fixed_point(state.square, state.well_determined)
    likelihood = refit_by_degrees(
        state.problem, state.likelihood, state.m, state.ridge.n_well_determined
    )
    # The unknowns of the iteration are the logarithms of the precisions and of E[f^2].
    update = np.append(precisions.log_means, _log_second_moment(state.m, state.v))
    change = update - np.append(state.precisions.log_means, state.expansion)
    k = precisions.log_means.size
    if state.rprop is not None:
        rprop = state.rprop.next(change)
        target = update + (rprop.multiple - 1) * change
        # Only the variance is extrapolated; the surrogate stays at the mean of the latent. Squares of
        # second moments stay finite, and no variance falls by more than a factor of a thousand.
        largest = np.log(np.finfo(float).max) / 2
        v = np.maximum(np.exp(np.minimum(target[k:], largest)) - state.m**2, 1e-3 * state.v)
        new = state.update(precisions.with_log_means(target[:k]), likelihood, v, rprop)
        if _keeps_bound(new, state):
            return new
    new = state.update(precisions, likelihood, state.v, RpropStep(change, np.ones_like(change)))
    return new if _keeps_bound(new, state) else _variational_update(state)


def _keeps_bound(new: VariationalState, old: VariationalState) -> bool:
    """Return whether the bound has not dropped, but for rounding."""
    return bool(new.objective >= old.objective - np.finfo(float).eps * abs(old.objective))


def _prune(state: VariationalState, min_share: float) -> VariationalState:
    """Return the state without the slices that the data do not determine; at least one is kept.

    Nothing is pruned while they hold less than the share ``min_share`` of the weights.
    """
    used, alive = (np.sqrt(state.precisions.precision) * state.mean) ** 2, []
    for mode in range(used.ndim):
        well_determined, shrinking = over_slices(state.well_determined, mode), over_slices(used, mode)
        alive.append((well_determined >= MIN_WELL_DETERMINED) | (shrinking > well_determined))
    pruned = 1 - prod(float(part.mean()) for part in alive)
    if pruned == 0 or pruned < min_share or not all(part.any() for part in alive):
        return state
    return state.keep(tuple(np.flatnonzero(part) for part in alive))
