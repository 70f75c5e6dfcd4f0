"""References on the features themselves under a sparse prior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..design import DenseDesign
from ..judging.folds import N_FOLDS, balanced_folds, cross_validated
from ..linalg import as_dense
from ..posterior import GaussianPosterior
from .kernel_family import ReferenceFeatures
from .reference import Reference
from .reference_features import FeatureMap
from .references import FittedReferences, build_columns
from .search import Choice

if TYPE_CHECKING:
    from .._protocols import Array, Index
    from ..laplace.mode import Mode
    from ..solvers import Problem
    from .rows import TrainingRows

# Fits a problem under a sparse prior: the columns that are kept, and their mode.
SparseFit: TypeAlias = "Callable[[Problem], tuple[Index, Mode]]"


def fit_sparse_features(
    rows: TrainingRows, fit: SparseFit, max_rank: int
) -> tuple[FittedReferences, list[Index]]:
    """Return references under a sparse prior, and the features that each of them keeps.

    Left-out latents come from refits without each fold: without a row a sparse model may keep other
    columns, so no leave-one-out formula holds.
    """
    rows = replace(rows, X=as_dense(rows.X))
    feature_map = replace(FeatureMap.of(rows.X, rows.weight), rotation=None)
    Z = feature_map.columns(rows.X)
    references, problems, kept = [], [], []
    for problem in rows.problems(DenseDesign(Z)):
        index, mode = fit(problem)
        few = feature_map.keep(index)
        kept.append(index)
        m, v = _left_out_sparse(problem, Z, fit)
        references.append(replace(Reference.of(few, mode), left_out_m=m, left_out_v=v))
        problems.append(replace(problem, design=DenseDesign(few.columns(rows.X))))
    features = ReferenceFeatures(None, max_rank)
    choice = Choice(features, 0.0, np.ones(Z.shape[1]), 0.0, [None] * len(references))
    built = build_columns(choice, rows, max_rank)
    return FittedReferences(choice, rows, references, problems, built), kept


def _left_out_sparse(problem: Problem, Z: Array, fit: SparseFit) -> Array:
    """Return mean and variance of the latent of each row, from refits without each fold."""

    def predict_without(stay: Index, out: Index) -> tuple[Array, Array]:
        kept, without = fit(problem.rows(stay))
        return GaussianPosterior.from_ridge(without.posterior).latent(Z[np.ix_(out, kept)])

    folds = balanced_folds(Z, problem.y, N_FOLDS)
    return cross_validated(folds, problem.y.size, predict_without, (2,))
