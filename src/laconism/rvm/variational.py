"""Variational Bayes for a grid of weights and their precisions."""

from __future__ import annotations

from math import prod
from typing import Literal

import numpy as np

from .._component import Component, is_count, is_name, is_number, require
from ..laplace.first_precision import first_precision, own_precisions
from ..laplace.mode import refit_by_degrees
from ..solvers import Problem
from .precisions import MIN_WELL_DETERMINED, Combine, Precisions, over_slices
from .variational_state import TINY, RpropStep, VariationalState, log_second_moment

# Share of the weights below which pruning, which costs a solve, waits until a step gains under a nat.
_MIN_PRUNED_SHARE = 0.1


class Variational(Component):
    r"""Variational Bayes for weights whose precisions are shared by the slices of a grid [GRID]_.

    Alternates :math:`q(w) = \mathcal N(\mu, \Sigma)` with
    :math:`\Sigma = (\mathrm{diag}\,A + \Phi^T R\Phi)^{-1}` and the gamma posteriors of the slices'
    precisions; with one mode this is the variational relevance vector machine [BT00]_. The bound on the
    evidence is exact and never drops.

    ``solver="vb"`` is the papers' update. ``solver="fast"`` has the same fixed points: MacKay's form of
    the update with a step size for each precision (Rprop), accepted only if the bound does not drop.
    Slices that the data do not determine are pruned.

    Parameters
    ----------
    grid : tuple of int, default=None
        Slices of each mode; ``None`` is one mode with a precision for each weight.
    combine : {"product", "sum"}, default="product"
        How the precisions of the slices make that of a weight, eqs. (2) and (5) of [GRID]_.
    solver : {"fast", "vb"}, default="fast"
    shape, rate : float, default=1e-12
        Of the gamma hyper-prior; ``rate`` in units of one over the precision that the fit starts from,
        so that the units of columns and targets do not matter.

    References
    ----------
    .. [GRID] Bayesian logistic regression for classification of tabular data (gridRVM).
    .. [BT00] C. Bishop, M. Tipping, Variational relevance vector machines, UAI 2000.
    """

    prunes = False  # the loop prunes single weights; here whole slices are pruned

    def rank_tol(self, n_columns: int) -> float:
        """Return the tolerance for a low-rank design: all columns are weighted through its factors."""
        return 1e-8

    def __init__(
        self,
        grid: tuple[int, ...] | None = None,
        combine: Combine = "product",
        solver: Literal["fast", "vb"] = "fast",
        shape: float = 1e-12,
        rate: float = 1e-12,
    ) -> None:
        self.grid = grid
        self.combine = combine
        self.solver = solver
        self.shape = shape
        self.rate = rate

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
        v = 1 / np.maximum(empty.curvature, TINY)  # the prior's latent at that precision
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
    """Return the papers' update, which cannot lower the bound.

    A floor under the noise can, and so can rounding where there is next to no noise: then the noise, or
    everything, stays as it is.
    """
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
    precisions = state.precisions.fixed_point(state.mean**2, state.well_determined)
    likelihood = refit_by_degrees(
        state.problem, state.likelihood, state.m, state.ridge.n_well_determined
    )
    update = np.append(precisions.log_means, log_second_moment(state.m, state.v))
    change, k = update - state.coordinates, precisions.log_means.size
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
    new = state.update(precisions, likelihood, state.v, RpropStep.first(change))
    return new if _keeps_bound(new, state) else _variational_update(state)


def _keeps_bound(new: VariationalState, old: VariationalState) -> bool:
    """Return whether the bound has not dropped, but for rounding."""
    return bool(new.objective >= old.objective - np.finfo(float).eps * abs(old.objective))


def _prune(state: VariationalState, min_share: float) -> VariationalState:
    """Return the state without the slices that the data do not determine; at least one is kept.

    Nothing is pruned while they hold less than the share ``min_share`` of the weights.
    """
    precisions, modes = state.precisions, range(len(state.precisions.grid))
    used = precisions.precision * state.mean**2
    alive = []
    for mode in modes:
        well_determined, shrinking = over_slices(state.well_determined, mode), over_slices(used, mode)
        alive.append((well_determined >= MIN_WELL_DETERMINED) | (shrinking > well_determined))
    if all(part.all() for part in alive) or not all(part.any() for part in alive):
        return state
    left = prod(float(part.mean()) for part in alive)
    if 1 - left < min_share:
        return state
    return state.keep(tuple(np.flatnonzero(part) for part in alive))
