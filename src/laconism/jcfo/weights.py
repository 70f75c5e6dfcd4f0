"""The inner problem: the best weights for given scales, which is convex.

So is that of a regression in ``w / s`` and ``1 / s``; no interpolation drives its noise ``s`` to zero
(T. Park, G. Casella, The Bayesian lasso, JASA 103, 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._protocols import Array, Index
from ..design import DenseDesign
from ..linalg import Quadratic, dissimilar
from ..priors import Laplace
from ..solvers import Problem
from ..solvers.line_search import backtrack
from ..solvers.problem import floor_curvature
from ..solvers.proximal import lasso_quadratic
from .problem import JointProblem, JointState, OutputWeights


def project(
    problem: JointProblem, theta: Array, warm: Sequence[OutputWeights] | None = None, tol: float = 1e-8
) -> JointState:
    """Return the best weights for these scales, and ``phi(theta) = min_w F(w, theta)``."""
    Phi = problem.columns(theta)
    outputs = [
        best_weights(problem, Phi, y, None if warm is None else warm[k], tol)
        for k, y in enumerate(problem.targets)
    ]
    return problem.state(theta, outputs)


def with_noise(problem: JointProblem, y: Array, here: OutputWeights) -> OutputWeights:
    """Return the output with the optimal noise: the root of ``n s^2 - rate |w| s - |y - f|^2 = 0``."""
    if not problem.estimates_noise:
        return here
    likelihood: Any = here.likelihood.refit(y, here.f, problem.weight, 0)
    half = problem.weight_rate * float(np.abs(here.w).sum()) / (2 * problem.weight.sum())
    noise = float(half + np.sqrt(half**2 + likelihood.noise)) ** 2
    likelihood = problem.with_variance(likelihood, noise, y)
    return problem.output_at(y, here.w, here.b, here.f, likelihood)


def empty_weights(problem: JointProblem, y: Array, n_columns: int) -> OutputWeights:
    """Return the model without columns: the best intercept, where it is free."""
    none = DenseDesign(np.zeros((y.size, 0)))
    empty = Problem(none, y, problem.likelihood, Laplace(), problem.weight, problem.intercept).empty()
    here = problem.output_at(y, np.zeros(n_columns), empty.b, empty.f, problem.likelihood)
    return with_noise(problem, y, here)


def best_weights(
    problem: JointProblem, Phi: Array, y: Array, warm: OutputWeights | None, tol: float
) -> OutputWeights:
    """Return the minimiser, its violation of optimality at most ``tol``.

    Newton's method on a working set of columns: the lasso of the likelihood's quadratic approximation is
    solved exactly, then the columns that violate optimality most join the set.
    """
    if warm is None:
        here = empty_weights(problem, y, Phi.shape[1])
    else:
        kept = np.flatnonzero(warm.w)
        f = Phi[:, kept] @ warm.w[kept] + warm.b
        here = with_noise(problem, y, problem.output_at(y, warm.w, warm.b, f, warm.likelihood))
    squares = Phi**2
    for _ in range(100):
        g = Phi.T @ (problem.weight * here.slope)
        if problem.weight_violation(here, g, squares) <= tol:
            break
        rate = problem.latent_rate(here.likelihood)
        excess = np.where(here.w != 0, 0.0, np.maximum(np.abs(g) - rate, 0.0))
        working = here.w != 0
        if excess.any():
            working[_worst_dissimilar(Phi, excess, int(working.sum()))] = True
        new = _newton_step(problem, Phi, y, here, np.flatnonzero(working), tol)
        done = new.value >= here.value - np.finfo(float).eps * abs(here.value)
        here = new if new.value <= here.value else here
        if done:
            break
    return here


def _worst_dissimilar(Phi: Array, excess: Array, n_working: int) -> Index:
    """Return the columns that violate optimality most, none of them similar to an earlier one.

    They are at most six, or a quarter of those in the working set.
    """
    some = np.flatnonzero(excess)
    P = Phi[:, some]
    P = P / np.sqrt(np.einsum("ij,ij->j", P, P))
    worst = dissimilar(excess[some], lambda k: np.abs(P[:, k] @ P), max(6, n_working // 4), 0.5)
    return np.asarray(some[worst])


def _newton_step(
    problem: JointProblem, Phi: Array, y: Array, here: OutputWeights, working: Index, tol: float
) -> OutputWeights:
    """Return the output after a Newton step on the working set."""
    P, start = Phi[:, working], here.w[working]
    r = problem.weight * floor_curvature(here.curvature)
    z = here.f + problem.weight * here.slope / r
    quadratic = Quadratic.of(DenseDesign(P), r, z, intercept=problem.intercept)
    # A constant column, whose variance is a rounding of its squares, is the intercept's.
    squares = np.maximum(r @ P**2, np.finfo(float).tiny)
    varies = np.flatnonzero(quadratic.gram.diagonal() > 1e-12 * squares)
    part, target = quadratic.keep(varies), np.zeros_like(start)
    rate = np.full(varies.size, problem.latent_rate(here.likelihood))
    target[varies] = lasso_quadratic(
        part.gram, part.slope, rate, start[varies], tol / 10, rounding=np.finfo(float).eps
    )
    dw, db = target - start, 0.0
    if problem.intercept:
        db = quadratic.level - float(quadratic.centre @ target) - here.b
    df = P @ dw + db

    def at(t: float) -> OutputWeights:
        w = np.zeros_like(here.w)
        # The whole step lands on exact zeros, which start + (target - start) would miss by a rounding.
        w[working] = target if t == 1 else start + t * dw
        return problem.output_at(y, w, here.b + t * db, here.f + t * df, here.likelihood)

    found = backtrack(at, lambda new, _: new.value < here.value)
    return here if found is None else with_noise(problem, y, found[0])
