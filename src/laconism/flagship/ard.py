"""Feature weights that maximise the evidence of a Gaussian process (ARD)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .._protocols import Array
from ..likelihoods import Gaussian, Likelihood
from ..linalg import Factor
from .score_grid import GridPoint, precision_at

# Rate of the exponential prior of a weight, in units of gamma. It favours widths of about three standard
# deviations of the feature.
_PRIOR_RATE = 16.0
# A weight is between this and its inverse, relative to the mean at the start; near this it is zero.
_MIN_WEIGHT = 1e-4
# Bound of the signal-to-noise ratio, in powers of ten.
_MAX_LOG10_RATIO = 6.0
# An iteration that gains less of the objective is the last.
_RELATIVE_GAIN = 1e-5
# Further iterations gain less than the search of the width that follows.
_MAX_ITERATIONS = 50
# Weights are rounded to this fraction of a power of two, so that rounding errors do not move them.
_LOG2_RESOLUTION = 0.25


def has_evidence(targets: Sequence[Array], likelihood: Likelihood) -> bool:
    """Whether the evidence has a closed form: one target with Gaussian noise of unknown variance."""
    return len(targets) == 1 and isinstance(likelihood, Gaussian) and likelihood.estimate


@dataclass(frozen=True)
class ARDEvidence:
    r"""The evidence of a Gaussian process with a weight for each feature.

    With :math:`S` the kernel matrix times a signal-to-noise ratio, :math:`R` the weights of the rows and
    :math:`B = I + R^{1/2}SR^{1/2}`, the log evidence with intercept and noise variance integrated out is

    .. math:: -\tfrac12\log|B| - \tfrac12\log(h^TB^{-1}h) - \tfrac{N - 1}2\log(t^TPt), \qquad
       P = B^{-1} - B^{-1}hh^TB^{-1}/h^TB^{-1}h,

    up to a constant, where :math:`h = R^{1/2}1` and :math:`t = R^{1/2}y`. Its gradient in :math:`S` is
    :math:`\tfrac12R^{1/2}\bigl((N - 1)\,Ptt^TP/t^TPt - P\bigr)R^{1/2}`.
    """

    search: Any  # a HyperparameterSearch
    width: int

    def value(self, theta: Array, ratio: float) -> tuple[float, Array, float]:
        """Return the log evidence and its gradients in the weights and in the logarithm of the ratio."""
        search, rows = self.search, self.search.rows
        half = np.sqrt(rows.weight)
        kernel: Any = search.features.family.kernel_at(self.width, theta)
        S = ratio * np.asarray(kernel(rows.X, rows.X), dtype=np.float64)
        B = half[:, None] * S * half
        B.flat[:: half.size + 1] += 1.0
        factor, free = Factor(B), rows.total
        root = factor.inverse_root
        P, log_det = root.T @ root, factor.log_det
        if rows.intercept:
            pull = P @ half
            total = float(half @ pull)
            P -= np.outer(pull, pull / total)
            log_det, free = log_det + np.log(total), free - 1
        y = rows.targets[0]
        if rows.intercept:  # P removes any constant, but a large one would cost digits
            y = y - np.average(y, weights=rows.weight)
        t = half * y
        pull = P @ t
        left = max(float(t @ pull), np.sqrt(np.finfo(float).tiny))  # zero of constant targets
        W = 0.5 * half[:, None] * ((free / left) * np.outer(pull, pull) - P) * half
        slopes = kernel.gradient(rows.X, rows.X, ratio * W) / self._units()
        return -0.5 * (log_det + free * np.log(left)), slopes, float(np.vdot(W, S))

    def _units(self) -> Array:
        """Return the squared unit of each feature, one for a constant feature."""
        unit = self.search.features.family.unit
        return np.where(unit > 0, unit, 1.0)


def evidence_feature_weights(search: Any, point: GridPoint, start: Array) -> Array:
    """Return the most probable feature weights, on average one.

    Automatic relevance determination in a Gaussian process, with an exponential prior on the weights.

    ``point`` is the best point of the search, and ``start`` has the weights at which it starts.
    """
    evidence, gamma = ARDEvidence(search, point[0]), search.features.family.gamma_at(point[0])
    varies = start > 0
    first = np.append(np.log(np.maximum(start[varies], _MIN_WEIGHT)), -np.log(precision_at(point)))

    def loss(at: Array) -> tuple[float, Array]:
        theta = np.zeros(start.size)
        theta[varies] = np.exp(at[:-1])
        value, slopes, slope = evidence.value(theta, float(np.exp(at[-1])))
        slopes = theta * (slopes - _PRIOR_RATE * gamma)
        return _PRIOR_RATE * gamma * theta.sum() - value, -np.append(slopes[varies], slope)

    ends = [(np.log(_MIN_WEIGHT), -np.log(_MIN_WEIGHT))] * int(varies.sum())
    ends.append((-_MAX_LOG10_RATIO * np.log(10), _MAX_LOG10_RATIO * np.log(10)))
    end = minimize(
        loss,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=ends,
        options={"maxiter": _MAX_ITERATIONS, "ftol": _RELATIVE_GAIN},
    )
    theta = np.zeros(start.size)
    found = end.x[:-1]
    rounded = _LOG2_RESOLUTION * np.round(found / np.log(2) / _LOG2_RESOLUTION)
    theta[varies] = np.where(found > np.log(2 * _MIN_WEIGHT), 2.0**rounded, 0.0)
    return np.asarray(theta / theta[varies].mean()) if theta.any() else start
