"""Whether kernels that tell classes apart need an intercept beside them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .._protocols import Array, Index
from ..priors import Jeffreys
from ..solvers import Newton, Problem, solve

# The price of a column under Jeffreys' prior in nats, on an orthogonal design and for a strength of one:
# at two standard errors it lets go.
_PRICE = 2.0
# Newton's method on a handful of columns that are known already: it ends after a few steps.
_STEPS, _TOL = 100, 1e-6


def misses_intercept(problem: Problem, kept: Index, w: Array) -> bool:
    """Return whether an intercept would be worth its price to kernels that were chosen without one.

    A latent of zero is even odds. So classes need no intercept as targets do, whose zero is anybody's
    choice: it is one more column, and comes in at the price at which a column comes back that was
    dropped. What it brings is partly that kernels can go which have only stood in for it, up to all.
    """
    few = replace(problem.keep(kept), prior=problem.prior.bind(kept.size, kernel=True), kernels=True)
    if not kept.size or not isinstance(few.prior, Jeffreys):
        return True
    price = _PRICE * float(few.prior.strength)
    beside = max(_worth(few, w, price), problem.empty().fit)
    brings = beside - _worth(replace(few, intercept=False), w, price)
    return brings > max(price, math.log(problem.weight.sum()) / 2)


def _worth(problem: Problem, w: Array, price: float) -> float:
    """Return the fit that these columns are good for, less the price of those that it takes."""
    start = problem.state(w, 0.0, problem.likelihood)
    # A step beyond what a double can hold is as bad as can be, and is halved: no need to be told.
    with np.errstate(over="ignore"):
        state = solve(problem, Newton(), start=start, max_iter=_STEPS, tol=_TOL).state
    return state.fit - price * np.count_nonzero(state.w)
