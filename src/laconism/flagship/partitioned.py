"""The winner among candidates, fitted to rows in partitions: its posterior from sums over all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..basis import KernelBasis
from ..laplace.mode import Mode
from ..laplace.shared_precision import fit_shared
from ..linalg import ridge
from ..partitions.sums import Columns, Point
from ..partitions.weigh import weigh
from ..posterior import GaussianPosterior
from ..priors import Gaussian
from .reference_features import KernelMap
from .references import fit_references

if TYPE_CHECKING:
    from .._protocols import Array, Index
    from ..linalg import Ridge, Triangle
    from ..model.tasks import FitData
    from ..partitions.start import PartitionedRows
    from ..partitions.weigh import Weighed
    from ..solvers import Problem
    from .candidate import Fits
    from .references import FittedReferences
    from .search import Choice

# Newton's method ends with a step that is shorter than this, squared and in nats per row. The next one
# would be its square.
_STEP_NATS_PER_ROW = 1e-6


@dataclass(frozen=True)
class MappedColumns:
    """The features of a reference as columns; all of them are used."""

    feature_map: Any

    def columns(self, X: Any) -> Array:
        """Return the features of each row."""
        return np.asarray(self.feature_map.columns(X))

    def keep(self, active: Index) -> MappedColumns:
        """Return the same columns."""
        return self


def _columns(feature_map: Any, width: int) -> tuple[Columns, Triangle | None]:
    """Return the columns to sum and, if these are kernels, the root that makes features of them.

    Sums of kernels take half of the time, but need their root to be well conditioned.
    """
    centre = np.zeros(width)
    kernels = isinstance(feature_map, KernelMap) and feature_map.rotation is None
    if kernels and feature_map.triangle.well_conditioned:
        basis = KernelBasis(feature_map.kernel, feature_map.rows, np.arange(width))
        return Columns(basis, centre), feature_map.triangle
    return Columns(MappedColumns(feature_map), centre), None


@dataclass(frozen=True)
class AllRows:
    """All rows in partitions, and the sample of them as it was given."""

    partitions: PartitionedRows
    sample: FitData

    def fit(self, choice: Choice, fits: Fits) -> FittedReferences:
        """Return the references of a choice with the posterior of all rows.

        ``fits`` has the sample, whose rows give the inducing rows, the calibration and the projection.
        """
        settings, data = fits.settings, self.sample
        sampled = fit_references(choice, fits.rows, max_rank=settings.max_rank, n_jobs=settings.n_jobs)
        references, width = sampled.references, sampled.problems[0].design.shape[1]
        columns, root = _columns(references[0].feature_map, width)
        setting = self.partitions.setting(
            data,
            columns,
            intercept=fits.rows.intercept,
            kernels=True,
            tol=_STEP_NATS_PER_ROW,
            root=root,
        )
        points = [
            Point(np.arange(width), each.posterior.mean, each.posterior.intercept, data.likelihood, k)
            for k, each in enumerate(references)
        ]
        priors = [Gaussian(width=float(np.sqrt(each.weight_variance))) for each in references]
        step = _labels_step if points[0].labels else partial(_values_step, choice.relative_precision)
        found = weigh(setting, points, priors, [step] * len(points))
        return _with_posteriors(sampled, found, setting.encoding.level)


def _labels_step(problem: Problem, point: Point) -> tuple[Index, Array, float, Ridge]:
    """Solve the quadratic of labels under one precision for all weights."""
    variance = problem.variance(point.w)
    found = ridge(problem.design, problem.weight, problem.y, variance, intercept=problem.intercept)
    return np.arange(point.w.size), found.weights, found.intercept, found


def _values_step(
    relative_precision: float, problem: Problem, point: Point
) -> tuple[Index, Array, float, Mode]:
    """Fit the values, whose sums determine precision and noise."""
    mode = fit_shared(problem, relative_precision)
    return np.arange(mode.w.size), mode.w, mode.b, mode


def _with_posteriors(
    sampled: FittedReferences, found: Sequence[Weighed[Any]], level: float
) -> FittedReferences:
    """Return the references with the posteriors of all rows, and their latents at the sample."""
    references = []
    for reference, problem, each in zip(sampled.references, sampled.problems, found, strict=True):
        answer, likelihood, variance = each.answer, reference.likelihood, reference.weight_variance
        if isinstance(answer, Mode):
            likelihood, variance = answer.likelihood, 1 / float(answer.alpha[0])
            answer = answer.posterior
        posterior = GaussianPosterior.from_ridge(answer)
        posterior = replace(posterior, intercept=posterior.intercept + level)
        moved = replace(reference, posterior=posterior, likelihood=likelihood, weight_variance=variance)
        references.append(moved.on_rows(problem))
    return replace(sampled, references=references)
