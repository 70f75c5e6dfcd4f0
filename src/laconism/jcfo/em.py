"""The algorithm of [JCFO]: expectation-maximisation in weights and scales."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._protocols import Array
from ..design import DenseDesign
from ..linalg import ridge
from .problem import JointProblem, JointState, OutputWeights, StateCallback
from .variable_projection import minimize_nonnegative
from .weights import empty_weights, with_noise


def expectation_maximisation(
    problem: JointProblem,
    theta: Array,
    *,
    max_iter: int,
    tol: float,
    callback: StateCallback | None = None,
) -> JointState:
    """Return the paper's EM: hidden labels and variances in turn with weights and scales, (12)-(19).

    It starts from a ridge with unit variances, since a weight of zero would stay there, and stops when
    an iteration gains less than ``tol`` of the objective.
    """
    here = _start(problem, theta)
    values, converged, stopped = [here.value], False, False
    for _ in range(max_iter):
        old, here = here, _step(problem, here)
        values.append(here.value)
        stopped = callback is not None and bool(callback(here))
        converged = old.value - here.value <= tol * max(1.0, abs(here.value))
        if converged or stopped:
            break
    violation = problem.violation(here.theta, here.outputs)
    return replace(here, values=values, converged=converged, stopped=stopped, violation=violation)


def _start(problem: JointProblem, theta: Array) -> JointState:
    """Return the ridge with unit variances around the surrogate at the empty model."""
    Phi, outputs = problem.columns(theta), []
    for y in problem.targets:
        empty = empty_weights(problem, y, Phi.shape[1])
        z, r = empty.likelihood.surrogate(y, empty.f, np.zeros_like(empty.f))
        outputs.append(_ridge(problem, Phi, y, z, r, np.ones(Phi.shape[1]), empty.likelihood))
    return problem.state(theta, outputs)


def _ridge(
    problem: JointProblem, Phi: Array, y: Array, z: Array, r: Array, variance: Array, likelihood: Any
) -> OutputWeights:
    """Return the weights of eq. (19)."""
    solution = ridge(DenseDesign(Phi), r * problem.weight, z, variance, intercept=problem.intercept)
    f = Phi @ solution.weights + solution.intercept
    return problem.output_at(y, solution.weights, solution.intercept, f, likelihood)


def _step(problem: JointProblem, here: JointState, scale_iterations: int = 5) -> JointState:
    """Return weights and scales that raise the expected log-posterior (16).

    The paper uses conjugate gradients for the scales; here they take a few steps of L-BFGS-B.
    """
    hidden = []
    for y, output in zip(problem.targets, here.outputs, strict=True):
        z, r = output.likelihood.surrogate(y, output.f, np.zeros_like(output.f))
        hidden.append((y, z, r, _prior_variance(problem, output), output.likelihood))
    # theta^2 delta / 2 with delta = scale_rate / theta: eq. (14); scales of zero stay there.
    positive = np.flatnonzero(here.theta)
    delta = problem.scale_rate / here.theta[positive]
    unit = float(here.theta[positive].mean()) if positive.size else 1.0

    def at(scaled: Array) -> tuple[Array, list[OutputWeights]]:
        theta = np.zeros_like(here.theta)
        theta[positive] = unit * scaled
        Phi = problem.columns(theta)
        return theta, [_ridge(problem, Phi, *each) for each in hidden]

    def expected(scaled: Array) -> tuple[float, Array]:
        theta, outputs = at(scaled)
        part, slope = theta[positive], np.zeros_like(theta)
        value = 0.5 * float(delta @ part**2)
        for (_, z, r, variance, _), output in zip(hidden, outputs, strict=True):
            used, g = variance > 0, problem.weight * r * (z - output.f)
            value += 0.5 * float(g @ (z - output.f))
            value += 0.5 * float(output.w[used] ** 2 @ (1 / variance[used]))
            slope -= problem.latent_scale_gradient(theta, output.w, g)
        return value, unit * (slope[positive] + delta * part)

    part = here.theta[positive] / unit
    if positive.size:
        part, _ = minimize_nonnegative(expected, part, {"maxiter": scale_iterations})
    theta, outputs = at(part)
    pairs = zip(problem.targets, outputs, strict=True)
    return problem.state(theta, [with_noise(problem, y, output) for y, output in pairs])


def _prior_variance(problem: JointProblem, output: OutputWeights, zero_share: float = 1e-12) -> Array:
    """Return the variance of the Gaussian that touches the Laplace prior of each weight, eq. (13).

    A weight below the ``zero_share`` of the largest is zero, and with a variance of zero stays there.
    """
    size = np.abs(output.w)
    size = np.where(size > zero_share * size.max(initial=0.0), size, 0.0)
    return np.asarray(size / problem.latent_rate(output.likelihood))
