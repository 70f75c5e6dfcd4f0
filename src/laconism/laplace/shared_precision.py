"""One precision for all weights: the dense end, as good as a Gaussian process."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

import numpy as np

from .._protocols import Array, Design, Likelihood
from ..likelihoods import Gaussian, Noise
from ..linalg import Ridge, ridge, ridge_of_rows
from ..solvers import Problem
from ..solvers.problem import floor_curvature
from .first_precision import first_precision
from .mode import Mode, Solve, find_mode
from .moment_matching import match_moments

# Columns, as a part of the rows, up to which a step from the columns is the faster one.
_FEW_COLUMNS = 0.5
# Noise with heavy tails and the mode are found in turn, so often at the most, until a turn changes the
# evidence by less than so many nats, or so many where modes are only compared.
_ROUNDS, _SETTLED, _SETTLING = 50, 1e-4, 0.05


class Weights(Protocol):
    """Weights and an intercept."""

    @property
    def w(self) -> Array: ...  # noqa: D102

    @property
    def b(self) -> float: ...  # noqa: D102

    @property
    def likelihood(self) -> Likelihood: ...  # noqa: D102


def fit_shared(
    problem: Problem,
    relative_precision: float,
    near: Weights | None = None,
    gain: float | None = None,
    latent: Array | None = None,
    products: Array | None = None,
    *,
    moments: bool = False,
) -> Mode:
    r"""Return the mode under one precision for all weights.

    Parameters
    ----------
    problem : Problem
    multiple : float
        The precision, as a multiple of the one at which the prior's latent varies as much as one row can
        tell. With Gaussian noise it is thus in units of :math:`1/\sigma^2`, and the mode does not depend
        on the noise, whose variance is the one that makes the data most probable:
        :math:`\sigma^2 = (\|y - f\|^2 + \sigma^2\alpha\|w\|^2)/(n - 1)`.
    near : Mode, or whatever has its ``w`` and ``b``, optional
        A mode of the same problem to begin at.
    gain : float, optional
        Nats that a step of Newton's method has to gain to be followed by another; by default the last
        digit. Such a mode is for comparing: of products it has the variance of the latent at each row,
        and not that of the weights.
    latent : ndarray of shape (n,), optional
        The latent of other columns at the same rows, to begin near if no mode is.
    products : ndarray of shape (n, n), optional
        :func:`row_products` of the design: where columns are many, a step from them is several times
        as fast.
    moments : bool, default=False
        Of labels, whether the mode gives way to the mean (:func:`match_moments`).

    Returns
    -------
    Mode
    """
    empty, columns = problem.empty(), problem.design.shape[1]
    alpha = np.full(columns, relative_precision * first_precision(problem, empty))
    w, b = (np.zeros(columns), empty.b) if near is None else (near.w, near.b)
    likelihood = empty.likelihood
    until: dict[str, Any] = {"solve": ridge if products is None else partial(_ridge_of_rows, products)}
    if gain is not None:
        until["gain"] = gain
    if near is None and latent is not None and empty.likelihood is problem.likelihood:
        # Not where the noise is learnt: there the first step is the last.
        w, b = _towards(problem, alpha, latent, until["solve"])
    if near is not None and isinstance(likelihood, Noise):
        alpha, likelihood = _seen_from(alpha, likelihood, near.likelihood)
    mode = find_mode(problem, alpha, likelihood, w, b, **until)
    for _ in range(_ROUNDS):
        likelihood = _most_probable(mode)
        if likelihood is mode.likelihood:
            break
        alpha, likelihood = _seen_from(mode.alpha, mode.likelihood, likelihood)
        before, mode = mode, find_mode(problem, alpha, likelihood, mode.w, mode.b, **until)
        # Of Gaussian noise the mode is the same for all variances, and the first one is the best.
        change = abs(mode.objective - before.objective)
        if isinstance(likelihood, Gaussian) or change <= (_SETTLED if gain is None else _SETTLING):
            break
    if moments:
        mode = match_moments(mode, until["solve"], exact=gain is None)
    return mode


def row_products(design: Design) -> Array | None:
    """Return ``Phi Phi'`` if there are enough columns for a step from it to be the faster one."""
    n, p = design.shape
    if p <= _FEW_COLUMNS * n:
        return None
    Phi = design.matvec(np.eye(p))
    return np.asarray(Phi @ Phi.T)


def _ridge_of_rows(
    products: Array, design: Design, r: Array, z: Array, variance: Array, *, intercept: bool
) -> Ridge:
    """Solve the ridge problem of one variance from ``Phi Phi'``."""
    return ridge_of_rows(design, products, float(variance[0]), r, z, variance, intercept=intercept)


def _towards(problem: Problem, alpha: Array, f: Array, solve: Solve) -> tuple[Array, float]:
    """Return the weights of a step of Newton's method from a latent that need not be one of theirs."""
    _, slope, curvature = problem.likelihood.evaluate(problem.y, f)
    r = problem.weight * floor_curvature(curvature)
    target = f + problem.weight * slope / r
    answer = solve(problem.design, r, target, 1 / alpha, intercept=problem.intercept)
    return answer.weights, answer.intercept


def _seen_from(alpha: Array, old: Any, new: Any) -> tuple[Array, Any]:
    """Return a precision in the units of another noise, and that."""
    return alpha * (new.information / old.information), new


def _most_probable(mode: Mode) -> Likelihood:
    """Return the likelihood with the noise that makes the data most probable, weights integrated out."""
    problem, likelihood = mode.problem, mode.likelihood
    if not isinstance(likelihood, Noise):
        return likelihood
    total = float(problem.weight.sum())
    seen = float(problem.weight @ likelihood.squares(problem.y, mode.f))
    asked = float(mode.alpha @ mode.w**2) * likelihood.noise  # by the prior
    v = (seen + asked) / max(total - problem.intercept, 0.5 * total) - seen / total
    return likelihood.refit(problem.y, mode.f, problem.weight, problem.intercept, v)
