"""The last digits: Newton's method in weights and scales together.

Once it is known which weights and scales are not zero, and the signs of the weights, the objective is
smooth, and Newton's method ends at the stationary point whichever way it was approached: two
descriptions of one problem, such as a row written twice and a row of weight two, get one answer.

A regression is solved in ``u = w / s``, ``1 / s`` and ``b / s``, in which it has no more special cases.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._protocols import Array, Index
from ..likelihoods import Gaussian
from ..linalg import symmetric_eigen
from ..solvers.line_search import backtrack
from .problem import Joint, JointProblem
from .weights import gaussian, least_noise, weights_at

# Newton steps, at the most; without progress it is over sooner.
_STEPS = 100
# Part of the promised decrease that a step must bring.
_ARMIJO = 1e-4
# A promise below this part of the objective cannot be seen in it: from there on the slope decides.
_UNSEEN = 1e-13
# Curvatures below this part of the largest are rounding.
_FLAT = 1e-14
# Numbers that Newton's method may have at once, and products of rows, kernels and pairs of features that
# one Hessian may take.
_MOST_NUMBERS, _MOST_WORK = 1500, 2e10


def _root_precision(likelihood: Any) -> float:
    """Return one over the deviation of the noise: what numbers of a regression are measured in."""
    return float(1 / np.sqrt(likelihood.noise)) if isinstance(likelihood, Gaussian) else 1.0


@dataclass(frozen=True)
class _Part:
    """One output: its kept columns and where its numbers are in the vector of all."""

    y: Array
    kept: Index
    sign: Array
    weights: slice
    intercept: int | None
    root: int | None  # of the noise's precision
    likelihood: Any

    def tau(self, v: Array) -> float:
        """Return the root of the noise's precision, be it one of the numbers or known."""
        return _root_precision(self.likelihood) if self.root is None else float(v[self.root])


@dataclass(frozen=True)
class _Point:
    """Numbers, with objective, gradient and, where asked for, Hessian."""

    v: Array
    value: float
    gradient: Array
    hessian: Array | None = None


class _Smooth:
    """The objective as a smooth function of the numbers that are not zero."""

    def __init__(self, question: JointProblem, here: Joint) -> None:
        self.question, self.size = question, here.theta.size
        self.features = np.flatnonzero(here.theta)
        self.parts: list[_Part] = []
        numbers: list[Array] = []
        at = 0
        for y, output in zip(question.targets, here.outputs, strict=True):
            kept = np.flatnonzero(output.w)
            likelihood: Any = output.likelihood
            tau = _root_precision(likelihood)
            own = [tau * output.w[kept]]
            intercept = at + kept.size if question.intercept else None
            own += [np.array([tau * output.b])] if question.intercept else []
            free = question.learns_noise and likelihood.noise > least_noise(question, y)
            root = at + kept.size + int(question.intercept) if free else None
            own += [np.array([tau])] if free else []
            sign = np.sign(output.w[kept])
            weights = slice(at, at + kept.size)
            self.parts.append(_Part(y, kept, sign, weights, intercept, root, likelihood))
            numbers += own
            at += sum(part.size for part in own)
        self.scales = slice(at, at + self.features.size)
        self.start = np.concatenate([*numbers, here.theta[self.features]])
        # What must keep its sign, and the sign.
        self.signs = np.zeros(self.start.size)
        self.signs[self.scales] = 1.0
        for part in self.parts:
            self.signs[part.weights] = part.sign
            if part.root is not None:
                self.signs[part.root] = 1.0

    @property
    def work(self) -> float:
        """Products that one Hessian takes."""
        kernels = sum(part.kept.size for part in self.parts)
        return float(self.question.X.shape[0]) * kernels * self.features.size**2

    def theta(self, v: Array) -> Array:
        theta = np.zeros(self.size)
        theta[self.features] = v[self.scales]
        return theta

    def at(self, v: Array, *, curved: bool) -> _Point:
        question, theta = self.question, self.theta(v)
        gradient = np.zeros(v.size)
        gradient[self.scales] = question.scale_rate
        hessian = np.zeros((v.size, v.size)) if curved else None
        value = question.scale_rate * float(v[self.scales].sum())
        for part in self.parts:
            value += self._add(part, theta, v, gradient, hessian)
        return _Point(v, value, gradient, hessian)

    def _add(self, part: _Part, theta: Array, v: Array, gradient: Array, hessian: Array | None) -> float:
        """Add one output's gradient and Hessian; return its value."""
        question, u = self.question, v[part.weights]
        Phi = question.columns(theta, part.kept)
        f = Phi @ u + (0.0 if part.intercept is None else v[part.intercept])
        fit, slope, curvature = self._evaluate(part, f, v)
        g, r = question.weight * slope, question.weight * curvature
        value = question.weight_rate * float(np.abs(u).sum()) - fit
        # The latent's derivative in every number of this output and in the scales.
        J = np.zeros((f.size, v.size))
        J[:, part.weights] = Phi
        if part.intercept is not None:
            J[:, part.intercept] = 1.0
        which = question.kernels(part.kept)
        own = slice(part.weights.stop - which.size, part.weights.stop)
        first, second = question.derivatives(theta, which) if which.size else (Phi, Phi)
        for j, (S, w) in enumerate(zip(question.statistics(which, self.features), v[own], strict=True)):
            J[:, self.scales] += (w * first[:, j])[:, None] * S
            if hessian is not None:
                mixed = (g * first[:, j]) @ S
                hessian[own.start + j, self.scales] -= mixed
                hessian[self.scales, own.start + j] -= mixed
                hessian[self.scales, self.scales] -= w * (S * (g * second[:, j])[:, None]).T @ S
        if part.root is not None:
            J[:, part.root] = -part.y
            total, tau = float(question.weight.sum()), v[part.root]
            value -= total * float(np.log(tau))
            gradient[part.root] -= total / tau
            if hessian is not None:
                hessian[part.root, part.root] += total / tau**2
        gradient -= J.T @ g
        gradient[part.weights] += question.weight_rate * part.sign
        if hessian is not None:
            hessian += (J * r[:, None]).T @ J
        return value

    def _evaluate(self, part: _Part, f: Array, v: Array) -> tuple[float, Array, Array]:
        weight = self.question.weight
        if isinstance(part.likelihood, Gaussian):
            slope = part.tau(v) * part.y - f
            return -0.5 * float(weight @ slope**2), slope, np.ones_like(f)
        log_p, slope, curvature = part.likelihood.evaluate(part.y, f)
        return float(weight @ log_p), slope, curvature

    def joint(self, v: Array, here: Joint) -> Joint:
        """Return the numbers as a place of the search."""
        question, theta, outputs = self.question, self.theta(v), []
        for part, old in zip(self.parts, here.outputs, strict=True):
            likelihood, tau = part.likelihood, part.tau(v)
            if part.root is not None:
                likelihood = gaussian(likelihood, max(tau**-2, least_noise(question, part.y)))
            w = np.zeros_like(old.w)
            w[part.kept] = v[part.weights] / tau
            b = 0.0 if part.intercept is None else float(v[part.intercept]) / tau
            f = question.columns(theta, part.kept) @ w[part.kept] + b
            outputs.append(weights_at(question, part.y, w, b, f, likelihood))
        return replace(here, theta=theta, outputs=outputs, value=question.joint(theta, outputs).value)


def finish(question: JointProblem, here: Joint) -> Joint:
    """Return the stationary point near ``here``; numbers that reach zero on the way stay there."""
    for _ in range(here.theta.size + question.n_columns * len(here.outputs)):
        smooth = _Smooth(question, here)
        if smooth.start.size > _MOST_NUMBERS or smooth.work > _MOST_WORK or here.empty:
            return here
        point, reached = _newton(smooth)
        before, here = here, smooth.joint(point.v, here)
        if not (reached or _at_least_noise(question, before, here)):
            return here
    return here


def _at_least_noise(question: JointProblem, before: Joint, here: Joint) -> bool:
    """Whether a noise has just come down to the least that is believed."""
    if not question.learns_noise:
        return False
    least = least_noise(question, question.targets[0])
    old, new = before.outputs[0].likelihood, here.outputs[0].likelihood
    return bool(old.noise > least >= new.noise)  # type: ignore[attr-defined]


def _newton(smooth: _Smooth) -> tuple[_Point, bool]:
    """Return where the gradient vanishes, or where a number reaches zero: then ``True`` as well."""
    point = smooth.at(smooth.start, curved=True)
    for _ in range(_STEPS):
        d = _direction(point)
        promise = -float(point.gradient @ d)
        homeward = np.flatnonzero(smooth.signs * d < 0)
        far = -point.v[homeward] / d[homeward]
        most = min(1.0, float(far.min(initial=np.inf)))
        if promise <= _UNSEEN * abs(point.value):
            return _last_digits(smooth, point, d, most), False
        found = _line_search(smooth, point, d, homeward[far <= most], most)
        if found is None:
            return point, False
        point, step = found
        if step == most < 1:
            return point, True
    return point, False


def _line_search(
    smooth: _Smooth, point: _Point, d: Array, crossing: Index, most: float
) -> tuple[_Point, float] | None:
    """Return a point that meets Armijo's condition and its step; the longest sets numbers to zero."""
    promise = -float(point.gradient @ d)

    def at(step: float) -> _Point:
        v, crossed = point.v + step * d, step == most < 1
        if crossed:
            v[crossing] = 0.0
        return smooth.at(v, curved=not crossed)

    def accepts(new: _Point, step: float) -> bool:
        return new.value <= point.value - _ARMIJO * step * promise

    return backtrack(at, accepts, first_step=most)


def _last_digits(smooth: _Smooth, point: _Point, d: Array, most: float) -> _Point:
    """Return the point after the few steps that still shrink the gradient, which nobody sees in F."""
    scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(point.hessian)), np.finfo(float).tiny))  # type: ignore[arg-type]
    for _ in range(5):
        if most < 1:
            break
        new = smooth.at(point.v + d, curved=True)
        if np.linalg.norm(scale * new.gradient) >= 0.5 * np.linalg.norm(scale * point.gradient):
            break
        point, d = new, _direction(new)
        most = 1.0 if (smooth.signs * (point.v + d) >= 0).all() else 0.0
    return point


def _direction(point: _Point) -> Array:
    """Return Newton's step; where the objective curves downwards, as far as if it curved upwards."""
    H = point.hessian
    assert H is not None
    unit = 1 / np.sqrt(np.maximum(np.abs(np.diag(H)), np.finfo(float).tiny))
    values, vectors = symmetric_eigen(unit[:, None] * H * unit)
    size = np.maximum(np.abs(values), _FLAT * np.abs(values).max(initial=1.0))
    return np.asarray(-unit * (vectors @ ((vectors.T @ (unit * point.gradient)) / size)))
