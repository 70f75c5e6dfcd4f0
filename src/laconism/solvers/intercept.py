"""Whether a kernel classifier needs an intercept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from .._protocols import Array, Index
from ..judging.price import JEFFREYS_NATS, bic, prior_price
from ..priors import Jeffreys, Prior
from . import Newton, Problem, choose_solver, solve


def needs_intercept(problem: Problem, kept: Index, w: Array, prior: Prior | None) -> bool:
    """Return whether an intercept gains more than its price, beside kernels chosen without one.

    It is one more column, at the price of one; its gain includes the price of kernels that it replaces.
    ``prior`` is the one of the weights; None, where precisions were learnt, is Jeffreys'.
    """
    if not kept.size:
        return True
    few = replace(problem.keep(kept), kernels=True)
    if prior is not None and not isinstance(prior, Jeffreys):
        return _intercept_gain(replace(few, prior=prior), w) > _required_gain(problem, JEFFREYS_NATS)
    few = replace(few, prior=problem.prior.bind(kept.size, kernel=True))
    price, lean = prior_price(few.prior), replace(few, intercept=False)
    if prior == few.prior:  # the weights are optimal already
        without = lean.state(w, 0.0, lean.likelihood).fit - price * kept.size
    else:
        without = _worth(lean, w, price)
    return max(_worth(few, w, price), _frequency_fit(problem)) - without > _required_gain(problem, price)


def _frequency_fit(problem: Problem) -> float:
    """Return the log-likelihood of an intercept alone, which predicts the class frequencies."""
    first = float(problem.weight @ (problem.y > 0))
    shares = np.array([first, float(problem.weight.sum()) - first])
    return float(xlogy(shares, shares / shares.sum()).sum())


def _required_gain(problem: Problem, price: float) -> float:
    """Return the nats that an intercept has to gain."""
    return max(price, bic(float(problem.weight.sum())))


def _intercept_gain(problem: Problem, w: Array) -> float:
    """Return by how much a free intercept raises the objective of a proper prior."""
    start = problem.state(w, 0.0, problem.likelihood)
    answer = solve(problem, choose_solver("auto", problem.prior), start=start)
    return answer.state.fit - answer.problem.penalty(answer.state.w) - start.objective


def _worth(problem: Problem, w: Array, price: float) -> float:
    """Return the log-likelihood of a fit of these columns, less the price of those it keeps."""
    start = problem.state(w, 0.0, problem.likelihood)
    # A step that overflows is halved.
    with np.errstate(over="ignore"):
        return solve(problem, Newton(), start=start).state.worth(price)


def drop_needless_intercept(search: Callable[[Problem], Any], problem: Problem) -> Any:
    """Return the fit of a search without an intercept or, if the model needs one, with it.

    A fit has ``status``, ``active``, ``posterior`` and ``prior``.
    """
    lean = replace(problem, intercept=False)
    # With classes of unequal frequency an intercept alone may gain more than its price; under Jeffreys'
    # prior, which has no scale, it is decided after the fit.
    gain = 0.0 if isinstance(problem.prior, Jeffreys) else problem.empty().fit - lean.empty().fit
    if gain > _required_gain(problem, JEFFREYS_NATS):
        return search(problem)
    without = search(lean)
    if not without.status.converged:
        return without
    needed = needs_intercept(problem, without.active, without.posterior.mean, without.prior)
    return search(problem) if needed else without
