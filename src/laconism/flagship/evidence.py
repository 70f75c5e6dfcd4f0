"""The evidence of a Gaussian process and its gradient in the kernel matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize

from .._protocols import Array
from ..likelihoods import Binary, Gaussian
from ..linalg import Factor, symmetric_eigen
from .rules import NOISE_FLOOR_FRACTION

if TYPE_CHECKING:
    from .rows import TrainingRows

# Logarithms of parameters are between this and its negative.
LOG_BOUND = 18.0
# The largest number of iterations. Further ones gain less than the search that follows.
_MAX_ITERATIONS = 60
# An iteration that gains less than this fraction of the objective is the last.
_RELATIVE_GAIN = 1e-5
# Logarithms are rounded to this fraction of a power of two, so that rounding errors do not move them.
_LOG2_RESOLUTION = 0.25


def maximise(
    loss: Callable[[Array], tuple[float, Array]],
    first: Array,
    bounds: Sequence[tuple[float, float]],
    max_iter: int = _MAX_ITERATIONS,
) -> tuple[Array, float]:
    """Return the parameters that minimise a loss with its gradient near the first ones, and minus it."""
    options = {"maxiter": max_iter, "ftol": _RELATIVE_GAIN}
    end: Any = minimize(  # type: ignore[call-overload]
        loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    return np.asarray(end.x), -float(end.fun)


def rounded(at: Array) -> Array:
    """Return logarithms, rounded to a fraction of a power of two."""
    return np.asarray(np.log(2) * _LOG2_RESOLUTION * np.round(at / np.log(2) / _LOG2_RESOLUTION))


def evidence_of(rows: TrainingRows) -> ProcessEvidence | None:
    """Return the evidence of rows, labels as values; None where noise has heavy tails or is given.

    Least squares need no search for a mode, and labels share their matrices.
    """
    likelihood = rows.likelihood
    if isinstance(likelihood, Binary) or (isinstance(likelihood, Gaussian) and likelihood.estimate):
        return ProcessEvidence(rows.targets, rows.weight, rows.intercept)
    return None


@dataclass(frozen=True)
class EvidenceSearch:
    """The search for the parameters of a kernel that have the highest evidence, times their prior."""

    evidence: ProcessEvidence
    matrix: Callable[[Array], Array]  # the kernel matrix of some parameters
    loss: Callable[[Array], tuple[float, Array]]  # minus the log of what is maximised, and its gradient

    def optimism(self, at: Array, step: float = 1e-3, min_curvature: float = 0.44) -> Array:
        r"""Return what the left-out log density of each row loses if the search does not see the row.

        The evidence is that of the other rows plus the left-out log density :math:`\ell_i` of the row.
        So without it the best parameters are, to first order, :math:`A^{-1}g_i` away, where
        :math:`g_i` is the gradient of :math:`\ell_i` and :math:`A` the Hessian of the loss, and
        :math:`\ell_i` is lower by :math:`g_i^TA^{-1}g_i` (the infinitesimal jackknife). The sum over
        rows is Takeuchi's price of the parameters, and about one nat each if the model is right.

        Gradients in the logarithms of the parameters are differences with this ``step``. The least
        curvature is that of a prior with a deviation of 1.5.
        """
        base, slope = self.evidence.left_out(self.matrix(at)), self.loss(at)[1]
        g, A = np.empty((base.size, at.size)), np.empty((at.size, at.size))
        for j in range(at.size):
            moved = at + step * (np.arange(at.size) == j)
            g[:, j] = (self.evidence.left_out(self.matrix(moved)) - base) / step
            A[j] = (self.loss(moved)[1] - slope) / step
        values, vectors = symmetric_eigen((A + A.T) / 2)
        return np.asarray((g @ vectors) ** 2 @ (1 / np.maximum(values, min_curvature)))


@dataclass(frozen=True)
class ProcessEvidence:
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
        half, P, pulls, left, log_det, free = self._solved(K)
        least = NOISE_FLOOR_FRACTION * free  # of constant targets it is zero
        ratio = np.where(left > least, free / np.maximum(left, least), 0.0)
        W = 0.5 * half[:, None] * ((ratio * pulls) @ pulls.T - len(self.targets) * P) * half
        left = np.maximum(left, least)
        value = -0.5 * (len(self.targets) * log_det + free * float(np.log(left).sum()))
        return value, W

    def left_out(self, K: Array) -> Array:
        r"""Return the log density of each row's targets without the row, up to a constant.

        Without row i the residual is :math:`(Pt)_i/P_{ii}`, and its variance
        :math:`t^TPt/((N - 1)P_{ii})`.
        """
        _, P, pulls, left, _, free = self._solved(K)
        noise = np.maximum(left / free, NOISE_FLOOR_FRACTION)
        precision = P.diagonal()[:, None] / noise
        scaled = pulls / P.diagonal()[:, None]
        return np.asarray(0.5 * (np.log(precision) - precision * scaled**2).sum(axis=1))

    def _solved(self, K: Array) -> tuple[Array, Array, Array, Array, float, float]:
        """Return the roots of the weights, P, ``Pt`` and ``t'Pt`` of each target, log |B|, and N - 1."""
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
        return half, P, pulls, (T * pulls).sum(axis=0), float(log_det), free
