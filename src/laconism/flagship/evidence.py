"""The evidence of a Gaussian process and its gradient in the kernel matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .._protocols import Array
from ..likelihoods import Binary, Gaussian, Likelihood
from ..linalg import Factor
from ..solvers.line_search import backtrack

if TYPE_CHECKING:
    from .rows import TrainingRows

# Prior variance of the intercept of labels, in units of the likelihood's noise.
_INTERCEPT_VARIANCE = 25.0
# Newton's method for the mode of labels ends with a step that gains less.
_MODE_TOLERANCE_NATS = 1e-10
_MAX_NEWTON_STEPS = 50
# Step of the central difference that gives the third derivative of a log-likelihood.
_THIRD_DERIVATIVE_STEP = 1e-4


class Evidence(Protocol):
    """The evidence of the targets as a function of the kernel matrix of the rows."""

    def at(self, K: Array) -> tuple[float, Array]:
        """Return the log evidence, and its gradient in the entries of the symmetric matrix ``K``."""


def evidence_of(rows: TrainingRows) -> Evidence | None:
    """Return the evidence of rows; None of values whose noise has heavy tails or is given."""
    likelihood = rows.likelihood
    if isinstance(likelihood, Binary):
        return LabelEvidence(rows.targets, rows.weight, likelihood, rows.intercept)
    if isinstance(likelihood, Gaussian) and likelihood.estimate:
        return ValueEvidence(rows.targets[0], rows.weight, rows.intercept)
    return None


@dataclass(frozen=True)
class ValueEvidence:
    r"""The evidence of values with Gaussian noise; the matrix is in units of the noise variance.

    With :math:`R` the weights of the rows and :math:`B = I + R^{1/2}KR^{1/2}`, the log evidence with
    intercept and noise variance integrated out is

    .. math:: -\tfrac12\log|B| - \tfrac12\log(h^TB^{-1}h) - \tfrac{N - 1}2\log(t^TPt), \qquad
       P = B^{-1} - B^{-1}hh^TB^{-1}/h^TB^{-1}h,

    up to a constant, where :math:`h = R^{1/2}1` and :math:`t = R^{1/2}y`. Its gradient in :math:`K` is
    :math:`\tfrac12R^{1/2}\bigl((N - 1)\,Ptt^TP/t^TPt - P\bigr)R^{1/2}`.
    """

    y: Array
    weight: Array
    intercept: bool

    def at(self, K: Array) -> tuple[float, Array]:
        """Return the log evidence, and its gradient in the entries of the symmetric matrix ``K``."""
        half = np.sqrt(self.weight)
        B = half[:, None] * K * half
        B.flat[:: half.size + 1] += 1.0
        factor, free = Factor(B), float(self.weight.sum())
        root = factor.inverse_root
        P, log_det = root.T @ root, factor.log_det
        y = self.y
        if self.intercept:
            pull = P @ half
            total = float(half @ pull)
            P -= np.outer(pull, pull / total)
            log_det, free = log_det + np.log(total), free - 1
            # P removes any constant, but a large one would cost digits
            y = y - np.average(y, weights=self.weight)
        t = half * y
        pull = P @ t
        left = max(float(t @ pull), np.sqrt(np.finfo(float).tiny))  # zero of constant targets
        W = 0.5 * half[:, None] * ((free / left) * np.outer(pull, pull) - P) * half
        return -0.5 * (log_det + free * np.log(left)), W


@dataclass(frozen=True)
class LabelEvidence:
    r"""Laplace's approximation to the evidence of labels, summed over outputs that share their kernel.

    With the mode :math:`\hat f = Ka`, the slopes :math:`g` and curvatures :math:`W` of the log-likelihood
    there and :math:`B = I + W^{1/2}KW^{1/2}`, it is
    :math:`\log p(y \mid \hat f) - \tfrac12a^T\hat f - \tfrac12\log|B|`. The gradient includes the change
    of the mode (Rasmussen and Williams 2006, section 5.5.1).
    """

    targets: Sequence[Array]
    weight: Array
    likelihood: Binary
    intercept: bool

    def at(self, K: Array) -> tuple[float, Array]:
        """Return the log evidence, and its gradient in the entries of the symmetric matrix ``K``."""
        whole = K + _INTERCEPT_VARIANCE if self.intercept else K
        parts = [self._of(whole, y) for y in self.targets]
        return sum(value for value, _ in parts), np.sum([slope for _, slope in parts], axis=0)

    def _of(self, K: Array, y: Array) -> tuple[float, Array]:
        """Return the evidence of one output and its gradient."""
        f, value = _mode(K, y, self.weight, self.likelihood)
        _, g, W = self._derivatives(y, f)
        half = np.sqrt(W)
        B = half[:, None] * K * half
        B.flat[:: half.size + 1] += 1.0
        factor = Factor(B)
        root = factor.inverse_root * half
        R = root.T @ root  # (K + 1/W)^-1
        inside = root @ K
        v = K.diagonal() - np.einsum("ij,ij->j", inside, inside)  # of the posterior
        h = _THIRD_DERIVATIVE_STEP
        bend = (self._derivatives(y, f + h)[2] - self._derivatives(y, f - h)[2]) / (2 * h)
        s = -0.5 * v * bend
        u = s - R @ (K @ s)
        slope = 0.5 * (np.outer(g + u, g + u) - np.outer(u, u) - R)
        return value - 0.5 * factor.log_det, slope

    def _derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        log_p, slope, curvature = self.likelihood.evaluate(y, f)
        return self.weight * log_p, self.weight * slope, self.weight * np.maximum(curvature, 1e-12)


def _mode(K: Array, y: Array, weight: Array, likelihood: Likelihood) -> tuple[Array, float]:
    """Return the mode of the latents and the log posterior there, without its determinant."""

    def at(a: Array, f: Array) -> tuple[Array, Array, float]:
        return a, f, float(weight @ likelihood.log_prob(y, f)) - 0.5 * float(a @ f)

    here = at(np.zeros(y.size), np.zeros(y.size))
    for _ in range(_MAX_NEWTON_STEPS):
        a, f, value = here
        _, slope, curvature = likelihood.evaluate(y, f)
        W = weight * np.maximum(curvature, 1e-12)
        half = np.sqrt(W)
        B = half[:, None] * K * half
        B.flat[:: half.size + 1] += 1.0
        target = W * f + weight * slope
        step = target - half * Factor(B).solve(half * (K @ target)) - a
        move = K @ step

        def along(length: float, a: Array = a, f: Array = f, step: Array = step, move: Array = move):  # type: ignore[no-untyped-def]
            return at(a + length * step, f + length * move)

        found = backtrack(along, lambda new, _, value=value: new[2] >= value)  # type: ignore[misc]
        if found is None or found[0][2] - value <= _MODE_TOLERANCE_NATS:
            break
        here = found[0]
    return here[1], here[2]
