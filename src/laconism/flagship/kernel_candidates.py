"""The candidates with kernels of one width: a first kernel, and other families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..judging.ablate import is_on
from ..likelihoods import Student
from .candidate import Candidate, Fits, FittedCandidate
from .kernel_family import KernelFamily, ReferenceFeatures
from .references import FittedReferences, fit_references
from .score_grid import FIRST_POINT, RESTART_WIDTHS, GridPoint
from .search import MODE_TOLERANCE_NATS, HyperparameterSearch

if TYPE_CHECKING:
    from .._protocols import Array
    from .partitioned import AllRows


@dataclass(frozen=True, eq=False)
class Kernel:
    """The first kernel, of one width for all features. Kernel objects have no hash, so it is its own."""

    kernel: Any

    @property
    def name(self) -> str:
        """What the candidate is called in tables and messages."""
        return f"{self.kernel} kernel" if isinstance(self.kernel, str) else "the given kernel"

    def fit(self, fits: Fits, champion: FittedCandidate | None) -> FittedCandidate:
        """Search width and precision, and fit the references."""
        return fits.once(fit_first_kernel)


@dataclass(frozen=True)
class OtherFamily:
    """Another kernel family in place of the first kernel's, from the same width and precision."""

    name: str
    change: Callable[[Any, Any, Array], KernelFamily | None]

    def fit(self, fits: Fits, champion: FittedCandidate | None) -> FittedCandidate | None:
        """Search width and precision, and fit the references."""
        return fits.once(self._fit_once)

    def _fit_once(self, fits: Fits) -> FittedCandidate | None:
        first = fits.once(fit_first_kernel)
        choice = first.fitted.choice
        other = self.change(choice.features.family, fits.rows.X, fits.rows.weight)
        if other is None:
            return None
        features = replace(choice.features, family=other)
        search = replace(HyperparameterSearch.of(features, fits.rows), start=choice.latents)
        return _fit_kernel(self, fits, search, first.point)


SQUASHED = OtherFamily("squashed features", KernelFamily.squashed)
MATERN = OtherFamily("matern kernel", lambda family, X, weight: family.matern())


def fit_first_kernel(fits: Fits) -> FittedCandidate:
    """Return the first kernel, which other kernels start from."""
    kernel = fits.settings.first_kernel
    restarts = RESTART_WIDTHS if is_on("restart_widths") else ()
    return _fit_kernel(Kernel(kernel), fits, search_of(fits, kernel), FIRST_POINT, restarts)


def _fit_kernel(
    candidate: Candidate,
    fits: Fits,
    search: HyperparameterSearch,
    start: GridPoint,
    restarts: Sequence[int] = (),
) -> FittedCandidate:
    """Search width and precision, and fit the references."""
    point = search.coordinate_ascent(start, restarts)
    fitted = references_at(fits, search, point)
    size = fitted.built.basis.n_columns
    searched = 2 if search.widths else 1  # width and precision
    return FittedCandidate.of(candidate, fitted, size, searched, search=search, point=point)


def references_at(fits: Fits, search: HyperparameterSearch, point: GridPoint) -> FittedReferences:
    """Return the references at a point of a search."""
    choice, settings = search.choice(point), fits.settings
    return fit_references(choice, fits.rows, max_rank=settings.max_rank, n_jobs=settings.n_jobs)


def search_of(fits: Fits, kernel: Any) -> HyperparameterSearch:
    """Return the search of the precision under a kernel, and of its width if that is not given."""
    rows, settings = fits.rows, fits.settings
    family = settings.kernel_family(kernel, rows.X, rows.weight)
    max_rank = min(settings.max_rank, rows.max_searched)
    return HyperparameterSearch.of(ReferenceFeatures(family, max_rank), rows)


def fit_on_all_rows(
    winner: FittedCandidate, fits: Fits, everything: AllRows | None = None
) -> FittedCandidate:
    """Return the winner among candidates on some rows, fitted to all rows.

    Its hyper-parameters are refined on more rows: the more rows, the narrower the best kernel.
    ``everything`` has all rows in partitions, if those of ``fits`` are a sample.
    """
    rows = replace(fits.rows, likelihood=winner.fitted.rows.likelihood)
    choice, more = winner.fitted.choice, rows.refined()
    if more is not None and winner.search is not None:
        search = HyperparameterSearch.of(choice.features, more).with_feature_weights(choice.theta)
        choice = search.choice(search.refine(winner.point))
    choice = choice._replace(latents=[None] * len(rows.targets))
    settings = fits.settings
    if everything is None:
        # Noise with heavy tails has no formula for the mode, and each step of its search sums over rows.
        gain = MODE_TOLERANCE_NATS if isinstance(rows.likelihood, Student) else None
        fitted = fit_references(
            choice, rows, max_rank=settings.max_rank, n_jobs=settings.n_jobs, gain=gain
        )
    else:
        fitted = everything.fit(choice, replace(fits, rows=rows))
    return FittedCandidate.of(winner.candidate, fitted, fitted.built.basis.n_columns)
