"""Where the precisions start from: a number without units of its own."""

from __future__ import annotations

import numpy as np

from ..solvers import Problem, State


def first_precision(problem: Problem, empty: State) -> float:
    r"""Return the precision at which the prior's latent varies as much as one row can tell.

    With :math:`\bar r` the mean curvature of the likelihood at the empty model, that is the noise's
    precision in a regression, :math:`A = \bar r\sum_k \overline{(\phi_k - \bar\phi_k)^2}`: the weights
    together then have a signal-to-noise ratio of one, whatever the units of columns and targets.
    """
    share = problem.weight / problem.weight.sum()
    squares = problem.design.square_rmatvec(share)
    if problem.intercept:
        squares = squares - problem.design.rmatvec(share) ** 2
    power = float(np.maximum(squares, 0.0).sum()) * float(share @ empty.curvature)
    return power if power > 0 else 1.0
