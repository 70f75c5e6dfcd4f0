"""The fit of a dense reference, and its cross-validation by refitting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._protocols import Array, Index
from ..design import DenseDesign
from ..judging.folds import tenths
from ..judging.left_out import cross_validated
from ..laplace.shared_precision import fit_shared
from ..linalg import as_dense
from ..solvers import Problem
from .reference import Latent, Reference
from .reference_features import FeatureMap, KernelMap


def fit_reference(
    feature_map: KernelMap | FeatureMap,
    problem: Problem,
    relative_precision: float,
    start: Array | None = None,
    *,
    moments: bool = False,
) -> Reference:
    """Return the reference with one precision for all weights.

    Parameters
    ----------
    feature_map : KernelMap or FeatureMap
    problem : Problem
        The problem on its features.
    relative_precision : float
        The precision, in the units of :func:`~laconism.laplace.shared_precision.fit_shared`.
    start : ndarray of shape (n,), optional
        The latent from which the fit starts.
    moments : bool, default=False
        Whether labels are fitted by moment matching instead of Laplace's approximation.
    """
    mode = fit_shared(problem, relative_precision, latent=start, moments=moments)
    return Reference.of(feature_map, mode, relative_precision)


def left_out_by_folds(
    references: Sequence[Reference],
    problems: Sequence[Problem],
    X: Any,
    map_of: Callable[[Index], KernelMap | FeatureMap],
) -> list[Reference]:
    """Return references whose left-out latents come from refits without each fold.

    The leave-one-out formula does not hold here, since the kernel itself depends on every row.

    Parameters
    ----------
    references : sequence of Reference
        One for each output.
    problems : sequence of Problem
        The problems on their features.
    X : array of shape (n, p)
        The rows.
    map_of : callable
        Returns the feature map learnt on some of the rows.
    """

    def predict_without(stay: Index, out: Index) -> list[Latent]:
        feature_map = map_of(stay)
        design = DenseDesign(np.ascontiguousarray(feature_map.columns(X[stay])))
        latents = []
        for reference, problem in zip(references, problems, strict=True):
            rest = replace(problem.rows(stay), design=design.share())
            without = fit_reference(feature_map, rest, float(reference.relative_precision or 0.0))
            latents.append(without.latent(X[out]))
        return latents

    folds = tenths(as_dense(X), problems[0].y)
    left = cross_validated(folds, X.shape[0], predict_without, (len(references), 2))
    return [
        replace(reference, left_out_m=m, left_out_v=v)
        for reference, (m, v) in zip(references, left, strict=True)
    ]
