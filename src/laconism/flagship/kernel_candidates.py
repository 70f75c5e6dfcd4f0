"""The candidates with kernels: a first kernel, other families, and feature weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..judging.ablate import is_on
from ..likelihoods import Binary
from .candidate import Candidate, Fits, FittedCandidate
from .feature_weights import cross_fit, with_feature_weights
from .kernel_family import KernelFamily, ReferenceFeatures
from .references import FittedReferences, fit_references
from .rules import FAMILY_RULE
from .score_grid import FIRST_POINT, RESTART_WIDTHS, GridPoint
from .search import HyperparameterSearch

if TYPE_CHECKING:
    from .._protocols import Array
    from .partitioned import AllRows


@dataclass(frozen=True)
class Kernel:
    """The first kernel, of one width for all features."""

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


@dataclass(frozen=True)
class FeatureWeights:
    """The best kernel so far, with a weight for each feature in the distance between rows."""

    name: str = "feature weights"

    def fit(self, fits: Fits, champion: FittedCandidate | None) -> FittedCandidate | None:
        """Learn weights, width and precision, and fit the references.

        The leave-one-out formula is too optimistic for rows that were used to learn the weights. If even
        that does not prefer them, they cannot win.
        """
        base = champion
        if base is None or base.search is None:
            base = fits.once(fit_first_kernel)
        assert base.search is not None
        family: Any = base.search.features.family
        if not base.search.widths or not family.radial or (family.unit > 0).sum() < 2:
            return None
        search, point = with_feature_weights(base.search, base.point)
        fitted = _references(fits, search, point)
        size = fitted.built.basis.n_columns
        optimistic = FittedCandidate.of(self, fitted, size, n_hyperparameters=2)
        if champion is not None:
            gain = optimistic.log_density - champion.log_density
            if not FAMILY_RULE.prefers(gain, fits.rows.weight):
                return None
        fitted = fitted.with_left_out(cross_fit(base.search, base.point, point))
        return FittedCandidate.of(self, fitted, size, 2, search=search, point=point)


def kernel_candidates(fits: Fits) -> list[Candidate]:
    """Return the kernels: the first one, other families, and feature weights."""
    settings, (n, p) = fits.settings, fits.rows.X.shape
    found: list[Candidate] = [Kernel(settings.first_kernel)]
    if isinstance(fits.rows.likelihood, Binary):
        found += [SQUASHED] if p <= n and is_on("squashed") else []
    elif settings.any_kernel and n <= settings.max_rank:  # Matern kernel matrices have full rank
        found += [MATERN] if is_on("matern") else []
    if settings.weigh_features and p <= n and is_on("feature_weights"):
        found.append(FeatureWeights())
    return found


def fit_first_kernel(fits: Fits) -> FittedCandidate:
    """Return the first kernel, which other kernels start from."""
    kernel, rows, settings = fits.settings.first_kernel, fits.rows, fits.settings
    family = settings.kernel_family(kernel, rows.X, rows.weight)
    search = HyperparameterSearch.of(ReferenceFeatures(family, settings.max_rank), rows)
    restarts = RESTART_WIDTHS if is_on("restart_widths") else ()
    return _fit_kernel(Kernel(kernel), fits, search, FIRST_POINT, restarts)


def _fit_kernel(
    candidate: Candidate,
    fits: Fits,
    search: HyperparameterSearch,
    start: GridPoint,
    restarts: Sequence[int] = (),
) -> FittedCandidate:
    """Search width and precision, and fit the references."""
    point = search.coordinate_ascent(start, restarts)
    fitted = _references(fits, search, point)
    size = fitted.built.basis.n_columns
    searched = 2 if search.widths else 1  # width and precision
    return FittedCandidate.of(candidate, fitted, size, searched, search=search, point=point)


def _references(fits: Fits, search: HyperparameterSearch, point: GridPoint) -> FittedReferences:
    """Return the references at a point of a search."""
    choice, settings = search.choice(point), fits.settings
    return fit_references(choice, fits.rows, max_rank=settings.max_rank, n_jobs=settings.n_jobs)


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
        fitted = fit_references(choice, rows, max_rank=settings.max_rank, n_jobs=settings.n_jobs)
    else:
        fitted = everything.fit(choice, replace(fits, rows=rows))
    return FittedCandidate.of(winner.candidate, fitted, fitted.built.basis.n_columns)
