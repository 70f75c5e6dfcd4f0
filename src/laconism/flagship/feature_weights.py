"""Feature weights, learnt from the slopes of a latent or by the evidence, and left-out predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._protocols import Array, Index
from ..judging.ablate import is_on
from ..judging.folds import balanced_folds
from ..judging.left_out import cross_validated
from ..linalg import as_dense
from .ard import evidence_feature_weights, has_evidence
from .reference import Latent
from .score_grid import GridPoint
from .search import HyperparameterSearch

# Feature weights of each part of the rows are learnt on the others.
_N_PARTS = 3


def learn_feature_weights(search: HyperparameterSearch, point: GridPoint) -> Array:
    r"""Return feature weights, on average one, from the best model with equal weights.

    :math:`\theta_j \propto \sum_i (\partial f/\partial x_j)^2(x_i)`, in the units of the features: one
    step of a recursive feature machine [R24]_. Where the evidence has a closed form, its maximisation
    (automatic relevance determination) starts from them.

    References
    ----------
    .. [R24] A. Radhakrishnan, D. Beaglehole, P. Pandit, M. Belkin, Mechanism for feature learning in
       neural networks and backpropagation-free machine learning models, Science 383 (2024).
    """
    family: Any = search.features.family
    varies, energy = family.unit > 0, search.gradient_energy(point) * family.unit
    theta = np.asarray(energy / energy[varies].mean()) if energy.any() else varies.astype(float)
    by_evidence = has_evidence(search.rows.targets, search.rows.likelihood) and is_on("evidence_weights")
    return evidence_feature_weights(search, point, theta) if by_evidence else theta


def with_feature_weights(
    search: HyperparameterSearch, point: GridPoint
) -> tuple[HyperparameterSearch, GridPoint]:
    """Return the search with feature weights learnt at a point, and its best point."""
    weighed = search.with_feature_weights(learn_feature_weights(search, point))
    return weighed, weighed.coordinate_ascent(point)


def cross_fit(search: HyperparameterSearch, point: GridPoint, best: GridPoint) -> Array:
    """Return left-out latents, mean and variance of each output, under feature weights.

    The leave-one-out formula does not hold for rows that were used to learn the weights. So the weights
    are learnt on the other parts of the rows, and the formula is applied to the rows of the part under
    these. ``search`` and ``point`` are those with equal weights; ``best`` is the best
    point under the weights of all rows.
    """
    rows = search.rows

    def predict_without(stay: Index, out: Index) -> list[Latent]:
        part = HyperparameterSearch.of(search.features, rows.on(stay))
        modes = search.with_feature_weights(learn_feature_weights(part, point)).modes(best)
        return [(mode.left_out[0][out], mode.left_out[1][out]) for mode in modes]

    targets = np.unique(np.stack(rows.targets), axis=1, return_inverse=True)[1].astype(float)
    folds = balanced_folds(as_dense(rows.X), targets, _N_PARTS)
    return cross_validated(folds, rows.weight.size, predict_without, (len(rows.targets), 2))
