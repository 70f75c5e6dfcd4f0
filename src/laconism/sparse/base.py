"""The fit of a sparse Bayesian classifier or regressor, from validated rows to the published model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from .._component import is_count
from .._protocols import Array, Basis
from ..model.callbacks import begin_reports
from ..model.fit_output import fit_output
from ..model.kernel_model import KernelModel
from ..model.tasks import FitData
from ..solvers import Problem
from ..solvers.learnt_scale import Start
from .design import PreparedDesign, prepare_design
from .prior import has_free_intercept, may_drop_intercept, resolve_prior

# With fewer rows per kernel, residuals do not determine the noise.
_MIN_ROWS_PER_KERNEL = 2
_MANY_KERNELS = (
    " With this many kernels for the rows the model may interpolate them, so its error bars are those "
    "of leave-one-out residuals: try LaconicRegressor, features (kernel=None) or a wider kernel (a "
    "smaller gamma)."
)


@dataclass(eq=False, repr=False)
class SparseBayesBase(KernelModel):
    """The fit that classifier and regressor share; they add targets and predictions."""

    prior: Any = "jeffreys"
    _: KW_ONLY
    kernel: Any = None
    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 1.0
    expansion: int = 1
    fit_intercept: bool = True
    penalize_intercept: bool = False
    solver: Any = "auto"
    max_iter: int = 1000
    tol: float = 1e-8
    rank_tol: Any = "auto"
    max_rank: int = 1000
    n_jobs: int | None = None
    warm_start: bool = False
    callbacks: Any = None

    def _own_rules(self) -> dict[str, tuple[bool, str]]:
        fits = is_count(self.expansion) and self.expansion <= 10
        return {"expansion": (fits, "a whole number from 1 to 10")}

    def _fit_rows(
        self, data: FitData, prepared: PreparedDesign | None = None, scales: Sequence[float] = ()
    ) -> None:
        """Fit every output on one shared design and publish the kept columns.

        A search passes the design that its candidates share, and initial scales of the prior.
        """
        reports, end_reports = begin_reports(self, len(data.targets))
        prepared = prepare_design(self, data) if prepared is None else prepared
        unbound, prior, solver = resolve_prior(self, prepared.n_columns)
        built, kernels, free = prepared.built, self.kernel is not None, has_free_intercept(self)
        near_duplicates = kernels and not built.chosen
        problems = [
            Problem(
                built.design.share(),
                y,
                data.likelihood,
                prior,
                data.weight,
                free,
                kernels,
                near_duplicates,
            )
            for y in data.targets
        ]
        starts = self._warm_starts(problems, built.basis, built.centre)
        if len(scales) == len(starts):
            starts = [start._replace(scale=s) for start, s in zip(starts, scales, strict=True)]
        jobs = (
            delayed(fit_output)(
                problem,
                solver,
                start,
                unbound,
                max_iter=int(self.max_iter),
                tol=self.tol,
                report=report,
                always_intercept=self.fit_intercept,
                may_drop_intercept=may_drop_intercept(self, data.likelihood),
            )
            for problem, start, report in zip(problems, starts, reports, strict=True)
        )
        fits: list[Any] = Parallel(n_jobs=self.n_jobs, prefer="threads")(jobs)
        end_reports()
        self.priors_ = [fit.prior for fit in fits] if unbound.learns else [prior] * len(fits)
        self.prior_, self.solver_ = self.priors_[0], solver
        self._held_noise = any(fit.held for fit in fits)
        self._publish(fits, built.basis, built.centre, built.note)
        if not self._task.classifies:
            self._publish_noise(data, built.basis)

    def _publish_noise(self, data: FitData, basis: Basis) -> None:
        """Publish the noise variance of a regression, corrected for its degrees of freedom."""
        self.noise_variance_ = self._noise_variance(data.X, data.targets[0], data.weight, basis)
        many = _MIN_ROWS_PER_KERNEL * self.n_relevant_ >= data.weight.sum()
        if self.kernel is not None and many:
            self.status_ = replace(self.status_, message=self.status_.message + _MANY_KERNELS)

    def _warm_starts(self, problems: Sequence[Problem], basis: Basis, centre: Array) -> list[Start]:
        """Return the previous weights on the columns that still exist, with ``warm_start``.

        A fit under a held noise is no start: from its columns the search does not find that noise again.
        """
        previous = self.warm_start and hasattr(self, "posteriors_") and not self._held_noise
        if not previous or len(self.posteriors_) != len(problems):
            return [Start()] * len(problems)
        place = {int(source): column for column, source in enumerate(basis.source)}
        starts: list[Start] = []
        for problem, posterior, columns, likelihood in zip(
            problems, self.posteriors_, self._columns, self.likelihoods_, strict=True
        ):
            w = np.zeros(basis.n_columns)
            for source, value in zip(self.basis_.source[columns], posterior.mean, strict=True):
                if int(source) in place:
                    w[place[int(source)]] = value
            b = posterior.intercept + float(centre @ w) if problem.intercept else 0.0
            state = problem.refit(w, b, likelihood) if w.any() else None
            starts.append(Start(state, posterior.effective))
        return starts
