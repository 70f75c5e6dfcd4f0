"""Classifier and features together: weights of kernels, and a scale for every feature [JCFO].

Both have an l1 penalty, so weights and scales become exactly zero:

    F(w, theta) = -sum_i weight_i log p(y_i | f_i) + weight_rate |w|_1 + scale_rate sum(theta)

Variable projection minimises phi(theta) = min_w F(w, theta): the inner problem is convex and solved
exactly, and the gradient of phi is that of F at fixed w.

[JCFO] B. Krishnapuram, A. Hartemink, L. Carin, M. Figueiredo, A Bayesian approach to joint feature
selection and classifier design, IEEE TPAMI 26, 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._protocols import Array
from .em import expectation_maximisation
from .newton import finish
from .problem import Callback, Joint, JointProblem, descend, project
from .weights import Weights

__all__ = ["Joint", "JointProblem", "expectation_maximisation", "project", "variable_projection"]

# Relative decrease of the objective at which the descent leaves the rest to Newton's method, and how
# often they take turns: what Newton's method leaves at zero may have to come back.
_COARSE, _TURNS = 1e-8, 6
# How exactly the inner problem is solved, in units of the rate: this part of the root of the tolerance,
# since the objective feels the square of it.
_INNER = 0.1


def variable_projection(
    question: JointProblem,
    theta: Array,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    exact: bool = True,
    warm: Sequence[Weights] | None = None,
) -> Joint:
    """Minimise ``phi`` over non-negative scales: L-BFGS-B with the envelope gradient, then Newton.

    Parameters
    ----------
    question : JointProblem
    theta : ndarray
        Where to start.
    max_iter : int
        Most iterations of the descent.
    tol : float
        Violation of the conditions of optimality, in units of the rates, at which it has converged;
        not ``exact``: relative decrease of the objective at which to stop.
    callback : callable, optional
        Called with the best so far after every iteration; ``True`` stops the search.
    exact : bool, default=True
        Whether Newton's method finds the last digits.
    warm : sequence of Weights, optional
        Weights of each output from which the first inner problem sets out.
    """
    if not exact:
        return _descent(question, theta, max_iter, tol, callback, warm)
    here = _descent(question, theta, max_iter, _COARSE, callback, warm)
    for turn in range(_TURNS):
        if here.stopped:
            break
        here = finish(question, here)
        here.residual = question.residual(here.theta, here.outputs)
        here.converged = here.residual <= tol
        left = max_iter - len(here.values) + 1
        if here.converged or left <= 0 or turn == _TURNS - 1:
            break
        more = _descent(question, here.theta, left, _COARSE * 0.01**turn, callback, here.outputs)
        evaluations, values = here.evaluations + more.evaluations, here.values + more.values[1:]
        if more.value < here.value:
            here = more
        here = replace(here, evaluations=evaluations, values=values)
    return here


def _descent(
    question: JointProblem,
    theta: Array,
    max_iter: int,
    tol: float,
    callback: Callback | None,
    warm: Sequence[Weights] | None = None,
) -> Joint:
    """Descend until an iteration gains less than ``tol`` of the objective."""
    unit = float(theta.mean()) or 1.0  # the first step of L-BFGS has unit length
    inner = _INNER * float(np.sqrt(tol))
    best = project(question, theta, warm, inner)
    best.evaluations, last, stopped = 1, best, False
    values = [best.value]

    def value_and_slope(scaled: Array) -> tuple[float, Array]:
        nonlocal best, last
        if not np.array_equal(scaled * unit, last.theta):
            count = last.evaluations + 1
            last = project(question, scaled * unit, last.outputs, inner)
            last.evaluations = count
            best = last if last.value < best.value else best
        return last.value, unit * question.slope(last.theta, last.outputs)

    def each(intermediate_result: Any) -> None:
        nonlocal stopped
        values.append(best.value)
        stopped = callback is not None and bool(callback(best))
        if stopped:
            raise StopIteration

    options = {"maxiter": max_iter, "ftol": tol, "gtol": tol * max(1.0, abs(best.value))}
    converged = descend(value_and_slope, theta / unit, options, each)[1]
    return replace(
        best, evaluations=last.evaluations, values=values, converged=converged, stopped=stopped
    )
