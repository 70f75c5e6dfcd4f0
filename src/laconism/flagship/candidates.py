"""A candidate of the flagship: a kernel family, or the features themselves, fitted and projected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from ..design import Built
from ..linalg import as_dense
from ..model.tasks import FitData
from .build_path import PathBuilder
from .choice import Choice
from .hyperparameters import choose
from .paths import PathScore, build_paths
from .references import fit_references
from .settings import Settings
from .tasks import ProjectionTask


@dataclass(frozen=True)
class FittedCandidate:
    """The paths of all outputs, with the hyper-parameters and columns behind them."""

    kernel: Any  # as given by the user; None for the features themselves
    choice: Choice
    built: Built
    paths: list[Any]  # a Path for each group of outputs that share their columns
    tolerance: float
    price: float

    def with_note(self, note: str) -> Self:
        """Return the candidate with a sentence added to its status."""
        return replace(self, built=self.built._replace(note=self.built.note + note))

    @property
    def references(self) -> list[Any]:
        """The references of all outputs."""
        return [reference for path in self.paths for reference in path.references]


def fit_candidate(
    kernel: Any,
    data: FitData,
    settings: Settings,
    task: ProjectionTask,
    sparse_fits: Sequence[Any],
    *,
    leave_whole_rows: bool,
) -> FittedCandidate:
    """Choose hyper-parameters, fit references, and project them.

    Parameters
    ----------
    kernel : None, str, Kernel or callable
        As given by the user; ``None`` for the features themselves.
    data : FitData
        Distinct rows.
    settings : Settings
    task : ProjectionTask
    sparse_fits : sequence of callables
        The fits under sparse priors, which are candidates on wide data.
    leave_whole_rows : bool
        Whether a row with a weight above one is left out as a whole.
    """
    intercept, weight, targets = settings.fit_intercept, data.weight, data.targets
    tolerance, price = settings.tolerance_and_price(kernel)
    X = data.X if kernel is not None else as_dense(data.X)
    choice = choose(
        settings.reference_features(kernel, X, weight),
        data._replace(X=X),
        intercept=intercept,
        weigh=settings.weigh_features,
        leave_whole_rows=leave_whole_rows,
        any_kernel=settings.any_kernel,
    )
    fitted = fit_references(
        choice,
        data,
        X,
        intercept=intercept,
        max_rank=settings.max_rank,
        leave_whole_rows=leave_whole_rows,
        n_jobs=settings.n_jobs,
    )
    pairs = zip(fitted.references, fitted.problems, strict=True)
    fitted = replace(fitted, references=[task.calibrate(*pair) for pair in pairs])
    coupling = task.couple(fitted.references, targets, weight)
    builder = PathBuilder(task, settings.max_columns, tolerance, coupling, intercept)
    paths = build_paths(builder, fitted, sparse_fits, settings.n_jobs)
    score = PathScore(task, targets, weight, tolerance, price)
    best = score.best_prior(paths, any_size=settings.tolerance is None)
    return FittedCandidate(kernel, choice, fitted.built, best, tolerance, price)
