"""The dense references of all outputs under the chosen hyper-parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from .._protocols import Array, Index
from ..design import Built, DenseDesign, build_design
from ..model.tasks import FitData
from ..priors import Jeffreys
from ..solvers import Problem
from .choice import Choice
from .dense_reference import fit_reference, left_out_by_folds
from .reference import Reference
from .reference_features import FeatureMap

# The fraction of a kernel matrix that a reference and the columns to choose from may miss.
_RANK_TOLERANCE = 1e-6
# With more entries in the factors of the columns, only the columns that span the others are candidates.
# That saves memory, but may need a few more kernels.
_MAX_FACTOR_ENTRIES = 20_000_000


@dataclass(frozen=True)
class FittedReferences:
    """A reference for each output, the problems they solve, and the columns to project them onto."""

    references: list[Reference]
    problems: list[Problem]
    built: Built
    X: Any

    @property
    def on_features(self) -> bool:
        """Whether the columns are features, and not kernels."""
        return isinstance(self.references[0].feature_map, FeatureMap)


def fit_references(
    choice: Choice,
    data: FitData,
    X: Any,
    *,
    intercept: bool,
    max_rank: int,
    leave_whole_rows: bool,
    n_jobs: int | None,
) -> FittedReferences:
    """Fit the dense reference of each output on all rows.

    Parameters
    ----------
    choice : Choice
        The hyper-parameters.
    data : FitData
    X : array
        The rows of the data, dense where the reference is on features.
    intercept, max_rank, leave_whole_rows, n_jobs
        As in the settings of the fit.
    """
    weight, features = data.weight, choice.features
    basis = features.basis(data.X, choice.width, choice.theta)
    built = build_design(basis, data.X, weight, centre=intercept, tol=_RANK_TOLERANCE, max_rank=max_rank)
    prior = choice.weight_space_prior
    feature_map = features.exact_map(built.basis, built.pivots, X, weight, prior)
    dense = DenseDesign(np.ascontiguousarray(feature_map.columns(X)))
    problems = [
        Problem(
            dense.share(),
            y,
            data.likelihood,
            Jeffreys(),
            weight,
            intercept,
            leave_whole_rows=leave_whole_rows,
        )
        for y in data.targets
    ]

    def fit(problem: Problem, start: Array | None) -> Reference:
        precision, moments = choice.relative_precision, choice.moments
        return fit_reference(feature_map, problem, precision, start, moments=moments)

    outputs = zip(problems, choice.latents, strict=True)
    references = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(fit)(*each) for each in outputs)
    theta_of = choice.theta_of
    if theta_of is not None:

        def map_of(part: Index) -> Any:
            return features.map_on(X[part], weight[part], choice.width, theta_of(part), prior)

        references = left_out_by_folds(references, problems, X, map_of)
    return FittedReferences(references, problems, _only_pivots_if_large(built), X)


def _only_pivots_if_large(built: Built) -> Built:
    """Return the columns to choose from: only those that span the others if the factors are large."""
    if built.pivots is None or built.pivots.size * built.basis.n_columns <= _MAX_FACTOR_ENTRIES:
        return built
    return built.keep(np.sort(built.pivots))
