"""Fitting a dense reference, and leaving its rows out by refitting."""

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
    """Return the reference with one precision for all weights, fitted from a latent.

    Parameters
    ----------
    feature_map : KernelMap or FeatureMap
    problem : Problem
        On its features.
    relative_precision : float
        The precision, in the units of :func:`~laconism.laplace.shared_precision.fit_shared`.
    start : ndarray of shape (n,), optional
        A latent to start from.
    moments : bool, default=False
        Whether labels are matched in their moments, and not by Laplace's approximation.
    """
    mode = fit_shared(problem, relative_precision, latent=start, moments=moments)
    return Reference.of(feature_map, mode, relative_precision)


def left_out_by_folds(
    references: Sequence[Reference],
    problems: Sequence[Problem],
    X: Any,
    map_of: Callable[[Index], KernelMap | FeatureMap],
) -> list[Reference]:
    """Return references with rows left out by refitting: their kernel depends on every row.

    Parameters
    ----------
    references : sequence of Reference
        One for each output.
    problems : sequence of Problem
        On their features.
    X : array of shape (n, p)
        The rows.
    map_of : callable
        The feature map that some of the rows lead to.
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
