"""Variational relevance: the weights of a grid and their precisions, each as a distribution."""

from __future__ import annotations

from math import prod
from typing import Literal

import numpy as np

from .._component import Component, is_count, is_name, is_number, require
from ..laplace.first_precision import first_precision, own_precisions
from ..laplace.mode import refit_by_degrees
from ..solvers import Problem
from .belief import Belief, log_power
from .precisions import Combine, Precisions, over_slices
from .rprop import RpropStep

# A slice that the data settle by less than this many parameters, and whose precision wants to grow
# further, is gone.
_UNLEARNT = 1e-3
# So large a part of the weights has to be gone to be struck at once; less has to wait until a step gains
# less than so many nats.
_WORTHWHILE, _SLOW = 0.1, 1.0
# What rounding may take from the bound in one step, as a part of it.
_ROUNDING = 1e-13
# Updates in one step, and the factor (e^4) by which a pace takes a precision beyond one at the most.
_MOVES, _FARTHEST = 3, 4.0
# Where nothing is left to divide by or to take a logarithm of.
_TINY = 1e-300


class Variational(Component):
    r"""Variational Bayes for weights whose precisions are shared by the slices of a grid [GRID]_.

    Alternates :math:`q(w) = \mathcal N(\mu, \Sigma)` with
    :math:`\Sigma = (\mathrm{diag}\,A + \Phi^T R\Phi)^{-1}` and the gamma posteriors of the slices'
    precisions; with one mode this is the variational relevance vector machine [BT00]_. The bound on the
    evidence is exact and never drops.

    ``solver="vb"`` is the papers' update. ``solver="fast"`` has the same fixed points: MacKay's form of
    the update, each precision at a pace of its own, taken only if the bound does not drop. Slices that
    the data do not determine are dropped on the way.

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

    Examples
    --------
    >>> import numpy as np
    >>> from laconism.design import DenseDesign
    >>> from laconism.likelihoods import Gaussian
    >>> from laconism.priors import Jeffreys
    >>> from laconism.relevance import Variational
    >>> from laconism.solvers import Problem, solve
    >>> rng = np.random.default_rng(0)
    >>> Phi = rng.normal(size=(60, 12))  # a table of 3 x 4
    >>> y = Phi[:, 5] - Phi[:, 6] + 0.1 * rng.normal(size=60)  # row 1, columns 1 and 2
    >>> problem = Problem(DenseDesign(Phi), y, Gaussian(), Jeffreys(), np.ones(60), True)
    >>> answer = solve(problem, Variational(grid=(3, 4)), max_iter=200, tol=1e-8)
    >>> answer.state.w.reshape(3, 4).round(1) + 0.0
    array([[ 0.,  0.,  0.,  0.],
           [ 0.,  1., -1.,  0.],
           [ 0.,  0.,  0.,  0.]])

    References
    ----------
    .. [GRID] Bayesian logistic regression for classification of tabular data (gridRVM).
    .. [BT00] C. Bishop, M. Tipping, Variational relevance vector machines, UAI 2000.
    """

    prunes = False  # the loop's pruning is for single weights; here whole slices go

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

    def init(self, problem: Problem) -> Belief:
        """Return the belief under one precision for all weights, or for features in their own units."""
        grid = (problem.design.shape[1],) if self.grid is None else tuple(self.grid)
        empty = problem.empty()
        A = first_precision(problem, empty)
        precisions = Precisions.level(self.combine, self.shape, self.rate, grid, A)
        # Kernels have one unit, and slices of a grid share theirs.
        if len(grid) == 1 and not problem.kernels:
            precisions = precisions.at(np.log(own_precisions(problem, empty)))
        kept = tuple(np.arange(size) for size in grid)
        v = 1 / np.maximum(empty.curvature, _TINY)  # the prior's latent at that precision
        return Belief.of(problem, grid, kept, precisions, empty.likelihood, empty.f, v)

    def step(self, problem: Problem, state: Belief) -> Belief:
        """Return the belief after one round of updates, without the slices that died in it."""
        if self.solver == "vb":
            return _variational(state)
        new = state
        for _ in range(_MOVES):
            new = _move(new)
            if (pruned := _prune(new, _WORTHWHILE)) is not new:
                return pruned
        return _prune(new, 0.0 if new.objective - state.objective < _SLOW else _WORTHWHILE)

    def done(self, problem: Problem, old: Belief, new: Belief, tol: float) -> str | None:
        """Return a sentence if the bound has stopped rising and no slice has just been dropped."""
        same = old.precisions.grid == new.precisions.grid
        if same and new.objective - old.objective <= tol * problem.weight.sum():
            return f"converged: the bound rose by at most {tol:g} nats per observation"
        return None


def _variational(state: Belief) -> Belief:
    """Return the papers' update, which cannot lower the bound.

    What can is a floor under the noise, which has reasons that the bound knows nothing of, and rounding
    where there is next to no noise: the noise then stays as it is, or all does.
    """
    problem, share = state.problem, state.problem.weight / state.problem.weight.sum()
    precisions = state.precisions.variational(state.second)
    likelihood = state.likelihood.refit(
        problem.y, state.m, problem.weight, state.ridge.n_well_determined, float(share @ state.v)
    )
    for candidate in (likelihood, state.likelihood):
        new = state.update(precisions, candidate, state.v)
        if _no_worse(new, state):
            return new
    return state


def _move(state: Belief) -> Belief:
    """Return MacKay's update at its pace, at pace one, or the papers': the first that is no worse."""
    precisions = state.precisions.fixed_point(state.mean**2, state.well_determined)
    likelihood = refit_by_degrees(
        state.problem, state.likelihood, state.m, state.ridge.n_well_determined
    )
    start, update = state.coordinates, np.append(precisions.log_means, log_power(state.m, state.v))
    change, k = update - start, precisions.log_means.size
    if state.pace is not None:
        pace = state.pace.then(change)
        target = update + np.clip((pace.multiple - 1) * change, -_FARTHEST, _FARTHEST)
        # A likelihood that is touched at its mean as well keeps that; only the spread goes further.
        v = np.maximum(np.exp(np.minimum(target[k:], 600.0)) - state.m**2, state.v * 1e-3)
        new = state.update(precisions.at(target[:k]), likelihood, v, pace)
        if _no_worse(new, state):
            return new
    new = state.update(precisions, likelihood, state.v, RpropStep.first(change))
    return new if _no_worse(new, state) else _variational(state)


def _no_worse(new: Belief, old: Belief) -> bool:
    return bool(new.objective >= old.objective - _ROUNDING * abs(old.objective))


def _prune(state: Belief, least: float) -> Belief:
    """Return the belief without the slices that the data do not determine; at least one stays.

    To strike them costs a solve: they stay while they hold less than the part ``least`` of the weights.
    """
    precisions, modes = state.precisions, range(len(state.precisions.grid))
    used = precisions.precision * state.mean**2
    alive = []
    for mode in modes:
        well_determined, wanted = over_slices(state.well_determined, mode), over_slices(used, mode)
        alive.append((well_determined >= _UNLEARNT) | (wanted > well_determined))
    if all(part.all() for part in alive) or not all(part.any() for part in alive):
        return state
    left = prod(float(part.mean()) for part in alive)
    if 1 - left < least:
        return state
    return state.keep(tuple(np.flatnonzero(part) for part in alive))
