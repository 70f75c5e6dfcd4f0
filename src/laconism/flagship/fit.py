"""The fit of a flagship, from validated rows to the paths that are published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..judging.ablate import is_on
from ..judging.compare import choose
from .candidate import Fits
from .candidates import candidates_for
from .free_centres import build_all_paths
from .heavy_tails import has_heavy_tails
from .kernel_candidates import fit_on_all_rows
from .rows import TrainingRows
from .rules import FAMILY_RULE, KERNEL_PRICE_NATS_PER_ROW, TOLERANCE_NATS_PER_ROW
from .tasks import projection_task

if TYPE_CHECKING:
    from .._protocols import Index
    from ..judging.compare import Trial
    from ..model.tasks import FitData
    from .candidate import FittedCandidate
    from .partitioned import AllRows
    from .path import Path
    from .settings import Settings
    from .sparse_features import SparseFit

_TRY_STUDENT = " A few targets have much larger errors than the others: try likelihood='student'."


@dataclass(frozen=True)
class Published:
    """The result of a fit, for the estimator to publish."""

    winner: FittedCandidate
    trials: list[Trial]
    paths: list[Path]
    tolerance: float  # nats per row
    price: float  # of a kernel within the tolerance, nats per row
    coupling: float  # of several classes
    kept: Index  # the rows that remain when duplicates are merged
    note: str  # for status_


def fit_laconic(
    settings: Settings,
    data: FitData,
    sparse_fit: SparseFit,
    everything: AllRows | None = None,
) -> Published:
    """Merge duplicates, choose a candidate by its left-out log density, and project its references.

    ``sparse_fit`` fits a problem under a sparse prior. If ``data`` is a sample, ``everything`` has all
    rows, in partitions.
    """
    rows, kept = TrainingRows.of(data, projection_task(data), intercept=settings.fit_intercept)
    fits = Fits(rows.searched(), settings, sparse_fit)
    winner, trials = choose(
        candidates_for(fits),
        lambda candidate, champion: candidate.fit(fits, champion),
        FAMILY_RULE,
        fits.rows.weight,
    )
    note = _TRY_STUDENT if not settings.any_noise and has_heavy_tails(winner) else ""
    if fits.rows is not rows or everything is not None:
        winner = fit_on_all_rows(winner, Fits(rows, settings, sparse_fit), everything)
    references = winner.fitted.references
    coupling = rows.task.couple(references, rows.targets, rows.weight)
    tolerance = settings.tolerance or TOLERANCE_NATS_PER_ROW
    kernels = settings.tolerance is None and not winner.fitted.on_features and is_on("kernel_price")
    price = KERNEL_PRICE_NATS_PER_ROW if kernels else 0.0
    winner, paths, stay = build_all_paths(winner, coupling, tolerance, price, settings)
    note += stay
    return Published(winner, trials, paths, tolerance, price, coupling, kept, note)
