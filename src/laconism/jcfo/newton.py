"""The last digits: Newton's method in those weights and scales that are not zero.

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


@dataclass(frozen=True)
class _OutputUnknowns:
    """One output: its kept columns, and where its unknowns are in the vector of all."""

    y: Array
    kept: Index
    likelihood: Any
    weights: slice
    intercept: slice  # empty without one
    root: slice  # of the noise's precision; empty where that is fixed

    def root_precision(self, v: Array) -> float:
        """Return one over the standard deviation of the noise: the unit of a regression's unknowns."""
        if v[self.root].size:
            return float(v[self.root][0])
        return float(1 / np.sqrt(self.likelihood.noise)) if isinstance(self.likelihood, Noise) else 1.0


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
        values: list[Array] = []
        signs: list[Array] = []  # that an unknown must keep, or zero
        for y, output in zip(problem.targets, here.outputs, strict=True):
            kept, likelihood = np.flatnonzero(output.w), output.likelihood
            noise = likelihood.noise if isinstance(likelihood, Noise) else 1.0
            free = problem.estimates_noise and noise > problem.min_noise(y)
            w, tau, first = output.w[kept], 1 / np.sqrt(noise), sum(part.size for part in values)
            own = [tau * w, np.full(int(problem.intercept), tau * output.b), np.full(int(free), tau)]
            signs += [np.sign(w), np.zeros(own[1].size), np.ones(own[2].size)]
            ends = first + np.cumsum([part.size for part in own])
            slices = [slice(end - part.size, end) for part, end in zip(own, ends, strict=True)]
            self.outputs.append(_OutputUnknowns(y, kept, likelihood, *slices))
            values += own
        self.start = np.concatenate([*values, here.theta[self.features]])
        self.signs = np.concatenate([*signs, np.ones(self.features.size)])
        self.scales = slice(self.start.size - self.features.size, self.start.size)

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
        problem, u, root = self.problem, v[output.weights], v[output.root]
        Phi = problem.columns(theta, output.kept)
        f = Phi @ u + v[output.intercept].sum()
        if isinstance(output.likelihood, Noise):  # in its units
            slope = output.root_precision(v) * output.y - f
            log_p, curvature = -0.5 * slope**2, np.ones_like(f)
        else:
            log_p, slope, curvature = output.likelihood.evaluate(output.y, f)
        g, r, total = problem.weight * slope, problem.weight * curvature, float(problem.weight.sum())
        value = problem.weight_rate * float(np.abs(u).sum()) - float(problem.weight @ log_p)
        value -= total * float(np.log(root).sum())
        # The latent's derivative in every unknown of this output and in the scales.
        J = np.zeros((f.size, v.size))
        J[:, output.weights] = Phi
        J[:, output.intercept] = 1.0
        J[:, output.root] = -output.y[:, None]
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
        gradient -= J.T @ g
        gradient[output.weights] += problem.weight_rate * self.signs[output.weights]
        gradient[output.root] -= total / root
        if hessian is not None:
            hessian += (J * r[:, None]).T @ J
            hessian[output.root, output.root] += total / root**2
        return value

    def state(self, v: Array, here: JointState) -> JointState:
        """Return the unknowns as a state of the search."""
        problem, theta, outputs = self.problem, self.theta(v), []
        for output, old in zip(self.outputs, here.outputs, strict=True):
            likelihood, tau = output.likelihood, output.root_precision(v)
            if v[output.root].size:
                likelihood = problem.with_variance(likelihood, tau**-2, output.y)
            w = np.zeros_like(old.w)
            w[output.kept] = v[output.weights] / tau
            b = float(v[output.intercept].sum()) / tau
            f = problem.columns(theta, output.kept) @ w[output.kept] + b
            outputs.append(problem.output_at(output.y, w, b, f, likelihood))
        return replace(here, theta=theta, outputs=outputs, value=problem.state(theta, outputs).value)


def refine(problem: JointProblem, here: JointState) -> JointState:
    """Return the stationary point near ``here``; unknowns that reach a bound on the way stay there."""
    smooth = _SmoothObjective(problem, here)
    while not here.empty and smooth.is_small:
        here = smooth.state(_newton(smooth).v, here)
        n_before, smooth = smooth.start.size, _SmoothObjective(problem, here)
        if smooth.start.size == n_before:
            break
    return here


def _newton(smooth: _SmoothObjective, max_steps: int = 100) -> _NewtonPoint:
    """Return where the gradient vanishes, or where an unknown reaches zero."""
    point = smooth.at(smooth.start, with_hessian=True)
    for _ in range(max_steps):
        d = _direction(point)
        shrinking = np.flatnonzero(smooth.signs * d < 0)
        to_zero = -point.v[shrinking] / d[shrinking]
        longest = min(1.0, float(to_zero.min(initial=np.inf)))
        # A predicted decrease below rounding says nothing: from there on the gradient decides.
        if -float(point.gradient @ d) <= np.finfo(float).eps * abs(point.value):
            return _shrink_gradient(smooth, point, d) if longest == 1 else point
        found = _line_search(smooth, point, d, shrinking[to_zero <= longest], longest)
        if found is None:
            return point
        point, step = found
        if step == longest < 1:
            return point
    return point


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


def _direction(point: _NewtonPoint, largest: float = 1e100) -> Array:
    """Return Newton's step with absolute values of the Hessian's eigenvalues, so that it descends."""
    H = point.hessian
    assert H is not None
    unit = 1 / np.sqrt(np.maximum(np.abs(np.diag(H)), np.finfo(float).tiny))
    with np.errstate(over="ignore"):  # beside a diagonal of zero any entry is large
        scaled = np.clip(unit[:, None] * H * unit, -largest, largest)
        values, vectors = symmetric_eigen(scaled)
        size = np.maximum(np.abs(values), np.finfo(float).eps * np.abs(values).max(initial=1.0))
        d = -unit * (vectors @ ((vectors.T @ (unit * point.gradient)) / size))
    return np.asarray(np.clip(d, -largest, largest))
