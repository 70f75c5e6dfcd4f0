"""Weights of features under which the targets of a Gaussian process are most probable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .._protocols import Array, Likelihood
from ..likelihoods import Gaussian
from ..linalg import Factor
from .score_grid import Point, Search, multiple

# Gentle weights are the more likely ones: before any row is seen that of a feature is exponential, with
# the mean of 1/16 for exp(-d^2 / 16), a width of some three deviations of the feature. With 1 in place
# of 16, features or targets with long tails made kernels so narrow that few of them do not say it.
_RATE = 16.0
# Where weights are looked for, as parts of their mean at the start; the least is none.
_LEAST, _MOST = 1e-4, 1e4
# Likewise the signal-to-noise ratio, as powers of ten.
_DECADES = 6.0
# Steps at the most: what is left to gain after so many is less than the next choice of a width gains.
_STEPS = 50
# Weights are told in powers of two, so finely: rounding of the data does not move them.
_FINE = 0.25


def has_evidence(targets: Sequence[Array], likelihood: Likelihood) -> bool:
    """Whether the evidence has a closed form: one target, and Gaussian noise to be found."""
    return len(targets) == 1 and isinstance(likelihood, Gaussian) and likelihood.estimate


@dataclass(frozen=True)
class ARDEvidence:
    r"""The evidence of a Gaussian process with a weight for each feature.

    With :math:`S` the kernel matrix times a signal-to-noise ratio, :math:`R` the weights of the rows and
    :math:`B = I + R^{1/2}SR^{1/2}`, intercept and noise variance integrated out or at their best,

    .. math:: -\tfrac12\log|B| - \tfrac12\log(h^TB^{-1}h) - \tfrac{N - 1}2\log(t^TPt), \qquad
       P = B^{-1} - B^{-1}hh^TB^{-1}/h^TB^{-1}h,

    where :math:`h = R^{1/2}1` and :math:`t = R^{1/2}y`; its slope along :math:`S` is
    :math:`\tfrac12R^{1/2}\bigl((N - 1)\,Ptt^TP/t^TPt - P\bigr)R^{1/2}`.
    """

    search: Search
    width: int

    def value(self, theta: Array, ratio: float) -> tuple[float, Array, float]:
        """Return it with its slopes along the weights and the logarithm of the ratio."""
        search, half = self.search, np.sqrt(self.search.weight)
        kernel: Any = search.coordinates.family.kernel_at(self.width, theta)  # type: ignore[union-attr]
        S = ratio * np.asarray(kernel(search.X, search.X), dtype=np.float64)
        B = half[:, None] * S * half
        B.flat[:: half.size + 1] += 1.0
        factor, free = Factor(B), float(search.weight.sum())
        root = factor.inverse_root
        P, log_det = root.T @ root, factor.log_det
        if search.intercept:
            pull = P @ half
            total = float(half @ pull)
            P -= np.outer(pull, pull / total)
            log_det, free = log_det + np.log(total), free - 1
        y = search.targets[0]
        if search.intercept:  # P takes out any constant; a large one would take all digits with it
            y = y - np.average(y, weights=search.weight)
        t = half * y
        pull = P @ t
        left = max(float(t @ pull), np.finfo(float).tiny)
        W = 0.5 * half[:, None] * ((free / left) * np.outer(pull, pull) - P) * half
        slopes = kernel.gradient(search.X, search.X, ratio * W) / self._units()
        return -0.5 * (log_det + free * np.log(left)), slopes, float(np.vdot(W, S))

    def _units(self) -> Array:
        """Return the squared units, in which a weight is a number; one for a feature without any."""
        unit = self.search.coordinates.family.unit  # type: ignore[union-attr]
        return np.where(unit > 0, unit, 1.0)


def evidence_feature_weights(search: Search, point: Point, begin: Array) -> Array:
    """Return the weights of features with the largest evidence beside other ones, on average one.

    Those of a Gaussian process by automatic relevance determination, with an exponential prior.

    Parameters
    ----------
    search : Search
        Of one regression, whose noise is to be found.
    point : (int, int)
        Width and precision of its best model.
    begin : ndarray of shape (p,)
        Weights from which to begin.
    """
    evidence, gamma = ARDEvidence(search, point[0]), search.coordinates.family.gamma_at(point[0])  # type: ignore[union-attr]
    varies = begin > 0
    start = np.append(np.log(np.maximum(begin[varies], _LEAST)), -np.log(multiple(point)))

    def loss(at: Array) -> tuple[float, Array]:
        theta = np.zeros(begin.size)
        theta[varies] = np.exp(at[:-1])
        value, slopes, slope = evidence.value(theta, float(np.exp(at[-1])))
        slopes = theta * (slopes - _RATE * gamma)
        return _RATE * gamma * theta.sum() - value, -np.append(slopes[varies], slope)

    ends = [(np.log(_LEAST), np.log(_MOST))] * int(varies.sum())
    ends.append((-_DECADES * np.log(10), _DECADES * np.log(10)))
    end = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=ends, options={"maxiter": _STEPS})
    theta = np.zeros(begin.size)
    found = end.x[:-1]
    rounded = _FINE * np.round(found / np.log(2) / _FINE)
    theta[varies] = np.where(found > np.log(2 * _LEAST), 2.0**rounded, 0.0)
    return np.asarray(theta / theta[varies].mean()) if theta.any() else begin
