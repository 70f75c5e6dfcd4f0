"""Classifier and features together: weights of kernels, and a scale for every feature [JCFO].

Both have an l1 penalty, so weights and scales become exactly zero:

    F(w, theta) = -sum_i weight_i log p(y_i | f_i) + weight_rate |w|_1 + scale_rate sum(theta)

Variable projection minimises phi(theta) = min_w F(w, theta): the inner problem is convex and solved
exactly, and the gradient of phi is that of F at fixed w.

[JCFO] B. Krishnapuram, A. Hartemink, L. Carin, M. Figueiredo, A Bayesian approach to joint feature
selection and classifier design, IEEE TPAMI 26, 2004.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .._protocols import Array, Kernel, Likelihood
from ..design import DenseDesign
from ..linalg import ridge
from ..priors import Laplace
from ._loop import solve
from ._problem import Problem, State
from .proximal import Proximal

# The inner problem is solved to this many nats per observation: the gradient feels its square root.
_INNER_TOL, _INNER_STEPS = 1e-9, 200
# Weights of EM below this part of the largest are on their way to zero; the paper never says so, but a
# ridge with a variance of zero has them there already.
_GONE = 1e-12
# Steps of an M-step in the scales.
_M_STEPS = 5


@dataclass(frozen=True)
class JointProblem:
    """What is asked: targets of one or more outputs that share the scales of the features."""

    kernel: Kernel
    X: Array
    centres: Array
    targets: Sequence[Array]
    likelihood: Likelihood
    weight: Array
    weight_rate: float
    scale_rate: float
    intercept: bool  # free, not penalised
    constant: bool = False  # a penalised intercept: a column of ones in front

    def columns(self, theta: Array) -> Array:
        """Return the design matrix under these scales."""
        root = np.sqrt(theta)
        used = np.flatnonzero(theta)  # the others might as well not exist, but one must
        used = used if used.size else np.arange(1)
        K = self.kernel(self.X[:, used] * root[used], self.centres[:, used] * root[used])
        return np.column_stack([np.ones(K.shape[0]), K]) if self.constant else np.asarray(K)

    def problem(self, Phi: Array, y: Array) -> Problem:
        """Return the inner problem of one output."""
        prior = Laplace(rate=self.weight_rate)
        return Problem(DenseDesign(Phi), y, self.likelihood, prior, self.weight, self.intercept)

    def slope(self, theta: Array, states: Sequence[State]) -> Array:
        """Return the gradient of ``F`` in the scales at fixed weights: eq. (18) of [JCFO]."""
        gradient = np.full(theta.size, self.scale_rate)
        for state in states:
            w = state.w[int(self.constant) :]
            kept = np.flatnonzero(w)
            if kept.size:
                W = np.outer(self.weight * state.slope, w[kept])
                gradient -= self.kernel.scale_gradient(self.X, self.centres[kept], theta, W)
        return gradient


@dataclass
class Joint:
    """Where the search stands: scales, the answers of the inner problems, and the objective."""

    theta: Array
    states: list[State]
    value: float
    evaluations: int = 0
    values: list[float] = field(default_factory=list)
    converged: bool = False


def project(question: JointProblem, theta: Array, warm: Sequence[State] | None = None) -> Joint:
    """Return the best weights for these scales, and ``phi(theta)``."""
    Phi, states = question.columns(theta), []
    for k, y in enumerate(question.targets):
        problem = question.problem(Phi, y)
        start = None
        if warm is not None:
            start = problem.refit(warm[k].w, warm[k].b, warm[k].likelihood)
        answer = solve(problem, Proximal(), start=start, max_iter=_INNER_STEPS, tol=_INNER_TOL)
        states.append(answer.state)
    value = question.scale_rate * float(theta.sum()) - sum(state.objective for state in states)
    return Joint(theta, states, value)


def variable_projection(
    question: JointProblem,
    theta: Array,
    *,
    max_iter: int,
    tol: float,
    callback: Callable[[Joint], object] | None = None,
) -> Joint:
    """Minimise ``phi`` over non-negative scales by L-BFGS-B with the envelope gradient.

    Parameters
    ----------
    question : JointProblem
    theta : ndarray
        Where to start.
    max_iter : int
        Most iterations.
    tol : float
        Relative change of the objective, and size of its projected gradient, at which to stop.
    callback : callable, optional
        Called with the best so far after every iteration; ``True`` stops the search.
    """
    unit = float(theta.mean()) or 1.0  # the first step of L-BFGS has unit length
    best = project(question, theta)
    best.evaluations, last = 1, best
    values = [best.value]

    def value_and_slope(scaled: Array) -> tuple[float, Array]:
        nonlocal best, last
        here = last if np.array_equal(scaled * unit, last.theta) else None
        if here is None:
            here = project(question, scaled * unit, last.states)
            here.evaluations = last.evaluations + 1
            last = here
            best = here if here.value < best.value else best
        return here.value, unit * question.slope(here.theta, here.states)

    def each(intermediate_result: Any) -> None:
        values.append(best.value)
        if callback is not None and callback(best):
            raise StopIteration

    options = {"maxiter": max_iter, "ftol": tol, "gtol": tol * max(1.0, abs(best.value))}
    _, converged = _descend(value_and_slope, theta / unit, options, each)
    return Joint(best.theta, best.states, best.value, last.evaluations, values, converged)


def _descend(
    value_and_slope: Callable[[Array], tuple[float, Array]],
    start: Array,
    options: dict[str, Any],
    callback: Callable[[Any], None] | None = None,
) -> tuple[Array, bool]:
    """Minimise over numbers that are not negative; zeros come out exact."""
    anything: Any = minimize  # its overloads do not know a function that returns both
    found = anything(
        value_and_slope,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * start.size,
        callback=callback,
        options=options,
    )
    # A line search that finds nothing lower has reached the last digit.
    return np.asarray(found.x), bool(found.success) or "ABNORMAL" in str(found.message)


def expectation_maximisation(
    question: JointProblem,
    theta: Array,
    *,
    max_iter: int,
    tol: float,
    callback: Callable[[Joint], object] | None = None,
) -> Joint:
    """Return the paper's EM: hidden labels and variances in turn with weights and scales, (12)-(19).

    The scales of an M-step, for which the paper uses conjugate gradients, take a few steps of L-BFGS-B.
    """
    here = project(question, theta)
    values, evaluations, converged = [here.value], 1, False
    for _ in range(max_iter):
        old = here
        here, count = _em_step(question, here)
        evaluations += count
        values.append(here.value)
        if callback is not None and callback(here):
            break
        if old.value - here.value <= tol * max(1.0, abs(here.value)):
            converged = True
            break
    return Joint(here.theta, here.states, here.value, evaluations, values, converged)


def _em_step(question: JointProblem, here: Joint) -> tuple[Joint, int]:
    """Return weights and scales that raise the expected log-posterior (16); count what it took."""
    hidden = [
        question.likelihood.surrogate(y, state.f, np.zeros_like(state.f))
        for y, state in zip(question.targets, here.states, strict=True)
    ]
    variance = [_touching(state.w, question.weight_rate) for state in here.states]
    # theta^2 delta / 2 with delta = scale_rate / theta: eq. (14); scales of zero stay there.
    alive = np.flatnonzero(here.theta)
    delta = question.scale_rate / here.theta[alive]
    count, warm = 0, here

    def expected(part: Array) -> tuple[float, Array]:
        nonlocal count, warm
        count += 1
        theta = np.zeros_like(here.theta)
        theta[alive] = part
        Phi = question.columns(theta)
        value, slope, states = 0.5 * float(delta @ part**2), np.zeros_like(theta), []
        for (z, r), v, y in zip(hidden, variance, question.targets, strict=True):
            r = r * question.weight
            answer = ridge(DenseDesign(Phi), r, z, v, intercept=question.intercept)
            f = Phi @ answer.weights + answer.intercept
            used = v > 0
            value += 0.5 * float(r @ (z - f) ** 2) + 0.5 * float(
                answer.weights[used] ** 2 @ (1 / v[used])
            )
            problem = question.problem(Phi, y)
            states.append(problem.state(answer.weights, answer.intercept, question.likelihood))
            w = answer.weights[int(question.constant) :]
            kept = np.flatnonzero(w)
            if kept.size:
                W = np.outer(r * (z - f), w[kept])
                slope -= question.kernel.scale_gradient(question.X, question.centres[kept], theta, W)
        total = question.scale_rate * float(theta.sum()) - sum(state.objective for state in states)
        warm = Joint(theta, states, total)
        return value, slope[alive] + delta * part

    if not alive.size:
        expected(np.zeros(0))
        return warm, count
    unit = float(here.theta[alive].mean())

    def scaled(part: Array) -> tuple[float, Array]:
        value, slope = expected(unit * part)
        return value, unit * slope

    part, _ = _descend(scaled, here.theta[alive] / unit, {"maxiter": _M_STEPS})
    expected(unit * part)
    return warm, count


def _touching(w: Array, rate: float) -> Array:
    """Return the variance of the Gaussian that touches the Laplace prior of each weight, eq. (13)."""
    size = np.abs(w)
    return np.asarray(np.where(size > _GONE * size.max(initial=0.0), size, 0.0) / rate)
