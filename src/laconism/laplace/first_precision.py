"""Where the precisions start from: a number without units of its own."""

from __future__ import annotations

import numpy as np

from .._protocols import Array
from ..solvers import Problem, State

# A variance below this part of a column's mean square is what rounding leaves of a constant.
_CONSTANT = 1e-12


def first_precision(problem: Problem, empty: State) -> float:
    r"""Return the precision at which the prior's latent varies as much as one row can tell.

    With :math:`\bar r` the mean curvature of the likelihood at the empty model, that is the noise's
    precision in a regression, :math:`A = \bar r\sum_k \overline{(\phi_k - \bar\phi_k)^2}`: the weights
    together then have a signal-to-noise ratio of one, whatever the units of columns and targets.
    """
    variances, _ = _variances(problem)
    power = float(variances.sum()) * _told(problem, empty)
    return power if power > 0 else 1.0


def own_precisions(problem: Problem, empty: State) -> Array:
    r"""Return such precisions with the same signal-to-noise ratio for every column, whatever its units.

    :math:`A_k = K\bar r\,\overline{(\phi_k - \bar\phi_k)^2}` for :math:`K` columns that vary. Under one
    for all, a column in units a million times as large as the others' would say nothing at first.
    """
    variances, squares = _variances(problem)
    varies = variances > _CONSTANT * squares
    own = max(int(varies.sum()), 1) * variances * _told(problem, empty)
    return np.where(varies & (own > 0), own, first_precision(problem, empty))


def _told(problem: Problem, empty: State) -> float:
    """Return what one row tells of its latent: the mean curvature of the likelihood."""
    return float(problem.weight @ empty.curvature / problem.weight.sum())


def _variances(problem: Problem) -> tuple[Array, Array]:
    """Return the variance of each column, around zero without an intercept, and its mean square."""
    share = problem.weight / problem.weight.sum()
    squares = problem.design.square_rmatvec(share)
    if not problem.intercept:
        return squares, squares
    return np.maximum(squares - problem.design.rmatvec(share) ** 2, 0.0), squares
