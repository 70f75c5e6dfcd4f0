"""Feature weights, learnt from the slopes of a latent or by the evidence, and left-out predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._protocols import Array, Index
from ..judging.folds import latents_without_parts
from ..likelihoods import Binary
from .ard import evidence_feature_weights
from .evidence import evidence_of
from .reference import Latent
from .score_grid import GridPoint
from .search import HyperparameterSearch

if TYPE_CHECKING:
    from .rows import TrainingRows


def slope_feature_weights(search: HyperparameterSearch, point: GridPoint) -> Array:
    r"""Return feature weights, on average one, from the slopes of the best model with equal weights.

    :math:`\theta_j \propto \sum_i (\partial f/\partial x_j)^2(x_i)`, in the units of the features: one
    step of a recursive feature machine [R24]_.

    References
    ----------
    .. [R24] A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin, Mechanism for feature learning in
       neural networks and backpropagation-free machine learning models, Science 383 (2024).
    """
    family: Any = search.features.family
    varies, energy = family.unit > 0, search.gradient_energy(point) * family.unit
    return np.asarray(energy / energy[varies].mean()) if energy.any() else varies.astype(float)


class LearntWeights(NamedTuple):
    """Feature weights, on average one, and their optimism if they maximise the evidence of values."""

    theta: Array
    optimism: Callable[[], Array] | None


def learn_feature_weights(
    search: HyperparameterSearch, point: GridPoint, start: Array | None = None
) -> LearntWeights:
    """Return feature weights from a model with equal weights: the most probable ones near the start.

    The slopes are the start if there is none. Of labels, and where the evidence has no formula, they are
    returned.
    """
    evidence = evidence_of(search.rows)
    if evidence is None or isinstance(search.rows.likelihood, Binary):
        return LearntWeights(slope_feature_weights(search, point), None)
    start = slope_feature_weights(search, point) if start is None else start
    return LearntWeights(*evidence_feature_weights(search, evidence, point, start))


def cross_fitted(
    rows: TrainingRows, without: Callable[[Index], HyperparameterSearch], best: GridPoint
) -> Array:
    """Return left-out latents, mean and variance of each output, under learnt kernels.

    The leave-one-out formula does not hold for rows that a kernel was learnt on. So it is learnt on the
    other parts of the rows, and the formula is applied to the rows of the part under that kernel.
    ``without`` returns the search on all rows under the kernel that was learnt on the rows that stay.
    """

    def predict_without(stay: Index, out: Index) -> list[Latent]:
        modes = without(stay).modes(best)
        return [(mode.left_out[0][out], mode.left_out[1][out]) for mode in modes]

    return latents_without_parts(rows.X, rows.targets, predict_without)
