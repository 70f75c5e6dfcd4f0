"""The last digits: Newton's method in weights and scales together.

Once it is known which weights and scales are not zero, and the signs of the weights, the objective is
smooth, and Newton's method ends at the same stationary point from every start near it: two descriptions
of one problem, such as a row written twice and a row of weight two, get one answer.

A regression is solved in ``u = w / s``, ``1 / s`` and ``b / s``, where its objective has the same form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._protocols import Array, Index
from ..likelihoods import Noise
from ..linalg import symmetric_eigen
from ..solvers.line_search import backtrack
from .problem import JointProblem, JointState

# Multiplications that one step may take.
_MAX_MULTIPLICATIONS = 2e10


def _root_precision(likelihood: Any) -> float:
    """Return one over the standard deviation of the noise: the unit of a regression's unknowns."""
    return float(1 / np.sqrt(likelihood.noise)) if isinstance(likelihood, Noise) else 1.0


@dataclass(frozen=True)
class _OutputUnknowns:
    """One output: its kept columns, and where its unknowns are in the vector of all."""

    y: Array
    kept: Index
    sign: Array
    weights: slice
    intercept: int | None
    root: int | None  # of the noise's precision
    likelihood: Any

    def root_precision(self, v: Array) -> float:
        """Return the root of the noise's precision, whether unknown or fixed."""
        return _root_precision(self.likelihood) if self.root is None else float(v[self.root])


@dataclass(frozen=True)
class _NewtonPoint:
    """Unknowns, with objective, gradient and, unless a bound was reached, Hessian."""

    v: Array
    value: float
    gradient: Array
    hessian: Array | None = None


class _SmoothObjective:
    """The objective as a smooth function of the unknowns that are not zero."""

    def __init__(self, problem: JointProblem, here: JointState) -> None:
        self.problem, self.n_features = problem, here.theta.size
        self.features = np.flatnonzero(here.theta)
        self.outputs: list[_OutputUnknowns] = []
        unknowns: list[Array] = []
        at = 0
        for y, output in zip(problem.targets, here.outputs, strict=True):
            kept = np.flatnonzero(output.w)
            likelihood: Any = output.likelihood
            tau = _root_precision(likelihood)
            own = [tau * output.w[kept]]
            intercept = at + kept.size if problem.intercept else None
            own += [np.array([tau * output.b])] if problem.intercept else []
            free = problem.estimates_noise and likelihood.noise > problem.min_noise(y)
            root = at + kept.size + int(problem.intercept) if free else None
            own += [np.array([tau])] if free else []
            sign = np.sign(output.w[kept])
            weights = slice(at, at + kept.size)
            self.outputs.append(_OutputUnknowns(y, kept, sign, weights, intercept, root, likelihood))
            unknowns += own
            at += sum(part.size for part in own)
        self.scales = slice(at, at + self.features.size)
        self.start = np.concatenate([*unknowns, here.theta[self.features]])
        # The sign that an unknown must keep, or zero.
        self.signs = np.zeros(self.start.size)
        self.signs[self.scales] = 1.0
        for output_unknowns in self.outputs:
            self.signs[output_unknowns.weights] = output_unknowns.sign
            if output_unknowns.root is not None:
                self.signs[output_unknowns.root] = 1.0

    @property
    def is_small(self) -> bool:
        """Whether Newton's method is affordable."""
        n_kernels = sum(output.kept.size for output in self.outputs)
        hessian = float(self.problem.X.shape[0]) * n_kernels * self.features.size**2
        eigenvalues = 6.0 * self.start.size**3
        return max(hessian, eigenvalues) <= _MAX_MULTIPLICATIONS

    def theta(self, v: Array) -> Array:
        theta = np.zeros(self.n_features)
        theta[self.features] = v[self.scales]
        return theta

    def at(self, v: Array, *, with_hessian: bool) -> _NewtonPoint:
        problem, theta = self.problem, self.theta(v)
        gradient = np.zeros(v.size)
        gradient[self.scales] = problem.scale_rate
        hessian = np.zeros((v.size, v.size)) if with_hessian else None
        value = problem.scale_rate * float(v[self.scales].sum())
        for output in self.outputs:
            value += self._add(output, theta, v, gradient, hessian)
        return _NewtonPoint(v, value, gradient, hessian)

    def _add(
        self, output: _OutputUnknowns, theta: Array, v: Array, gradient: Array, hessian: Array | None
    ) -> float:
        """Add one output's gradient and Hessian; return its value."""
        problem, u = self.problem, v[output.weights]
        Phi = problem.columns(theta, output.kept)
        f = Phi @ u + (0.0 if output.intercept is None else v[output.intercept])
        log_likelihood, slope, curvature = self._evaluate(output, f, v)
        g, r = problem.weight * slope, problem.weight * curvature
        value = problem.weight_rate * float(np.abs(u).sum()) - log_likelihood
        # The latent's derivative in every unknown of this output and in the scales.
        J = np.zeros((f.size, v.size))
        J[:, output.weights] = Phi
        if output.intercept is not None:
            J[:, output.intercept] = 1.0
        which = problem.centres_of(output.kept)
        own = slice(output.weights.stop - which.size, output.weights.stop)
        first, second = problem.profile_derivatives(theta, which) if which.size else (Phi, Phi)
        terms = problem.feature_terms(which, self.features)
        for j, (S, w) in enumerate(zip(terms, v[own], strict=True)):
            J[:, self.scales] += (w * first[:, j])[:, None] * S
            if hessian is not None:
                mixed = (g * first[:, j]) @ S
                hessian[own.start + j, self.scales] -= mixed
                hessian[self.scales, own.start + j] -= mixed
                hessian[self.scales, self.scales] -= w * (S * (g * second[:, j])[:, None]).T @ S
        if output.root is not None:
            J[:, output.root] = -output.y
            total, tau = float(problem.weight.sum()), v[output.root]
            value -= total * float(np.log(tau))
            gradient[output.root] -= total / tau
            if hessian is not None:
                hessian[output.root, output.root] += total / tau**2
        gradient -= J.T @ g
        gradient[output.weights] += problem.weight_rate * output.sign
        if hessian is not None:
            hessian += (J * r[:, None]).T @ J
        return value

    def _evaluate(self, output: _OutputUnknowns, f: Array, v: Array) -> tuple[float, Array, Array]:
        """Return the log-likelihood, its slopes and minus its curvatures; of noise, in its units."""
        weight = self.problem.weight
        if isinstance(output.likelihood, Noise):
            slope = output.root_precision(v) * output.y - f
            return -0.5 * float(weight @ slope**2), slope, np.ones_like(f)
        log_p, slope, curvature = output.likelihood.evaluate(output.y, f)
        return float(weight @ log_p), slope, curvature

    def state(self, v: Array, here: JointState) -> JointState:
        """Return the unknowns as a state of the search."""
        problem, theta, outputs = self.problem, self.theta(v), []
        for output, old in zip(self.outputs, here.outputs, strict=True):
            likelihood, tau = output.likelihood, output.root_precision(v)
            if output.root is not None:
                likelihood = problem.with_variance(likelihood, tau**-2, output.y)
            w = np.zeros_like(old.w)
            w[output.kept] = v[output.weights] / tau
            b = 0.0 if output.intercept is None else float(v[output.intercept]) / tau
            f = problem.columns(theta, output.kept) @ w[output.kept] + b
            outputs.append(problem.output_at(output.y, w, b, f, likelihood))
        return replace(here, theta=theta, outputs=outputs, value=problem.state(theta, outputs).value)


def refine(problem: JointProblem, here: JointState) -> JointState:
    """Return the stationary point near ``here``; unknowns that reach zero on the way stay there."""
    for _ in range(here.theta.size + problem.n_columns * len(here.outputs)):
        smooth = _SmoothObjective(problem, here)
        if here.empty or not smooth.is_small:
            return here
        point, reached_zero = _newton(smooth)
        before, here = here, smooth.state(point.v, here)
        if not (reached_zero or _reached_min_noise(problem, before, here)):
            return here
    return here


def _reached_min_noise(problem: JointProblem, before: JointState, here: JointState) -> bool:
    """Whether the noise has just fallen to the smallest that is allowed."""
    if not problem.estimates_noise:
        return False
    least = problem.min_noise(problem.targets[0])
    old, new = before.outputs[0].likelihood, here.outputs[0].likelihood
    return bool(old.noise > least >= new.noise)  # type: ignore[attr-defined]


def _newton(smooth: _SmoothObjective, max_steps: int = 100) -> tuple[_NewtonPoint, bool]:
    """Return where the gradient vanishes, or where an unknown reaches zero: then ``True`` as well."""
    point = smooth.at(smooth.start, with_hessian=True)
    for _ in range(max_steps):
        d = _direction(point)
        shrinking = np.flatnonzero(smooth.signs * d < 0)
        to_zero = -point.v[shrinking] / d[shrinking]
        longest = min(1.0, float(to_zero.min(initial=np.inf)))
        # A predicted decrease below rounding says nothing: from there on the gradient decides.
        if -float(point.gradient @ d) <= np.finfo(float).eps * abs(point.value):
            return (_shrink_gradient(smooth, point, d) if longest == 1 else point), False
        found = _line_search(smooth, point, d, shrinking[to_zero <= longest], longest)
        if found is None:
            return point, False
        point, step = found
        if step == longest < 1:
            return point, True
    return point, False


def _line_search(
    smooth: _SmoothObjective, point: _NewtonPoint, d: Array, crossing: Index, longest: float
) -> tuple[_NewtonPoint, float] | None:
    """Return a lower point and its step; the longest sets unknowns to zero."""

    def at(step: float) -> _NewtonPoint:
        v, crossed = point.v + step * d, step == longest < 1
        if crossed:
            v[crossing] = 0.0
        return smooth.at(v, with_hessian=not crossed)

    return backtrack(at, lambda new, _: new.value < point.value, first_step=longest)


def _shrink_gradient(smooth: _SmoothObjective, point: _NewtonPoint, d: Array) -> _NewtonPoint:
    """Return the point after full steps that halve the gradient; the objective no longer changes."""
    assert point.hessian is not None
    scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(point.hessian)), np.finfo(float).tiny))
    while (smooth.signs * (point.v + d) >= 0).all():
        new = smooth.at(point.v + d, with_hessian=True)
        before, after = (np.linalg.norm(scale * each.gradient) for each in (point, new))
        if after >= before / 2:
            break
        point, d = new, _direction(new)
    return point


def _direction(point: _NewtonPoint) -> Array:
    """Return Newton's step with absolute values of the Hessian's eigenvalues, so that it descends."""
    H = point.hessian
    assert H is not None
    unit = 1 / np.sqrt(np.maximum(np.abs(np.diag(H)), np.finfo(float).tiny))
    values, vectors = symmetric_eigen(unit[:, None] * H * unit)
    size = np.maximum(np.abs(values), np.finfo(float).eps * np.abs(values).max(initial=1.0))
    return np.asarray(-unit * (vectors @ ((vectors.T @ (unit * point.gradient)) / size)))
