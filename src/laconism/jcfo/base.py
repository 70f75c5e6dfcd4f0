"""The fit of a joint model: prepare the joint problem, search, publish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from ..model.callbacks import begin_reports
from ..model.kernel_model import KernelModel
from ..model.tasks import FitData
from .columns import JointColumns
from .posteriors import output_fits
from .prepare import PreparedData, prepare
from .problem import JointFit
from .search import SearchSettings, check_solver, search
from .settings import joint_rules


@dataclass(eq=False, repr=False)
class JCFOBase(KernelModel):
    """Shared by classifier and regressor; they add the task and the parameters that differ."""

    kernel: str = "rbf"
    _: KW_ONLY
    degree: int = 2
    scale_rate: Any = "auto"
    initial_scales: Any = "auto"
    selection_rate: Any = None
    solver: str = "varpro"
    screening: Any = None
    n_centres: int | None = None
    standardize: bool = True
    fit_intercept: bool = True
    max_iter: int = 200
    tol: float = 1e-6
    random_state: Any = 0
    callbacks: Any = None

    _kernel_selects_features = True

    def _own_rules(self) -> dict[str, tuple[bool, str]]:
        return joint_rules(self, classifies=self._task.classifies)

    # ---- fit ------------------------------------------------------------------------------

    def _fit_rows(self, data: FitData) -> None:
        """Find weights and scales together and publish both."""
        prepared = self._prepare(data)
        settings = self._search_settings(prepared)
        rates, price = prepared.selection_rates(self.selection_rate), prepared.feature_price
        reports, end_reports = begin_reports(self, len(prepared.problems))
        fits = []
        for problem, report in zip(prepared.problems, reports, strict=True):
            report.begin()
            fits.append(search(problem, settings, report, rates, price))
            report.end()
        end_reports()
        self._publish_fits(prepared, fits)

    def _prepare(self, data: FitData) -> PreparedData:
        check_solver(self.solver)
        return prepare(self, data)

    def _search_settings(self, prepared: PreparedData) -> SearchSettings:
        max_iter, tol = int(self.max_iter), float(self.tol)
        return SearchSettings(self.solver, max_iter, tol, prepared.trial_order, prepared.start)

    # ---- publish --------------------------------------------------------------------------

    def _publish_fits(self, prepared: PreparedData, fits: Sequence[JointFit]) -> None:
        """Publish the end of a search: one fit, or one for each output."""
        scales = np.array([prepared.scales(fit.state.theta) for fit in fits])
        columns = JointColumns.of(self, prepared, scales)
        self.feature_scales_ = scales[0] if len(fits) == 1 else scales
        self.kernel_: Any = columns.kernels[0] if len(fits) == 1 else columns.kernels
        self._support: Any = (scales > 0).any(axis=0)
        self.objective_ = float(sum(fit.state.value for fit in fits))
        basis = columns.joined
        self._publish(output_fits(prepared.problems, fits), basis, np.zeros(basis.n_columns), "")
        if not self._task.classifies:
            problem, n_scales = prepared.problems[0], int(np.count_nonzero(scales))
            rows = (prepared.X, problem.targets[0], problem.weight)
            self.noise_variance_ = self._noise_variance(*rows, columns.bases[0], n_scales)
