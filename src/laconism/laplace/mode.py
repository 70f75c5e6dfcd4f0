"""The most probable weights under given precisions, and the evidence for those precisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from .._protocols import Array
from ..likelihoods import Likelihood
from ..linalg import Quadratic, Ridge, remainder, ridge
from ..magnitude import LARGEST
from ..solvers import Problem
from ..solvers.line_search import backtrack, lengthen
from ..solvers.problem import floor_curvature

# Nats to which a mode is found where several are only compared.
COMPARISON_NATS = 1e-2

Solve = Callable[..., Ridge]


@dataclass(frozen=True)
class Mode:
    r"""Laplace's approximation at the mode of :math:`p(w \mid y, \alpha)`, exact for Gaussian noise.

    ``objective`` is the log evidence
    :math:`\log p(y \mid w) - \tfrac12\sum\alpha_k w_k^2 - \tfrac12\log|I + DGD|`, with an intercept
    of flat prior integrated out as well.
    """

    problem: Problem
    alpha: Array
    likelihood: Likelihood
    w: Array
    b: float
    f: Array
    slope: Array  # of the log-likelihood in f
    r: Array  # weight times minus its second derivative
    ridge: Ridge
    objective: float

    @cached_property
    def well_determined(self) -> Array:
        """How far the data determine each weight, MacKay's ``gamma_k = 1 - alpha_k Sigma_kk``."""
        return self.ridge.well_determined()

    @property
    def posterior(self) -> Ridge:
        """Mode and curvature of the posterior."""
        return replace(self.ridge, weights=self.w, intercept=self.b)

    @property
    def noise_unidentified(self) -> bool:
        """Whether there are too many effective parameters for residuals to estimate the noise.

        With more than half as many as observations the evidence of less noise still rises while
        predictions get worse.
        """
        free = self.ridge.n_well_determined + self.problem.intercept
        learns = self.problem.kernels and self.refit() is not self.likelihood
        return learns and 2 * free > float(self.problem.weight.sum())

    @property
    def target(self) -> Array:
        """Target of the Gaussian with the likelihood's own slope and curvature."""
        return np.asarray(self.f + self.problem.weight * self.slope / self.r)

    def quadratic(self) -> Quadratic:
        """Return the log-likelihood around the mode as a quadratic in the weights."""
        return Quadratic.of(self.problem.design, self.r, self.target, intercept=self.problem.intercept)

    def refit(self) -> Likelihood:
        """Return the likelihood with its own parameters re-estimated."""
        return refit_by_degrees(self.problem, self.likelihood, self.f, self.ridge.n_well_determined)


def refit_by_degrees(
    problem: Problem, likelihood: Likelihood, f: Array, n_well_determined: float
) -> Likelihood:
    r"""Return the likelihood re-estimated from the residual and its degrees of freedom.

    MacKay's :math:`\sigma^2 = \sum(y - f)^2/(n - \sum\gamma)`: at a fixed point this is the mean of
    :math:`(y - f)^2 + v`, which is passed on.
    """
    total = float(problem.weight.sum())
    free = n_well_determined + problem.intercept
    left = float(remainder(total, free))
    v = float(problem.weight @ likelihood.squares(problem.y, f)) / total * (total - left) / left
    return likelihood.refit(problem.y, f, problem.weight, free, v)


def own_precision(slope: Array, curvature: Array) -> Array:
    """Return the precision of the Gaussian with the likelihood's own slope and curvature, never zero.

    It is large enough that the target may be squared.
    """
    return np.maximum(floor_curvature(curvature), np.abs(slope) / LARGEST)


def find_mode(
    problem: Problem,
    alpha: Array,
    likelihood: Likelihood,
    w: Array,
    b: float,
    gain: float = 1e-16,
    solve: Solve = ridge,
    max_steps: int = 100,
) -> Mode:
    """Return the mode, by Newton's method from ``w`` and ``b`` until a step gains less than ``gain``.

    Each step is a ridge problem, which ``solve`` solves. The default gain, in nats, is small because the
    error of the log-determinant is of first order in the weights, the square root of the gain.
    """
    here = _Point.at(problem, alpha, likelihood, w, b, problem.latent(w, b))
    last = False
    for _ in range(max_steps):
        r = problem.weight * own_precision(here.slope, here.curvature)
        target = here.f + problem.weight * here.slope / r
        answer = solve(problem.design, r, target, 1 / alpha, intercept=problem.intercept)
        dw, db = answer.weights - here.w, answer.intercept - here.b
        df = problem.latent(dw, db)
        promise = float((problem.weight * here.slope) @ df) - float((alpha * here.w) @ dw)
        if last or promise <= gain:
            break
        # One more, and rounding hides the gain.
        last = bool(promise <= np.finfo(float).eps / 2 * abs(here.value))
        found = _line_search(problem, alpha, likelihood, here, (dw, db, df))
        if found is None:
            break  # a step that only rounding can judge
        before, (here, step) = here, found
        if step >= 1 and np.array_equal(here.curvature, before.curvature):
            break  # a quadratic: the step has led to its maximum
    evidence = here.value - 0.5 * answer.log_det
    if problem.intercept:
        evidence += 0.5 * float(np.log(2 * np.pi) - np.log(r.sum()))
    return Mode(problem, alpha, likelihood, here.w, here.b, here.f, here.slope, r, answer, evidence)


class _Point(NamedTuple):
    """Weights and intercept, and the log posterior there up to a constant."""

    w: Array
    b: float
    f: Array
    value: float
    slope: Array
    curvature: Array

    @classmethod
    def at(
        cls, problem: Problem, alpha: Array, likelihood: Likelihood, w: Array, b: float, f: Array
    ) -> Self:
        """Return the point at these weights, whose latent is ``f``."""
        log_p, slope, curvature = likelihood.evaluate(problem.y, f)
        scaled = np.sqrt(alpha) * w
        value = float(problem.weight @ log_p) - 0.5 * float(scaled @ scaled)
        return cls(w, b, f, value, slope, curvature)


def _line_search(
    problem: Problem,
    alpha: Array,
    likelihood: Likelihood,
    here: _Point,
    direction: tuple[Array, float, Array],
) -> tuple[_Point, float] | None:
    """Return a point along the direction that is no lower, and the length of the step; or None.

    Where rows are classified well the curvature falls and Newton's steps are too short; a longer one
    costs no solve.
    """
    dw, db, df = direction

    def at(step: float) -> _Point:
        w, b, f = here.w + step * dw, here.b + step * db, here.f + step * df
        return _Point.at(problem, alpha, likelihood, w, b, f)

    found = backtrack(at, lambda new, _: new.value >= here.value)
    if found is None or found[1] < 1:
        return found
    return lengthen(at, lambda new, old: new.value > old.value, *found, max_step=16.0)
