"""Variable projection: the scales minimise ``phi(theta) = min_w F(w, theta)``.

By the envelope theorem the gradient of ``phi`` is that of ``F`` at fixed ``w``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .._protocols import Array
from .newton import refine
from .problem import JointProblem, JointState, OutputWeights, StateCallback
from .weights import project


def variable_projection(
    problem: JointProblem,
    theta: Array,
    *,
    max_iter: int,
    tol: float,
    callback: StateCallback | None = None,
) -> JointState:
    """Minimise ``phi`` over non-negative scales until optimality is violated by ``tol`` of the rates.

    ``callback`` is called with the best state so far after every iteration; ``True`` stops the search.
    """
    here = descend(problem, theta, max_iter, 1e-8, callback)
    # The objective is quadratic in the violation, which large weights may hide behind rounding.
    least_gain = tol**2 * float(problem.weight.sum())
    # A number that Newton's method fixed at zero may have to return: then a finer descent frees it.
    for finer in (1e-8, 1e-10, 1e-12, 1e-14, 1e-16):
        here = _refined(problem, here, tol)
        n_left = max_iter - len(here.values) + 1
        if here.stopped or here.converged or n_left <= 0:
            return here
        more = descend(problem, here.theta, n_left, finer, callback, here.outputs)
        values, gain = [*here.values, *more.values[1:]], here.value - more.value
        here = replace(min(here, more, key=attrgetter("value")), values=values)
        if gain <= least_gain and not more.stopped:
            here = _refined(problem, here, tol)
            return replace(here, converged=True)
    return _refined(problem, here, tol)


def _refined(problem: JointProblem, here: JointState, tol: float) -> JointState:
    """Return the state after Newton's method, and whether it is optimal to ``tol`` of the rates."""
    if here.stopped:
        return here
    here = refine(problem, here)
    violation = problem.violation(here.theta, here.outputs)
    return replace(here, violation=violation, converged=violation <= tol)


def descend(
    problem: JointProblem,
    theta: Array,
    max_iter: int,
    tol: float,
    callback: StateCallback | None,
    warm: Sequence[OutputWeights] | None = None,
) -> JointState:
    """Return the best state of a descent that ends when an iteration gains a part ``tol`` or less."""
    unit = float(theta.mean()) or 1.0  # the first step of L-BFGS has unit length
    inner = float(np.sqrt(tol)) / 10  # the objective depends on its square
    best = last = project(problem, theta, warm, inner)
    stopped, values = False, [best.value]

    def value_and_gradient(scaled: Array) -> tuple[float, Array]:
        nonlocal best, last
        if not np.array_equal(scaled * unit, last.theta):
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
    _, converged = minimize_nonnegative(value_and_gradient, theta / unit, options, after_iteration)
    return replace(best, values=values, converged=converged, stopped=stopped)


def minimize_nonnegative(
    value_and_gradient: Callable[[Array], tuple[float, Array]],
    start: Array,
    options: dict[str, Any],
    callback: Callable[[Any], None] | None = None,
) -> tuple[Array, bool]:
    """Return the minimiser and whether L-BFGS-B has converged; zeros are exact.

    L-BFGS-B may miss its bounds by a rounding, and a scale of -5e-32 has no root.
    """
    untyped: Any = minimize  # its overloads do not know a function that returns value and gradient
    found = untyped(
        lambda x: value_and_gradient(np.maximum(x, 0.0)),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * start.size,
        callback=callback,
        options=options,
    )
    # A line search that finds no lower point has reached rounding.
    return np.maximum(found.x, 0.0), bool(found.success) or "ABNORMAL" in str(found.message)
