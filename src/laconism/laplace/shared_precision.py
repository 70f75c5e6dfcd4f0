"""The mode under one precision for all weights, a Gaussian process in weight space."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .._protocols import Array, Design
from ..likelihoods import Gaussian, Likelihood, Noise
from ..linalg import Ridge, ridge, ridge_of_rows
from ..solvers import Problem, State
from ..solvers.problem import floor_curvature
from .first_precision import first_precision
from .mode import COMPARISON_NATS, Mode, Solve, find_mode
from .moment_matching import match_moments


def fit_shared(
    problem: Problem,
    relative_precision: float,
    near: Mode | State | None = None,
    gain: float | None = None,
    latent: Array | None = None,
    products: Array | None = None,
    *,
    moments: bool = False,
    max_noise_rounds: int = 50,
) -> Mode:
    r"""Return the mode under one precision for all weights.

    The precision is relative to :func:`~laconism.laplace.first_precision.first_precision`; with Gaussian
    noise the mode thus does not depend on the noise, whose variance makes the data most probable. Noise
    with heavy tails alternates with the mode. The search begins at ``near``, a mode of the same problem,
    or at ``latent``, that of other columns. A step of Newton's method that gains less than ``gain`` nats
    is the last. ``products`` are :func:`row_products`, ``moments`` matches the moments of labels.
    """
    empty, columns = problem.empty(), problem.design.shape[1]
    alpha = np.full(columns, relative_precision * first_precision(problem, empty))
    w, b = (np.zeros(columns), empty.b) if near is None else (near.w, near.b)
    likelihood = empty.likelihood
    until: dict[str, Any] = {"solve": ridge if products is None else partial(_ridge_of_rows, products)}
    if gain is not None:
        until["gain"] = gain
    if near is None and latent is not None and empty.likelihood is problem.likelihood:
        # Not where the noise is learnt: there one step reaches the mode.
        w, b = _newton_step_from(problem, alpha, latent, until["solve"])
    if near is not None and isinstance(likelihood, Noise):
        alpha, likelihood = _with_noise(alpha, likelihood, near.likelihood)
    mode = find_mode(problem, alpha, likelihood, w, b, **until)
    for _ in range(max_noise_rounds):
        likelihood = _most_probable_noise(mode)
        if likelihood is mode.likelihood:
            break
        alpha, likelihood = _with_noise(mode.alpha, mode.likelihood, likelihood)
        before, mode = mode, find_mode(problem, alpha, likelihood, mode.w, mode.b, **until)
        # With Gaussian noise the mode does not depend on its variance, and one round is enough.
        change = abs(mode.objective - before.objective)
        if isinstance(likelihood, Gaussian) or change <= (1e-4 if gain is None else COMPARISON_NATS):
            break
    if moments:
        mode = match_moments(mode, until["solve"], tol=1e-8 if gain is None else 1e-3)
    return mode


def row_products(design: Design, *, intercept: bool) -> Array | None:
    """Return ``Phi Phi'`` if there are enough columns that solving from it is faster.

    With an intercept the columns may be centred, which keeps the digits of wide kernels.
    """
    n, p = design.shape
    if 2 * p <= n:
        return None
    Phi = design.matvec(np.eye(p))
    if intercept:
        Phi = Phi - Phi.mean(axis=0)
    return np.asarray(Phi @ Phi.T)


def _ridge_of_rows(
    products: Array, design: Design, r: Array, z: Array, variance: Array, *, intercept: bool
) -> Ridge:
    """Solve the ridge problem of one variance from ``Phi Phi'``."""
    return ridge_of_rows(design, products, float(variance[0]), r, z, variance, intercept=intercept)


def _newton_step_from(problem: Problem, alpha: Array, f: Array, solve: Solve) -> tuple[Array, float]:
    """Return the weights after a Newton step from a latent, which may be that of other columns."""
    _, slope, curvature = problem.likelihood.evaluate(problem.y, f)
    r = problem.weight * floor_curvature(curvature)
    target = f + problem.weight * slope / r
    answer = solve(problem.design, r, target, 1 / alpha, intercept=problem.intercept)
    return answer.weights, answer.intercept


def _with_noise(alpha: Array, old: Any, new: Any) -> tuple[Array, Any]:
    """Return the precisions in units of another noise, and that noise."""
    return alpha * (new.information / old.information), new


def _most_probable_noise(mode: Mode) -> Likelihood:
    """Return the likelihood with the noise that makes the data most probable, weights integrated out."""
    problem, likelihood = mode.problem, mode.likelihood
    if not isinstance(likelihood, Noise):
        return likelihood
    total = float(problem.weight.sum())
    residual = float(problem.weight @ likelihood.squares(problem.y, mode.f))
    penalty = float(mode.alpha @ mode.w**2) * likelihood.noise
    v = (residual + penalty) / max(total - problem.intercept, 0.5 * total) - residual / total
    return likelihood.refit(problem.y, mode.f, problem.weight, problem.intercept, v)
