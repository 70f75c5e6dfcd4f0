"""What the relevance vector machines share: design -> precisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from joblib import Parallel, delayed

from ..design import Built, build_design
from ..likelihoods import Binary
from ..model.callbacks import begin_reports
from ..model.kernel_model import KernelModel
from ..model.output import Fit
from ..model.tasks import FitData
from ..priors import Jeffreys
from ..solvers import Problem
from .fit import fit_relevance


class RelevanceBase(KernelModel):
    """Shared by all relevance vector machines; they add the solver, the targets, the predictions."""

    shape: float
    rate: float

    def _make_solver(self) -> Any:
        raise NotImplementedError

    def _note(self, fits: Sequence[Fit]) -> str:
        """Return what a person should know besides."""
        return ""

    def _solve(self, data: FitData) -> tuple[Built, list[Fit]]:
        """Learn the precisions of every output on one shared design and publish what they kept."""
        X, weight, targets, likelihood = data
        reports, end_reports = begin_reports(self, len(targets))
        basis = self._make_basis(X, weight)
        solver = self._make_solver()
        solver.check()
        tol = solver.rank_tol(basis.n_columns) if self.rank_tol == "auto" else self.rank_tol
        free = bool(self.fit_intercept)
        may_drop_intercept = free and self.kernel is not None and isinstance(likelihood, Binary)
        # What may have no intercept keeps its columns as they are.
        centre = free and not may_drop_intercept
        built = build_design(basis, X, weight, centre=centre, tol=tol, max_rank=int(self.max_rank))
        kernels = self.kernel is not None
        # Precisions with the hyper-prior 1 / alpha are weights with the prior 1 / |w|.
        jobs = (
            delayed(fit_relevance)(
                Problem(built.design.share(), y, likelihood, Jeffreys(), weight, free, kernels),
                solver,
                max_iter=int(self.max_iter),
                tol=self.tol,
                report=report,
                may_drop_intercept=may_drop_intercept,
            )
            for y, report in zip(targets, reports, strict=True)
        )
        fits: list[Fit] = Parallel(n_jobs=self.n_jobs, prefer="threads")(jobs)
        end_reports()
        self.solver_ = solver
        self._publish(fits, built.basis, built.centre, built.note + self._note(fits))
        del self._rows  # one number per training row, which no prediction needs
        return built, fits
