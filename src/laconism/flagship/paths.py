"""The paths of all outputs under a dense prior and under sparse priors, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from .._protocols import Array
from ..solvers import Problem
from .build_path import PathBuilder
from .path import Path, evaluation_rows
from .prior_variance import fit_variance_powers
from .references import FittedReferences
from .rules import MORE_FEATURES, SPARSE_PRIOR
from .sparse_reference import SparseFit, sparse_reference
from .tasks import ProjectionTask, ValueProjection
from .wide import is_wide

# The power of the far variance is chosen on at most this many rows.
_MAX_VARIANCE_ROWS = 1_000


def build_paths(
    builder: PathBuilder,
    fitted: FittedReferences,
    sparse_fits: Sequence[SparseFit],
    n_jobs: int | None,
) -> list[list[Path]]:
    """Return the paths of each group of outputs: of the dense references, then of sparse references.

    Parameters
    ----------
    builder : PathBuilder
    fitted : FittedReferences
    sparse_fits : sequence of callables
        The fits under sparse priors, which are candidates on wide data.
    n_jobs : int or None
    """
    sparse = sparse_fits if fitted.on_features and is_wide(*fitted.X.shape) else ()
    outputs = range(len(fitted.references))

    def paths_to(group: Sequence[int]) -> list[Path]:
        problem = fitted.problems[group[0]]
        dense = builder.build([fitted.references[k] for k in group], problem, fitted.built)
        if isinstance(builder.task, ValueProjection):
            dense = _with_variance_powers(dense, problem, fitted)
        return [dense, *(_sparse_path(builder, dense, problem, fitted, fit) for fit in sparse)]

    # Outputs share their kernels, since a kernel is evaluated once for all of them. Features are chosen
    # for each output, since it matters which of them an output depends on.
    groups = [[k] for k in outputs] if fitted.on_features else [outputs]
    found: list[list[Path]] = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(paths_to)(group) for group in groups
    )
    return found


def _with_variance_powers(path: Path, problem: Problem, fitted: FittedReferences) -> Path:
    """Return the path of a regression with the variance that it adds far from its kernels."""
    reference = path.references[0]
    rows = evaluation_rows(reference.m, _MAX_VARIANCE_ROWS)
    posteriors = [each[0] for each in path.posteriors]
    variance, powers = fit_variance_powers(
        reference, path.columns, posteriors, problem.weight, fitted.built, rows
    )
    return replace(path, prior_variance=variance, variance_powers=powers)


def _sparse_path(
    builder: PathBuilder, dense: Path, problem: Problem, fitted: FittedReferences, fit: SparseFit
) -> Path:
    """Return the path of a sparse reference."""
    features: Any = replace(dense.references[0].feature_map, rotation=None)
    reference, few = sparse_reference(features, problem, fitted.X, fit)
    kept: Any = reference.feature_map
    calibrated = builder.task.calibrate(reference, problem)
    return builder.build([calibrated], few, fitted.built, kept.source)


@dataclass(frozen=True)
class PathScore:
    """The left-out log density of each row under the models that would be selected from paths."""

    task: ProjectionTask
    targets: Sequence[Array]
    weight: Array
    tolerance: float
    price: float

    def log_density(self, paths: Sequence[Path]) -> Array:
        """Return it for the paths of all outputs, with the coupling that fits them best."""
        models = [path.left_out(self.tolerance, self.price) for path in paths]
        references = [reference for each, _ in models for reference in each]
        coupling = self.task.couple(references, self.targets, self.weight)
        dense = self.task.left_out_log_density(references, self.targets, coupling)
        return dense - sum(lost for _, lost in models)

    def best_prior(self, paths: Sequence[Sequence[Path]], *, any_size: bool) -> list[Path]:
        """Return the paths of all outputs under the best sparse prior, if it is clearly better.

        Otherwise the paths of the dense references, which come first, are returned. All outputs have the
        same prior: each class has few rows, so a separate choice would be uncertain.
        """
        select: Callable[[Sequence[Path]], list[Path]] = self.select_size if any_size else list
        if len(paths[0]) == 1:
            return select([path for (path,) in paths])
        (dense, before), *sparse = [
            (outputs, self.log_density(outputs)) for outputs in map(select, zip(*paths, strict=True))
        ]
        best, after = max(sparse, key=lambda one: float(self.weight @ one[1]))
        return best if SPARSE_PRIOR.prefers(after - before, self.weight) else dense

    def select_size(self, outputs: Sequence[Path]) -> list[Path]:
        """Return the paths with the sizes that cross-validation selects, if they have larger sets.

        Few features are taken unless a larger set is clearly better. All outputs have the same step.
        """
        lengths = [len(path.left_out_latents) for path in outputs if path.left_out_latents]
        if not lengths:
            return list(outputs)
        few, *larger = [
            [path.with_selected(more) if path.left_out_latents else path for path in outputs]
            for more in range(max(lengths))
        ]
        before, *after = [self.log_density(paths) for paths in (few, *larger)]
        best = int(np.argmax([self.weight @ each for each in after]))
        return larger[best] if MORE_FEATURES.prefers(after[best] - before, self.weight) else few
