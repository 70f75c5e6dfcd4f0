"""Sparse models whose rows are in partitions: columns from a sample, weights from sums over all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.fit_output import fit_output
from ..model.output import laplace_fit
from ..partitions.start import repeat_until_complete
from ..partitions.values import residual_squares
from ..partitions.weigh import candidate_gains, missing_columns, weigh
from ..solvers import solve
from ..solvers.learnt_scale import Start
from ..solvers.refit_selected import drop_unpaid
from .design import prepare_design
from .prior import has_free_intercept, may_drop_intercept, resolve_prior

if TYPE_CHECKING:
    from .._protocols import Array, Index
    from ..model.output import Fit
    from ..model.tasks import FitData
    from ..partitions.start import PartitionedRows
    from ..partitions.sums import Point
    from ..partitions.weigh import Setting, Weighed
    from ..priors import Prior
    from ..solvers import Problem, Solution, Solver


def fit_sparse_partitions(model: Any, data: FitData, rows: PartitionedRows) -> None:
    """Fit a model to a sample, weigh its columns on all rows and publish that.

    ``data`` is the sample.
    """
    prepared = prepare_design(model, data)
    model._fit_rows(data, prepared)
    unbound, prior, solver = resolve_prior(model, prepared.n_columns)
    priors = model.priors_ if unbound.learns else [prior] * len(data.targets)
    free = has_free_intercept(model)
    if may_drop_intercept(model, data.likelihood):
        free = any(posterior.spread > 0 for posterior in model.posteriors_)
    family = SparseFamily(model, unbound, priors, solver)
    kernels = model.kernel is not None
    rows.publish(model, data, prepared.built, family, kernels=kernels, intercept=free)


@dataclass(frozen=True)
class SparseFamily:
    """How a sparse model is fitted to partitions: its priors and the step of Newton's method."""

    model: Any
    unbound: Prior
    priors: Sequence[Prior]  # of each output
    solver: Solver

    def needs_all(self, output: int) -> bool:
        """Whether no weight of an output becomes zero, so that all columns are needed."""
        return self.priors[output].kink == 0

    def fit(self, setting: Setting, points: Sequence[Point], sample: Any) -> tuple[list[Fit], float]:
        """Return the fit of every output on all rows, and the squared residuals of values."""

        def fit(points: Sequence[Point]) -> list[Weighed[Any]]:
            return self._weigh(setting, points, self.priors)

        def missing(found: list[Weighed[Any]]) -> list[Index]:
            at = [replace(each.point, likelihood=_likelihood(each)) for each in found]
            each = zip(at, self.priors, candidate_gains(setting, at), strict=True)
            return [missing_columns(setting, point, prior, gain, sample) for point, prior, gain in each]

        # The Laplace prior has a certificate to reach; others have many optima.
        rounds = 20 if all(np.isfinite(prior.kink) for prior in self.priors) else 2
        found = repeat_until_complete(setting, points, fit, missing, rounds)
        if found[0].point.labels:
            return self._finish(setting, found), 0.0
        (only,) = found
        squares = residual_squares(only.problem, only.answer)
        return [_among_all(only.answer, only.point, only.answer.likelihood)], squares

    def _weigh(
        self, setting: Setting, points: Sequence[Point], priors: Sequence[Prior]
    ) -> list[Weighed[Any]]:
        steps = [self._labels_step if point.labels else self._values_step for point in points]
        return weigh(setting, points, priors, steps)

    def _labels_step(self, problem: Problem, point: Point) -> tuple[Index, Array, float, Solution]:
        """Solve the quadratic of labels, from the weights of the point."""
        # A prior that absorbs zeros never brings one back, so the first step starts anew.
        anew = not point.w.any() or (np.isinf(problem.prior.kink) and not point.w.all())
        start = None if anew else problem.state(point.w, point.b, problem.likelihood)
        most = int(self.model.max_iter)
        found = solve(problem, self.solver, start=start, max_iter=most, tol=1e-12)  # that of the sums
        if np.isfinite(problem.prior.kink):  # zeros may become nonzero in the next step
            w = np.zeros(point.w.size)
            w[found.active] = found.state.w
            return np.arange(w.size), w, found.state.b, found
        kept = np.flatnonzero(found.state.w)
        return found.active[kept], found.state.w[kept], found.state.b, found

    def _values_step(self, problem: Problem, point: Point) -> tuple[Index, Array, float, Fit]:
        """Fit the values, whose sums determine everything, as a fit of all rows would."""
        fit = fit_output(
            problem,
            self.solver,
            Start(),
            self.unbound,
            max_iter=int(self.model.max_iter),
            tol=self.model.tol,
            always_intercept=self.model.fit_intercept,
        )
        return fit.active, fit.posterior.mean, fit.posterior.intercept, fit

    def _finish(self, setting: Setting, found: Sequence[Weighed[Any]]) -> list[Fit]:
        """Return the fits of labels; selected features are refitted without the charge."""
        if self.unbound.charges(kernel=setting.kernels):
            points, priors = [], []
            for each in found:
                kept = each.answer
                if kept.active.size:
                    kept = drop_unpaid(kept, setting.columns.size)[0]
                place = np.searchsorted(each.answer.active, kept.active)
                points.append(replace(each.point, index=each.point.index[place], w=kept.state.w))
                priors.append(self.unbound.bind(kept.active.size, kernel=setting.kernels, labels=True))
            found = self._weigh(setting, points, priors)
        always = bool(self.model.fit_intercept)
        fits = [laplace_fit(each.answer, always) for each in found]
        pairs = zip(fits, found, strict=True)
        return [_among_all(fit, each.point, each.point.likelihood) for fit, each in pairs]


def _likelihood(found: Weighed[Any]) -> Any:
    """Return the likelihood at a solution: the noise of values is the estimated one."""
    return found.point.likelihood if found.point.labels else found.answer.likelihood


def _among_all(fit: Fit, point: Point, likelihood: Any) -> Fit:
    """Return a fit with its columns numbered among all candidates."""
    return replace(fit, active=point.index[point.w != 0], likelihood=likelihood)
