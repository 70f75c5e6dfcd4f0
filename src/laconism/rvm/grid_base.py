"""The fit of a relevance vector machine on a grid of weights, from validated rows to the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._protocols import Array
from ..model.callbacks import begin_reports
from ..model.kernel_model import KernelModel
from ..model.output import Fit
from ..model.tasks import FitData
from .fit import RelevanceSettings, fit_outputs
from .grid import Grid, grid_basis
from .variational import Variational

# Share of every summed precision below which a mode's own precisions do not matter.
_SWITCHED_OFF_SHARE = 0.01
# Rank at which the factorisation of one-dimensional kernels stops.
_MAX_RANK = 1000


class Slices(NamedTuple):
    """Precision and relevance of every slice, one array per mode."""

    precision: list[Array]
    relevance: list[Array]

    @classmethod
    def of(cls, fits: Sequence[Fit], grid: tuple[int, ...]) -> Slices:
        """Return them for all outputs; of one output without an axis for it."""
        slices = cls([], [])
        for mode, size in enumerate(grid):
            precision, relevance = np.full((len(fits), size), np.inf), np.zeros((len(fits), size))
            for k, fit in enumerate(fits):
                kept = fit.state.kept[mode]
                precision[k, kept] = fit.state.precisions.means[mode]
                relevance[k, kept] = fit.state.relevance(mode)
            one = len(fits) == 1
            slices.precision.append(precision[0] if one else precision)
            slices.relevance.append(relevance[0] if one else relevance)
        return slices


def switched_off(fits: Sequence[Fit], grid: tuple[int, ...]) -> list[int]:
    """Return the modes that in no output dropped a slice or have a part in any summed precision."""

    def is_off(state: Any, mode: int) -> bool:
        if not state.w.any() or state.precisions.grid[mode] != grid[mode]:
            return False
        return bool(state.precisions.largest_shares()[mode] < _SWITCHED_OFF_SHARE)

    return [mode for mode in range(len(grid)) if all(is_off(fit.state, mode) for fit in fits)]


class GridRVMBase(KernelModel):
    """Shared by classifier and regressor; they add the task and the predictions."""

    grid_shape: Any
    combine: Any
    basis: Any
    solver: Any
    shape: float
    rate: float
    grid_shape_: tuple[int, ...]

    _takes_grids = True

    def _fit_rows(self, data: FitData) -> None:
        """Learn the precisions of the slices and publish weights, precisions and noise."""
        grid = Grid.of(self.grid_shape, self.basis, data)
        reports, end_reports = begin_reports(self, len(data.targets))
        basis = grid_basis(self.basis, self.gamma, data.X, data.weight)
        settings = RelevanceSettings(
            solver=Variational(grid.shape, self.combine, self.solver, self.shape, self.rate),
            kernels=False,
            fit_intercept=bool(self.fit_intercept),
            max_iter=int(self.max_iter),
            tol=self.tol,
            rank_tol=None,
            max_rank=_MAX_RANK,
            n_jobs=self.n_jobs,
        )
        fitted = fit_outputs(settings, basis, data, reports)
        end_reports()
        built, slices = fitted.built, Slices.of(fitted.outputs, grid.shape)
        note = built.note + self._note(fitted.outputs, grid.shape)
        self.solver_ = settings.solver
        self.grid_shape_, self._sample_shape = grid
        self._publish(fitted.outputs, built.basis, built.centre, note, coef_shape=grid.shape)
        del self._rows  # one number per training row, which no prediction needs
        self.mode_precision_, self.mode_relevance_ = slices
        if not self._task.classifies:
            X, weight, (y,) = data.X, data.weight, data.targets
            self.noise_variance_ = self._noise_variance(X, y, weight, built.basis)

    def _note(self, fits: Sequence[Fit], grid: tuple[int, ...]) -> str:
        """Return a sentence about each mode that the sum has switched off."""
        modes = switched_off(fits, grid) if self.combine == "sum" and len(grid) > 1 else []
        return "".join(
            f" Mode {mode} is switched off: its precisions are negligible beside the others, so "
            "they do not tell its slices apart."
            for mode in modes
        )
