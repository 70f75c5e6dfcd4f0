"""The algorithm of [JCFO]: expectation-maximisation in weights and scales."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._protocols import Array
from ..design import DenseDesign
from ..linalg import ridge
from .problem import Callback, Joint, JointProblem, descend
from .weights import Weights, empty_weights, rate_of, weights_at, with_noise

# Weights below this part of the largest are on their way to zero; the paper never says so, but a
# ridge with a variance of zero has them there already.
_GONE = 1e-12
# Steps of an M-step in the scales.
_STEPS = 5


def expectation_maximisation(
    question: JointProblem,
    theta: Array,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Joint:
    """Return the paper's EM: hidden labels and variances in turn with weights and scales, (12)-(19).

    It starts from a ridge with unit variances, since a weight of zero would stay there. The scales of
    an M-step, for which the paper uses conjugate gradients, take a few steps of L-BFGS-B. It stops when
    an iteration gains less than ``tol`` of the objective.
    """
    here = _start(question, theta)
    values, evaluations, converged, stopped = [here.value], 1, False, False
    for _ in range(max_iter):
        old = here
        here, count = _step(question, here)
        evaluations += count
        values.append(here.value)
        stopped = callback is not None and bool(callback(here))
        converged = old.value - here.value <= tol * max(1.0, abs(here.value))
        if converged or stopped:
            break
    return replace(
        here, evaluations=evaluations, values=values, converged=converged, stopped=stopped,
        residual=question.residual(here.theta, here.outputs),
    )  # fmt: skip


def _start(question: JointProblem, theta: Array) -> Joint:
    Phi, outputs = question.columns(theta), []
    for y in question.targets:
        level = empty_weights(question, y, Phi.shape[1])
        z, r = level.likelihood.surrogate(y, level.f, np.zeros_like(level.f))
        outputs.append(_ridge(question, Phi, y, z, r, np.ones(Phi.shape[1]), level.likelihood))
    return question.joint(theta, outputs)


def _ridge(
    question: JointProblem, Phi: Array, y: Array, z: Array, r: Array, variance: Array, likelihood: Any
) -> Weights:
    """Return the weights of eq. (19)."""
    answer = ridge(DenseDesign(Phi), r * question.weight, z, variance, intercept=question.intercept)
    f = Phi @ answer.weights + answer.intercept
    return weights_at(question, y, answer.weights, answer.intercept, f, likelihood)


def _step(question: JointProblem, here: Joint) -> tuple[Joint, int]:
    """Return weights and scales that raise the expected log-posterior (16); count what it took."""
    hidden = []
    for y, output in zip(question.targets, here.outputs, strict=True):
        z, r = output.likelihood.surrogate(y, output.f, np.zeros_like(output.f))
        hidden.append((y, z, r, _touching(question, output), output.likelihood))
    # theta^2 delta / 2 with delta = scale_rate / theta: eq. (14); scales of zero stay there.
    alive = np.flatnonzero(here.theta)
    delta = question.scale_rate / here.theta[alive]
    unit = float(here.theta[alive].mean()) if alive.size else 1.0
    count, last = 0, here

    def expected(scaled: Array) -> tuple[float, Array]:
        nonlocal count, last
        count += 1
        theta, part = np.zeros_like(here.theta), unit * scaled
        theta[alive] = part
        Phi = question.columns(theta)
        value, slope, outputs = 0.5 * float(delta @ part**2), np.zeros_like(theta), []
        for y, z, r, variance, likelihood in hidden:
            output = _ridge(question, Phi, y, z, r, variance, likelihood)
            outputs.append(output)
            used, g = variance > 0, question.weight * r * (z - output.f)
            value += 0.5 * float(g @ (z - output.f))
            value += 0.5 * float(output.w[used] ** 2 @ (1 / variance[used]))
            slope -= question.pull(theta, output.w, g)
        last = Joint(theta, outputs, 0.0)
        return value, unit * (slope[alive] + delta * part)

    part = here.theta[alive] / unit
    if alive.size:
        part, _ = descend(expected, part, {"maxiter": _STEPS})
    expected(part)
    pairs = zip(question.targets, last.outputs, strict=True)
    outputs = [with_noise(question, y, output) for y, output in pairs]
    return question.joint(last.theta, outputs), count


def _touching(question: JointProblem, output: Weights) -> Array:
    """Return the variance of the Gaussian that touches the Laplace prior of each weight, eq. (13)."""
    size = np.abs(output.w)
    size = np.where(size > _GONE * size.max(initial=0.0), size, 0.0)
    return np.asarray(size / rate_of(question, output.likelihood))
