"""The paths of all outputs under a dense prior and under sparse ones, and which of them is taken."""

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
    """Return the paths of each group of outputs: to the dense references, then to sparse ones.

    Parameters
    ----------
    builder : PathBuilder
    fitted : FittedReferences
    sparse_fits : sequence of callables
        The fits under sparse priors, which are candidates for features that are many for their rows.
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

    # Outputs share their kernels, since a kernel costs nothing for another output. A feature has a
    # meaning for each.
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
    """Return the path to a sparse reference."""
    features: Any = replace(dense.references[0].feature_map, rotation=None)
    reference, few = sparse_reference(features, problem, fitted.X, fit)
    kept: Any = reference.feature_map
    calibrated = builder.task.calibrate(reference, problem)
    return builder.build([calibrated], few, fitted.built, kept.source)


@dataclass(frozen=True)
class PathScore:
    """The left-out log density of each row under the models that paths would lead to."""

    task: ProjectionTask
    targets: Sequence[Array]
    weight: Array
    tolerance: float
    price: float

    def log_density(self, paths: Sequence[Path]) -> Array:
        """Return it for paths of all outputs, with the coupling that fits them best."""
        models = [path.left_out(self.tolerance, self.price) for path in paths]
        references = [reference for each, _ in models for reference in each]
        coupling = self.task.couple(references, self.targets, self.weight)
        dense = self.task.left_out_log_density(references, self.targets, coupling)
        return dense - sum(lost for _, lost in models)

    def best_prior(self, paths: Sequence[Sequence[Path]], *, any_size: bool) -> list[Path]:
        """Return the paths of all outputs under the best sparse prior, if it is clearly better.

        Otherwise those to the dense references, which come first. All outputs have one prior: each has
        but few rows of its class, so a choice for each would be uncertain.
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
        """Return the paths with the sizes that cross-validation selects, where they have larger sets.

        Few features, unless more of them are clearly better; as many for all outputs.
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
