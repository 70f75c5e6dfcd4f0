"""Whether kernels that tell classes apart need an intercept beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from .._protocols import Array, Index, Prior
from ..judging.price import JEFFREYS_NATS, bic, prior_price
from ..priors import Jeffreys
from . import Newton, Problem, choose_solver, solve

# Newton's method on a handful of columns that are known already: it ends after a few steps.
_STEPS, _TOL = 100, 1e-6


def needs_intercept_at_once(problem: Problem) -> bool:
    """Return whether one class is so much more frequent that an intercept alone is worth its price.

    A prior with a scale holds a kernel's weight to that scale, and kernels that have to tell the
    frequencies of the classes besides tell the classes worse. Jeffreys' prior, which has no scale,
    does not mind.
    """
    if isinstance(problem.prior, Jeffreys):
        return False
    brings = problem.empty().fit - replace(problem, intercept=False).empty().fit
    return brings > _required_gain(problem, JEFFREYS_NATS)


def needs_intercept(problem: Problem, kept: Index, w: Array, prior: Prior | None) -> bool:
    """Return whether an intercept would be worth its price to kernels that were chosen without one.

    A latent of zero is even odds. So classes need no intercept as targets do, whose zero is anybody's
    choice: it is one more column, and comes in at the price at which a column comes back that was
    dropped. What it brings is partly that kernels can go which have only stood in for it, up to all.

    ``prior`` is that under which the weights were found, with all its numbers; None where precisions
    were learnt instead, which stand for Jeffreys' prior.
    """
    if not kept.size:
        return True
    few = replace(problem.keep(kept), kernels=True)
    if prior is not None and not isinstance(prior, Jeffreys):
        return _brings(replace(few, prior=prior), w) > _required_gain(problem, JEFFREYS_NATS)
    few = replace(few, prior=problem.prior.bind(kept.size, kernel=True))
    price, lean = prior_price(few.prior), replace(few, intercept=False)
    if prior == few.prior:  # the weights are its answer already
        without = lean.state(w, 0.0, lean.likelihood).fit - price * kept.size
    else:
        without = _worth(lean, w, price)
    return max(_worth(few, w, price), _frequencies(problem)) - without > _required_gain(problem, price)


def _frequencies(problem: Problem) -> float:
    """Return the fit of a free intercept alone, which predicts the frequencies of the classes."""
    first = float(problem.weight @ (problem.y > 0))
    shares = np.array([first, float(problem.weight.sum()) - first])
    return float(xlogy(shares, shares / shares.sum()).sum())


def _required_gain(problem: Problem, price: float) -> float:
    """Return the nats that an intercept has to bring."""
    return max(price, bic(float(problem.weight.sum())))


def _brings(problem: Problem, w: Array) -> float:
    """Return by how much a free intercept raises the objective of a prior that has one."""
    start = problem.state(w, 0.0, problem.likelihood)
    solver = choose_solver("auto", problem.prior)
    answer = solve(problem, solver, start=start, max_iter=_STEPS, tol=_TOL)
    return answer.state.fit - answer.problem.penalty(answer.state.w) - start.objective


def _worth(problem: Problem, w: Array, price: float) -> float:
    """Return the fit that these columns are good for, less the price of those that it takes."""
    start = problem.state(w, 0.0, problem.likelihood)
    # A step beyond what a double can hold is as bad as can be, and is halved: no need to be told.
    with np.errstate(over="ignore"):
        state = solve(problem, Newton(), start=start, max_iter=_STEPS, tol=_TOL).state
    return state.fit - price * np.count_nonzero(state.w)


def drop_needless_intercept(search: Callable[[Problem], Any], problem: Problem) -> Any:
    """Return the fit of a search without an intercept or, if the model needs one, with it.

    A fit has ``status``, ``active``, ``posterior`` and ``prior``.
    """
    if needs_intercept_at_once(problem):
        return search(problem)
    without = search(replace(problem, intercept=False))
    if not without.status.converged:
        return without
    needed = needs_intercept(problem, without.active, without.posterior.mean, without.prior)
    return search(problem) if needed else without
