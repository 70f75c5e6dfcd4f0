"""The precisions that a search starts from: those of a signal-to-noise ratio of one."""

from __future__ import annotations

import numpy as np

from .._protocols import Array
from ..linalg import CONSTANT_VARIANCE_FRACTION
from ..solvers import Problem, State


def first_precision(problem: Problem, empty: State) -> float:
    r"""Return the precision at which the prior variance of the latent is the noise variance of a row.

    :math:`A = \bar r\sum_k \overline{(\phi_k - \bar\phi_k)^2}` with :math:`\bar r` the mean curvature of
    the likelihood at the empty model, that is the noise's precision in a regression.
    """
    variances, _ = _variances(problem)
    power = float(variances.sum()) * _mean_curvature(problem, empty)
    return power if power > 0 else 1.0


def own_precisions(problem: Problem, empty: State) -> Array:
    r"""Return such precisions with the same signal-to-noise ratio for every column, in any units.

    :math:`A_k = K\bar r\,\overline{(\phi_k - \bar\phi_k)^2}` for :math:`K` columns that vary. One
    for all would start columns of small entries with a signal-to-noise ratio of nearly zero.
    """
    variances, squares = _variances(problem)
    varies = variances > CONSTANT_VARIANCE_FRACTION * squares
    own = max(int(varies.sum()), 1) * variances * _mean_curvature(problem, empty)
    return np.where(varies & (own > 0), own, first_precision(problem, empty))


def _mean_curvature(problem: Problem, empty: State) -> float:
    """Return the mean curvature of the likelihood, the precision of one row."""
    return float(problem.weight @ empty.curvature / problem.weight.sum())


def _variances(problem: Problem) -> tuple[Array, Array]:
    """Return the variance of each column, around zero without an intercept, and its mean square."""
    share = problem.weight / problem.weight.sum()
    squares = problem.design.square_rmatvec(share)
    if not problem.intercept:
        return squares, squares
    return np.maximum(squares - problem.design.rmatvec(share) ** 2, 0.0), squares
