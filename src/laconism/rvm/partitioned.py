"""Relevance vector machines whose rows are in partitions: precisions from sums over all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..design import build_design
from ..laplace.mode import COMPARISON_NATS
from ..likelihoods import Binary
from ..partitions.start import repeat_until_complete
from ..partitions.values import residual_squares
from ..partitions.weigh import candidate_gains, pick_dissimilar, weigh
from ..priors import Jeffreys
from .output import fit_relevance

if TYPE_CHECKING:
    from .._protocols import Array, Index
    from ..model.output import Fit
    from ..model.tasks import FitData
    from ..partitions.start import PartitionedRows
    from ..partitions.sums import Point
    from ..partitions.weigh import Gains, Setting, Weighed
    from ..solvers import Problem


def fit_rvm_partitions(model: Any, data: FitData, rows: PartitionedRows) -> None:
    """Fit a relevance vector machine to a sample, then its precisions on all rows.

    ``data`` is the sample.
    """
    if model.inference == "variational" and isinstance(data.likelihood, Binary):
        raise ValueError(
            "Sums over partitions determine no variational posterior of labels; use "
            "inference='sequential' or 'evidence'."
        )
    solver, basis = model._make_solver(), model._make_basis(data.X, data.weight)
    own, kernels = model._rows, model.kernel is not None
    model._fit_rows(data, calibrated=False)
    model._rows = own
    intercept = any(posterior.spread > 0 for posterior in model.posteriors_)
    tol = solver.rank_tol(basis.n_columns) if model.rank_tol == "auto" else model.rank_tol
    most = int(model.max_rank)
    built = build_design(basis, data.X, data.weight, centre=intercept, tol=tol, max_rank=most)
    family = RelevanceFamily(model, solver)
    fits = rows.publish(model, data, built, family, kernels=kernels, intercept=intercept)
    del model._rows
    if not model._task.classifies:
        model._far_variance = model._augmentation(data, built, fits[0].variance)


@dataclass(frozen=True)
class RelevanceFamily:
    """How a relevance vector machine is fitted to partitions."""

    model: Any
    solver: Any

    def needs_all(self, output: int) -> bool:
        """Whether all columns are needed: never, since most are deleted."""
        return False

    def fit(self, setting: Setting, points: Sequence[Point], sample: Any) -> tuple[list[Fit], float]:
        """Return the fit of every output on all rows, and the squared residuals of values."""
        setting = replace(setting, ascends=False)

        def fit(points: Sequence[Point]) -> list[Weighed[Fit]]:
            return weigh(setting, points, [Jeffreys()] * len(points), [self._step] * len(points))

        def missing(found: list[Weighed[Fit]]) -> list[Index]:
            at = [replace(each.point, likelihood=_likelihood(each)) for each in found]
            gains = candidate_gains(setting, at, [1 / each.answer.variance for each in found])
            return [self._missing(setting, *pair, sample) for pair in zip(at, gains, strict=True)]

        found = repeat_until_complete(setting, points, fit, missing)
        squares = 0.0 if found[0].point.labels else residual_squares(found[0].problem, found[0].answer)
        fits = [
            replace(each.answer, active=each.point.index, likelihood=_likelihood(each)) for each in found
        ]
        return fits, squares

    def _step(self, problem: Problem, point: Point) -> tuple[Index, Array, float, Fit]:
        """Maximise the evidence of the precisions for the quadratic of a point, or for the values."""
        tol, most = self.model.tol, int(self.model.max_iter)
        fit = fit_relevance(problem, self.solver, max_iter=most, tol=tol)
        return fit.active, fit.posterior.mean, fit.posterior.intercept, fit

    def _missing(self, setting: Setting, point: Point, gains: Gains, sample: Any) -> Index:
        """Return the candidates whose precision has a maximum of the evidence, and that gain enough."""
        ratio = np.maximum(gains.slope**2 / gains.curvature, 1.0)
        nats = 0.5 * (ratio - 1 - np.log(ratio))
        least = max(self.model.tol * setting.total, COMPARISON_NATS)
        score = np.where(nats > least, nats, 0.0)
        score[point.index] = 0.0
        return pick_dissimilar(setting, point, score, sample)


def _likelihood(found: Weighed[Fit]) -> Any:
    """Return the likelihood at a solution: the noise of values is the estimated one."""
    return found.point.likelihood if found.point.labels else found.answer.likelihood
