"""Feature weights: learnt from the slopes of a latent, and judged on other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._protocols import Array, Likelihood
from .ard import evidence_feature_weights, has_evidence
from .rules import FEATURE_WEIGHTS, FEATURE_WEIGHTS_FIRST_HALF
from .score_grid import GridPoint
from .search import CrossFit, HyperparameterSearch
from .wide import is_wide

# With fewer rows the gain of feature weights is too uncertain.
_MIN_ROWS_FOR_FEATURE_WEIGHTS = 100


def maximise_evidence(
    targets: Sequence[Array], likelihood: Likelihood, n_rows: int, n_features: int
) -> bool:
    """Whether feature weights maximise the evidence: it has a closed form, and rows are enough."""
    return has_evidence(targets, likelihood) and not is_wide(n_rows, n_features)


def gradient_feature_weights(search: HyperparameterSearch, point: GridPoint, unit: Array) -> Array:
    r"""Return feature weights from the slopes of the latents, on average one.

    :math:`\theta_j \propto \sum_i (\partial f/\partial x_j)^2(x_i)`, in the units of the features: one
    step of a recursive feature machine [R24]_. In a regression with enough rows, evidence maximisation
    starts from them.

    References
    ----------
    .. [R24] A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin, Mechanism for feature learning in
       neural networks and backpropagation-free machine learning models, Science 383 (2024).
    """
    varies, energy = unit > 0, search.gradient_energy(point) * unit
    theta = np.asarray(energy / energy[varies].mean()) if energy.any() else varies.astype(float)
    return evidence_feature_weights(search, point, theta) if search.evidence_weights else theta


def cross_fit_feature_weights(
    search: HyperparameterSearch, point: GridPoint, unit: Array
) -> CrossFit | None:
    """Return two halves of the rows, each under the feature weights of the other, if those clearly help.

    Weights learnt on one half (:func:`gradient_feature_weights`) must clearly improve the leave-one-out
    log density of the other half.

    Parameters
    ----------
    search : HyperparameterSearch
        The search with equal feature weights.
    point : (int, int)
        Its best point.
    unit : ndarray of shape (p,)
        The squared unit of each feature, zero for one that does not vary.
    """
    n_rows = search.X.shape[0]
    if n_rows < _MIN_ROWS_FOR_FEATURE_WEIGHTS or (unit > 0).sum() < 2:
        return None
    # The best width of half the rows is close to that of all.
    halves = [search.on_rows(np.arange(first, n_rows, 2)).at_fixed_width() for first in (0, 1)]
    best = [half.coordinate_ascent(point) for half in halves]
    gains, crossed = np.zeros(0), []
    for k, half in enumerate(halves):
        other = half.with_feature_weights(gradient_feature_weights(halves[1 - k], best[1 - k], unit))
        if search.evidence_weights:  # many weights may be zero, which changes the best width
            other = replace(other, widths=search.widths)
        there = other.coordinate_ascent(best[k])
        gain = other.left_out_log_density(there) - half.left_out_log_density(best[k])
        gains = np.append(gains, half.weight * gain)
        crossed.append(other)
        # Weights that maximise the evidence are judged by both halves together.
        first_half = search.evidence_weights and k == 0
        rule = FEATURE_WEIGHTS_FIRST_HALF if first_half else FEATURE_WEIGHTS
        if not rule.prefers(gains, np.ones_like(gains)):
            return None
    return CrossFit(crossed, search.widths)
