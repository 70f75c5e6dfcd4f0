"""The fit of a relevance vector machine on a grid of weights, from validated rows to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from .._protocols import Array
from ..model.kernel_model import KernelModel
from ..model.output import Fit
from ..model.tasks import FitData
from .fit import fit_outputs
from .grid import Grid, grid_basis
from .variational import Variational

# Share of every summed precision below which a mode's own precisions do not matter.
_SWITCHED_OFF_SHARE = 0.01


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


@dataclass(eq=False, repr=False)
class GridRVMBase(KernelModel):
    """Shared by classifier and regressor; they add the task, the likelihood and the predictions."""

    grid_shape: Any = None
    _: KW_ONLY
    combine: Any = "product"
    basis: Any = None
    gamma: Any = "scale"
    solver: Any = "fast"
    fit_intercept: bool = True
    shape: float = 1e-12
    rate: float = 1e-12
    max_iter: int = 1000
    tol: float = 1e-6
    n_jobs: int | None = None
    callbacks: Any = None

    _takes_grids = True

    def _fit_rows(self, data: FitData) -> None:
        """Learn the precisions of the slices and publish weights, precisions and noise."""
        grid = Grid.of(self.grid_shape, self.basis, data)
        basis = grid_basis(self.basis, self.gamma, data.X, data.weight)
        solver = Variational(grid.shape, self.combine, self.solver, self.shape, self.rate)
        built, fits = fit_outputs(self, solver, basis, data, kernels=False)
        slices, note = Slices.of(fits, grid.shape), built.note + self._note(fits, grid.shape)
        self.solver_ = solver
        self.grid_shape_, self._sample_shape = grid
        self._publish(fits, built.basis, built.centre, note, coef_shape=grid.shape)
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
