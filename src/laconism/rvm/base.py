"""The fit of a relevance vector machine, from validated rows to the published model."""

from __future__ import annotations

from typing import Any

from ..design import Built
from ..laplace.mode import own_precision
from ..model.callbacks import begin_reports
from ..model.far_variance import Augmentation
from ..model.kernel_model import KernelModel
from ..model.output import Fit
from ..model.tasks import FitData
from .fit import RelevanceSettings, fit_outputs
from .inference import make_solver


class RVMBase(KernelModel):
    """Shared by classifier and regressor; they add the task and the predictions."""

    inference: str
    solver: str
    shape: float
    rate: float

    def _fit_rows(self, data: FitData) -> None:
        """Learn the precisions of every output and publish the weights.

        A regression also has a noise variance and, with a kernel, the variance far from its rows.
        """
        reports, end_reports = begin_reports(self, len(data.targets))
        basis = self._make_basis(data.X, data.weight)
        solver = make_solver(self.inference, self.solver, self.shape, self.rate)
        settings = RelevanceSettings(
            solver=solver,
            kernels=self.kernel is not None,
            fit_intercept=bool(self.fit_intercept),
            max_iter=int(self.max_iter),
            tol=self.tol,
            rank_tol=None if self.rank_tol == "auto" else self.rank_tol,
            max_rank=int(self.max_rank),
            n_jobs=self.n_jobs,
        )
        fitted = fit_outputs(settings, basis, data, reports)
        end_reports()
        built = fitted.built
        self.solver_ = solver
        self._publish(fitted.outputs, built.basis, built.centre, built.note)
        del self._rows  # one number per training row, which no prediction needs
        if not self._task.classifies:
            X, weight, (y,) = data.X, data.weight, data.targets
            self.noise_variance_ = self._noise_variance(X, y, weight, built.basis)
            self._far_variance = self._augmentation(data, built, fitted.outputs[0])

    def _augmentation(self, data: FitData, built: Built, fit: Fit) -> Augmentation | None:
        """Return one more kernel at each new row, where the kernel matrix was factored."""
        if built.pivots is None:
            return None
        X, (y,) = data.X, data.targets
        m = self._latents_at(X, far=False)[0][:, 0]
        slope, curvature = self.likelihoods_[0].derivatives(y, m)
        r = own_precision(slope, curvature)
        pivots: Any = built.basis.keep(built.pivots)
        return Augmentation.learn(
            pivots.kernel,
            pivots.centres,
            self.basis_.keep(self._columns[0]),
            self.posteriors_[0],
            fit.variance,
            X,
            m + slope / r,
            data.weight * r,
        )
