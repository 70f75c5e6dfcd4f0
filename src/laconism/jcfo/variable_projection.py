"""Variable projection: the weights are eliminated, the scales descend [JCFO].

It minimises ``phi(theta) = min_w F(w, theta)``: the inner problem is convex and solved exactly, and by
the envelope theorem the gradient of ``phi`` is that of ``F`` at fixed ``w``. L-BFGS-B comes near the
minimum, and Newton's method in weights and scales together finds the last digits.

[JCFO] B. Krishnapuram, A. Hartemink, L. Carin, M. Figueiredo, A Bayesian approach to joint feature
selection and classifier design, IEEE TPAMI 26, 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._protocols import Array
from .bounded import minimize_nonnegative
from .newton import refine
from .problem import JointProblem, JointState, OutputWeights, StateCallback
from .weights import project

# Relative decrease of the objective at which the descent leaves the rest to Newton's method.
_DESCENT_TOLERANCE = 1e-8
# The factor by which that tolerance shrinks with every round.
_TOLERANCE_SHRINK = 0.01
# Rounds of descent and Newton's method: a number that Newton's method fixed at zero may have to return.
_MAX_ROUNDS = 6
# Tolerance of the inner problem, as a part of the root of the outer one: the objective depends on its
# square.
_INNER_TOLERANCE_SHARE = 0.1


def variable_projection(
    problem: JointProblem,
    theta: Array,
    *,
    max_iter: int,
    tol: float,
    callback: StateCallback | None = None,
    exact: bool = True,
    warm: Sequence[OutputWeights] | None = None,
) -> JointState:
    """Minimise ``phi`` over non-negative scales.

    Parameters
    ----------
    problem : JointProblem
    theta : ndarray
        Scales to start from.
    max_iter : int
        Most iterations of the descent.
    tol : float
        Violation of the optimality conditions, in units of the rates, at which it has converged;
        not ``exact``: relative decrease of the objective at which to stop.
    callback : callable, optional
        Called with the best state so far after every iteration; ``True`` stops the search.
    exact : bool, default=True
        Whether Newton's method finds the last digits.
    warm : sequence of OutputWeights, optional
        Weights of each output from which the first inner problem starts.
    """
    if not exact:
        return _descend(problem, theta, max_iter, tol, callback, warm)
    here = _descend(problem, theta, max_iter, _DESCENT_TOLERANCE, callback, warm)
    for number in range(_MAX_ROUNDS):
        if here.stopped:
            break
        here = refine(problem, here)
        violation = problem.violation(here.theta, here.outputs)
        here = replace(here, violation=violation, converged=violation <= tol)
        n_left = max_iter - len(here.values) + 1
        if here.converged or n_left <= 0 or number == _MAX_ROUNDS - 1:
            break
        finer = _DESCENT_TOLERANCE * _TOLERANCE_SHRINK**number
        more = _descend(problem, here.theta, n_left, finer, callback, here.outputs)
        evaluations, values = here.evaluations + more.evaluations, [*here.values, *more.values[1:]]
        if more.value < here.value:
            here = more
        here = replace(here, evaluations=evaluations, values=values)
    return here


def _descend(
    problem: JointProblem,
    theta: Array,
    max_iter: int,
    tol: float,
    callback: StateCallback | None,
    warm: Sequence[OutputWeights] | None = None,
) -> JointState:
    """Return the best state of a descent that ends when an iteration gains a part ``tol`` or less."""
    unit = float(theta.mean()) or 1.0  # the first step of L-BFGS has unit length
    inner = _INNER_TOLERANCE_SHARE * float(np.sqrt(tol))
    best = last = project(problem, theta, warm, inner)
    evaluations, stopped, values = 1, False, [best.value]

    def value_and_gradient(scaled: Array) -> tuple[float, Array]:
        nonlocal best, last, evaluations
        if not np.array_equal(scaled * unit, last.theta):
            evaluations += 1
            last = project(problem, scaled * unit, last.outputs, inner)
            best = last if last.value < best.value else best
        return last.value, unit * problem.scale_gradient(last.theta, last.outputs)

    def after_iteration(intermediate_result: Any) -> None:
        nonlocal stopped
        values.append(best.value)
        stopped = callback is not None and bool(callback(best))
        if stopped:
            raise StopIteration

    options = {"maxiter": max_iter, "ftol": tol, "gtol": tol * max(1.0, abs(best.value))}
    start = theta / unit
    converged = minimize_nonnegative(value_and_gradient, start, options, after_iteration)[1]
    return replace(best, evaluations=evaluations, values=values, converged=converged, stopped=stopped)
