"""The fit of a flagship, from validated rows to the winner that is published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from .._protocols import Index, Likelihood
from ..model.tasks import FitData
from .candidates import FittedCandidate, fit_candidate
from .heavy_tails import try_heavy_tails
from .paths import PathScore
from .rows import merged
from .rules import KERNEL_OR_FEATURES
from .settings import Settings
from .sparse_reference import SparseFit
from .tasks import LabelProjection, ProjectionTask, projection_task


@dataclass(frozen=True)
class Published:
    """The result of a fit, for the estimator to publish."""

    winner: FittedCandidate
    coupling: float  # of several classes
    rows: Index  # the rows that remain when duplicates are merged


def fit_laconic(
    settings: Settings, data: FitData, sparse_fits: Callable[..., Sequence[SparseFit]]
) -> Published:
    """Merge duplicates, fit every candidate, and select one by its left-out log density.

    Parameters
    ----------
    settings : Settings
    data : FitData
        Validated rows.
    sparse_fits : callable
        Returns the fits under sparse priors, for labels or for values.
    """
    data, rows, leave_whole_rows = merged(data)
    task = projection_task(data)
    weight = task.row_weights(data.weight, leave_whole_rows=leave_whole_rows)
    data = data._replace(weight=weight)
    sparse = sparse_fits(labels=isinstance(task, LabelProjection))

    def best_under(noise: Likelihood) -> FittedCandidate:
        under = data._replace(likelihood=noise)
        candidates = [
            fit_candidate(kernel, under, settings, task, sparse, leave_whole_rows=leave_whole_rows)
            for kernel in settings.kernels(*data.X.shape)
        ]
        return _best(candidates, under, task)

    winner = best_under(data.likelihood)
    winner = try_heavy_tails(winner, best_under, data, task, any_noise=settings.any_noise)
    coupling = task.couple(winner.references, data.targets, weight)
    return Published(winner, coupling, rows)


def _best(candidates: Sequence[FittedCandidate], data: FitData, task: ProjectionTask) -> FittedCandidate:
    """Return the first candidate, unless a later one predicts left-out rows clearly better."""
    champion, *challengers = candidates
    score = partial(PathScore, task, data.targets, data.weight)
    for challenger in challengers:
        before, after = (
            score(each.tolerance, each.price).log_density(each.paths) for each in (champion, challenger)
        )
        if KERNEL_OR_FEATURES.prefers(after - before, data.weight):
            champion = challenger
    return champion
