"""References under sparse priors, on wide data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from .._protocols import Array, Index
from ..design import DenseDesign
from ..judging.calibrate import left_out_noise
from ..judging.folds import tenths
from ..judging.left_out import cross_validated
from ..laplace.mode import Mode
from ..posterior import GaussianPosterior
from ..solvers import Problem
from .reference import Reference
from .reference_features import FeatureMap

# Fits a problem under a sparse prior: the columns that are kept, and their mode.
SparseFit: TypeAlias = Callable[[Problem], tuple[Index, Mode]]


def sparse_reference(
    feature_map: FeatureMap, problem: Problem, X: Any, fit: SparseFit
) -> tuple[Reference, Problem]:
    """Return the reference under a sparse prior, and the problem on the features that it keeps.

    Left-out latents come from ten folds: without a row a sparse model may keep other columns, so no
    leave-one-out formula holds.

    Parameters
    ----------
    feature_map : FeatureMap
        The map of all features, standardised, without a rotation.
    problem : Problem
        The problem with targets, weights and likelihood of the rows.
    X : ndarray of shape (n, p)
    fit : callable
        The fit under a sparse prior.
    """
    Z = feature_map.columns(X)
    problem = replace(problem, design=DenseDesign(Z))

    def predict_without(stay: Index, out: Index) -> tuple[Array, Array]:
        kept, without = fit(problem.rows(stay))
        posterior = GaussianPosterior.from_ridge(without.posterior)
        return posterior.latent(Z[np.ix_(out, kept)])

    index, mode = fit(problem)
    m, v = cross_validated(tenths(Z, problem.y), problem.y.size, predict_without, (2,))
    likelihood = left_out_noise(problem.y, m, v, problem.weight, mode.likelihood)
    few = feature_map.keep(index)
    reference = replace(Reference.of(few, mode), left_out_m=m, left_out_v=v, likelihood=likelihood)
    return reference, replace(problem, design=DenseDesign(few.columns(X)))
