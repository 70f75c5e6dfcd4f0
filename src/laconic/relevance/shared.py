"""One precision for all weights: the dense end, as good as a Gaussian process."""

from __future__ import annotations

import numpy as np

from .._protocols import Array
from ..linalg import Quadratic, symmetric_eigen
from ..solvers import Problem
from ._mode import Mode, find_mode
from ._start import first_precision

# Rounds of touching the likelihood anew, and the gain in nats after which there is no other.
_ROUNDS, _GAIN = 50, 1e-3
# Steps of the fixed point on one quadratic; each costs as little as there are eigenvalues.
_STEPS = 200
# No precision changes by more than this factor in one round: the quadratic holds around the mode.
_LEAP = 100.0
# Where the columns say nothing the best precision is infinite, and where they say all it is zero: beyond
# this factor nobody could tell.
_FARTHEST = 1e8


def fit_shared(problem: Problem, start: float = 1.0) -> Mode:
    r"""Return the mode under the one precision of all weights that makes the data most probable.

    MacKay's fixed point :math:`\alpha = \gamma/\|w\|^2` with
    :math:`\gamma = \sum\lambda_j/(\lambda_j + \alpha)`, in the eigenvectors of the Gram matrix: the
    likelihood is touched a few times, and the fixed point found in between for next to nothing.

    Parameters
    ----------
    problem : Problem
    start : float, default=1.0
        Where to begin, as a multiple of the precision at which the prior says as much as one row.
    """
    empty = problem.empty()
    columns = problem.design.shape[1]
    unit = first_precision(problem, empty)
    alpha = np.full(columns, start * unit)
    mode = find_mode(problem, alpha, empty.likelihood, np.zeros(columns), empty.b)
    for _ in range(_ROUNDS if columns else 0):
        best = _fixed_point(mode.quadratic(), float(mode.alpha[0]))
        best = float(np.clip(best, unit / _FARTHEST, unit * _FARTHEST))
        new = find_mode(problem, np.full(columns, best), mode.refit(), mode.w, mode.b)
        gain, mode = new.objective - mode.objective, new
        if abs(gain) <= _GAIN:
            break
    return mode


def _fixed_point(quadratic: Quadratic, alpha: float) -> float:
    """Return the best shared precision for a quadratic log-likelihood."""
    values, vectors = symmetric_eigen(quadratic.gram)
    values = np.maximum(values, 0.0)
    c, first = vectors.T @ quadratic.slope, alpha
    for _ in range(_STEPS):
        learnt, square = np.sum(values / (values + alpha)), np.sum((c / (values + alpha)) ** 2)
        new = float(np.clip(learnt / max(square, 1e-300), first / _LEAP, first * _LEAP))
        if abs(new - alpha) <= 1e-4 * alpha:
            return new
        alpha = new
    return alpha


def leave_one_out(mode: Mode) -> tuple[Array, Array]:
    r"""Return mean and variance of each row's latent as if the row had not been seen.

    The row's own Gaussian, of precision :math:`r_i` and target :math:`z_i`, is taken from the posterior:
    :math:`1/v_{-i} = 1/v_i - r_i`, :math:`m_{-i}/v_{-i} = m_i/v_i - r_i z_i`. Exact for Gaussian noise,
    and close for Laplace's approximation. Of a row that was seen more than once, one copy is left out.
    """
    v = mode.ridge.latent_variance(mode.problem.design, mode.r)
    own = v * mode.r / np.maximum(mode.problem.weight, 1.0)
    left = np.maximum(1 - own, 1e-10)  # what the others say of the row, as a part of all
    return (mode.f - own * mode.target) / left, v / left
