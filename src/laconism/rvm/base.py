"""The fit of a relevance vector machine, from validated rows to the published model."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from .._component import is_name, unknown
from ..design import Built
from ..laplace.mode import own_precision
from ..model.far_variance import Augmentation
from ..model.kernel_model import KernelModel
from ..model.output import Fit
from ..model.tasks import FitData
from .evidence import Sequential, TopDownEvidence
from .fit import fit_outputs
from .variational import Variational

_INFERENCES = ["evidence", "sequential", "variational"]


@dataclass(eq=False, repr=False)
class RVMBase(KernelModel):
    """Shared by classifier and regressor; they add the task, the likelihood and the predictions."""

    kernel: Any = "rbf"
    _: KW_ONLY
    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 1.0
    inference: str = "sequential"
    solver: str = "fast"
    fit_intercept: bool = True
    shape: float = 1e-12
    rate: float = 1e-12
    max_iter: int = 1000
    tol: float = 1e-5
    rank_tol: Any = "auto"
    max_rank: int = 1000
    n_jobs: int | None = None
    callbacks: Any = None

    def _fit_rows(self, data: FitData) -> None:
        """Learn the precisions of every output and publish the weights.

        A regression also has a noise variance and, with a kernel, the variance far from its rows.
        """
        solver = self._make_solver()
        built, fits = fit_outputs(
            self,
            solver,
            self._make_basis(data.X, data.weight),
            data,
            kernels=self.kernel is not None,
            rank_tol=None if self.rank_tol == "auto" else self.rank_tol,
            max_rank=int(self.max_rank),
        )
        self.solver_ = solver
        self._publish(fits, built.basis, built.centre, built.note)
        del self._rows  # one number per training row, which no prediction needs
        if not self._task.classifies:
            X, weight, (y,) = data.X, data.weight, data.targets
            self.noise_variance_ = self._noise_variance(X, y, weight, built.basis)
            self._far_variance = self._augmentation(data, built, fits[0])

    def _make_solver(self) -> Any:
        """Return what learns a precision for each weight; unused settings are checked too."""
        if not is_name(self.inference, *_INFERENCES):
            raise unknown("inference", str(self.inference), _INFERENCES)
        update: Any = self.solver
        variational = Variational(None, "product", update, self.shape, self.rate)
        variational.check()
        others = {"evidence": TopDownEvidence, "sequential": Sequential}
        return others[self.inference]() if self.inference in others else variational

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
