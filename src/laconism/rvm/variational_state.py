"""The state of a variational fit: q(w), q(alpha) and the bound on the evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from .._protocols import Array, Index, Likelihood
from ..laplace.mode import own_precision
from ..linalg import Ridge, ridge
from ..solvers import Problem
from .precisions import Precisions, over_slices

# Least divisor, and least argument of a logarithm.
TINY = np.finfo(float).tiny


def log_second_moment(m: Array, v: Array) -> Array:
    """Return ``log E[f^2]``."""
    return np.log(np.maximum(m**2 + v, TINY))


@dataclass(frozen=True)
class RpropStep:
    """What an update changes, and the multiple of it that is taken, as in Rprop [RB93]_.

    The precisions of a model are nearly independent of each other: some go to infinity at a steady rate,
    others oscillate about their limits. So each has a step size of its own.

    References
    ----------
    .. [RB93] M. Riedmiller, H. Braun, A direct adaptive method for faster backpropagation learning: the
       RPROP algorithm, ICNN 1993.
    """

    change: Array
    multiple: Array

    @classmethod
    def first(cls, change: Array) -> Self:
        """Return the step of the plain update."""
        return cls(change, np.ones_like(change))

    def next(
        self,
        change: Array,
        growth: float = 1.3,
        shrinkage: float = 0.5,
        least: float = 0.7,
        most: float = 2.0,
    ) -> RpropStep:
        """Return the step after one more update: longer where the sign stays, else shorter."""
        agreement = change * self.change
        longer = np.minimum(growth * self.multiple, most)
        shorter = np.maximum(shrinkage * self.multiple, least)
        multiple = np.where(agreement < 0, shorter, self.multiple)
        return RpropStep(change, np.where(agreement > 0, longer, multiple))

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

    @property
    def b(self) -> float:
        """Mean of the intercept."""
        return self.ridge.intercept

    @cached_property
    def w(self) -> Array:
        """Mean of all weights, zero where a slice was pruned."""
        w = np.zeros(self.full_grid)
        w[np.ix_(*self.kept)] = self.mean
        return w.ravel()

    def sorted_by_column(self, problem: Problem) -> VariationalState:
        """Return itself: the columns of a grid are in order."""
        return self

    @property
    def columns(self) -> Index:
        """Which of all weights are kept."""
        return np.ravel_multi_index(np.ix_(*self.kept), self.full_grid).ravel()

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

    def relevance(self, mode: int) -> Array:
        """Return the effective number of parameters in each slice of a mode."""
        well_determined = (
            self.well_determined.ravel()
            if self.posterior is self.ridge
            else self.posterior.well_determined()
        )
        return over_slices(well_determined.reshape(self.precisions.grid), mode)

    @property
    def coordinates(self) -> Array:
        """The unknowns of the fixed-point iteration: logarithms of the precisions and ``E[f^2]``."""
        return np.append(self.precisions.log_means, self.expansion)

    @property
    def second_moment(self) -> Array:
        """``E[w^2]``, eq. (18) of [GRID]."""
        return np.asarray(self.mean**2 + (1 - self.well_determined) / self.precisions.precision)

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
        r = problem.weight * r
        expansion = log_second_moment(m, v)
        variance = 1 / precisions.precision.ravel()
        answer = ridge(problem.design, r, z, variance, intercept=problem.intercept)
        m = problem.latent(answer.weights, answer.intercept)
        v = answer.latent_variance(problem.design, r)
        new = cls(
            problem,
            full_grid,
            kept,
            precisions,
            likelihood,
            answer,
            m,
            v,
            r,
            expansion,
            0.0,
            offset,
            rprop,
        )
        return replace(new, objective=new.bound() - offset)

    def update(
        self, precisions: Precisions, likelihood: Likelihood, v: Array, rprop: RpropStep | None = None
    ) -> VariationalState:
        """Return the state under other precisions, with the surrogate at the mean of this one."""
        return VariationalState.of(
            self.problem,
            self.full_grid,
            self.kept,
            precisions,
            likelihood,
            self.m,
            v,
            self.offset,
            rprop,
        )

    def bound(self) -> float:
        r"""Return the evidence lower bound, eq. (13), and for the sum eq. (24), with all constants.

        With :math:`A` the expected precisions, :math:`\sum A_k\Sigma_{kk} = \sum(1 - \gamma_k)` and
        :math:`\log|\Sigma| = -\sum\log A_k - \log|I + DGD|`. The intercept has a flat prior of density
        one, and given the weights the precision :math:`\sum r`.
        """
        precisions, problem = self.precisions, self.problem
        A = precisions.precision
        bound = float(problem.weight @ self.likelihood.bound(problem.y, self.m, self.v))
        terms = precisions.log_precision - np.log(A) - A * self.mean**2
        bound += (
            0.5 * (float(terms.sum()) + self.ridge.n_well_determined)
            - 0.5 * self.ridge.log_det
            - precisions.divergence()
        )
        if problem.intercept:
            bound += 0.5 * float(1 + np.log(2 * np.pi) - np.log(self.r.sum()))
        return bound

    def keep(self, slices: tuple[Index, ...]) -> VariationalState:
        """Return the state with these slices only; its bound continues from its last value."""
        columns = np.ravel_multi_index(np.ix_(*slices), self.precisions.grid).ravel()
        rows = sum(self.precisions.grid) + np.arange(self.m.size)
        positions = np.append(self.precisions.positions(slices), rows)
        kept = tuple(old[index] for old, index in zip(self.kept, slices, strict=True))
        new = VariationalState.of(
            self.problem.keep(columns),
            self.full_grid,
            kept,
            self.precisions.keep(slices),
            self.likelihood,
            self.m,
            self.v,
            rprop=None if self.rprop is None else self.rprop.keep(positions),
        )
        return replace(new, objective=self.objective, offset=new.objective - self.objective)
