"""The evidence of a Gaussian process and its gradient in the kernel matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from .._protocols import Array
from ..likelihoods import Binary, Gaussian, Likelihood
from ..linalg import Factor
from ..solvers.line_search import backtrack
from .tasks import NOISE_FLOOR_FRACTION

if TYPE_CHECKING:
    from .rows import TrainingRows

# Prior variance of the intercept of labels, in units of the likelihood's noise.
_INTERCEPT_VARIANCE = 25.0
_MIN_CURVATURE = float(np.finfo(float).eps)


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
        return least_squares_evidence(rows)
    return None


def least_squares_evidence(rows: TrainingRows) -> ValueEvidence:
    """Return the evidence of rows as if labels were values, which needs no search for a mode."""
    return ValueEvidence(rows.targets, rows.weight, rows.intercept)


@dataclass(frozen=True)
class ValueEvidence:
    r"""The evidence of values with Gaussian noise; the matrix is in units of the noise variance.

    That of several targets, each with a noise of its own, is summed.

    With :math:`R` the weights of the rows and :math:`B = I + R^{1/2}KR^{1/2}`, the log evidence with
    intercept and noise variance integrated out is

    .. math:: -\tfrac12\log|B| - \tfrac12\log(h^TB^{-1}h) - \tfrac{N - 1}2\log(t^TPt), \qquad
       P = B^{-1} - B^{-1}hh^TB^{-1}/h^TB^{-1}h,

    up to a constant, where :math:`h = R^{1/2}1` and :math:`t = R^{1/2}y`. Its gradient in :math:`K` is
    :math:`\tfrac12R^{1/2}\bigl((N - 1)\,Ptt^TP/t^TPt - P\bigr)R^{1/2}`.
    """

    targets: Sequence[Array]
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
        Y = np.stack(self.targets, axis=1)
        if self.intercept:
            pull = P @ half
            total = max(float(half @ pull), np.finfo(float).tiny)
            P -= np.outer(pull, pull / total)
            log_det, free = log_det + np.log(total), free - 1
            # P removes any constant, but a large one would cost digits
            Y = Y - np.average(Y, axis=0, weights=self.weight)
        size = np.sqrt(np.average(Y**2, axis=0, weights=self.weight))
        Y = Y / np.where(size > 0, size, 1.0)  # units change the evidence by a constant
        T = half[:, None] * Y
        pulls = P @ T
        left = (T * pulls).sum(axis=0)
        least = NOISE_FLOOR_FRACTION * free  # of constant targets it is zero
        ratio = np.where(left > least, free / np.maximum(left, least), 0.0)
        left = np.maximum(left, least)
        W = 0.5 * half[:, None] * ((ratio * pulls) @ pulls.T - len(self.targets) * P) * half
        value = -0.5 * (len(self.targets) * log_det + free * float(np.log(left).sum()))
        return value, W


@dataclass(frozen=True)
class LabelEvidence:
    r"""Laplace's approximation to the evidence of labels, summed over outputs of one kernel.

    With the mode :math:`\hat f = Ka`, the slopes :math:`g` and curvatures :math:`W` of the
    log-likelihood there and :math:`B = I + W^{1/2}KW^{1/2}`, it is
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

    def _of(self, K: Array, y: Array, h: float = 1e-4) -> tuple[float, Array]:
        """Return the evidence of one output and its gradient.

        A central difference of step ``h`` gives the third derivative of the log-likelihood.
        """
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
        bend = (self._derivatives(y, f + h)[2] - self._derivatives(y, f - h)[2]) / (2 * h)
        s = -0.5 * v * bend
        u = s - R @ (K @ s)
        slope = 0.5 * (np.outer(g + u, g + u) - np.outer(u, u) - R)
        return value - 0.5 * factor.log_det, slope

    def _derivatives(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        log_p, slope, curvature = self.likelihood.evaluate(y, f)
        return (
            self.weight * log_p,
            self.weight * slope,
            self.weight * np.maximum(curvature, _MIN_CURVATURE),
        )


class _Point(NamedTuple):
    """Latents ``f = K a`` and their log posterior, up to a constant."""

    a: Array
    f: Array
    value: float


def _mode(
    K: Array, y: Array, weight: Array, likelihood: Likelihood, gain: float = 1e-10, max_steps: int = 50
) -> tuple[Array, float]:
    """Return the mode of the latents and the log posterior there, without its determinant.

    Newton's method ends with a step that gains less than ``gain`` nats.
    """

    def at(a: Array, f: Array) -> _Point:
        return _Point(a, f, float(weight @ likelihood.log_prob(y, f)) - 0.5 * float(a @ f))

    here = at(np.zeros(y.size), np.zeros(y.size))
    for _ in range(max_steps):
        _, slope, curvature = likelihood.evaluate(y, here.f)
        W = weight * np.maximum(curvature, _MIN_CURVATURE)
        half = np.sqrt(W)
        B = half[:, None] * K * half
        B.flat[:: half.size + 1] += 1.0
        target = W * here.f + weight * slope
        step = target - half * Factor(B).solve(half * (K @ target)) - here.a
        found = _line_search(at, here, step, K @ step)
        if found is None or found.value - here.value <= gain:
            break
        here = found
    return here.f, here.value


def _line_search(
    at: Callable[[Array, Array], _Point], here: _Point, step: Array, move: Array
) -> _Point | None:
    """Return the first point along a step that is no lower, or None."""
    found = backtrack(
        lambda length: at(here.a + length * step, here.f + length * move),
        lambda new, _: new.value >= here.value,
    )
    return None if found is None else found[0]
