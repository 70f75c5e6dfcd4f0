"""The candidates with kernels: a first kernel, other families, and feature weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._protocols import Index
from ..judging.ablate import is_on
from ..judging.price import AKAIKE_NATS
from ..judging.rows import canonical_columns
from ..likelihoods import Binary
from ..linalg import as_dense
from .candidate import Candidate, Fits, FittedCandidate
from .evidence import evidence_of
from .feature_weights import cross_fitted, learn_feature_weights, slope_feature_weights
from .kernel_family import KernelFamily, ReferenceFeatures
from .learnt_kernel import LearntAdditive, learn_additive
from .references import FittedReferences, fit_references
from .rules import FAMILY_RULE
from .score_grid import FIRST_POINT, RESTART_WIDTHS, GridPoint
from .search import HyperparameterSearch

if TYPE_CHECKING:
    from .._protocols import Array
    from .partitioned import AllRows

# Orders of additive kernels, in the order in which they are compared.
ADDITIVE_ORDERS = (1, 2, 3)


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
class AdditiveKernel:
    """Sums over sets of up to ``order`` features of products of one-dimensional kernels.

    Weights and widths of the features maximise the evidence.
    """

    order: int

    @property
    def name(self) -> str:
        """What the candidate is called in tables and messages."""
        return f"additive kernel of order {self.order}"

    def fit(self, fits: Fits, champion: FittedCandidate | None) -> FittedCandidate | None:
        """Learn the kernel, search the precision, and fit the references.

        An order is skipped if the evidence of one less is as large.
        """
        learnt = fits.once(LearnAdditive(self.order))
        if learnt is None:
            return None
        lower = fits.once(LearnAdditive(self.order - 1)) if self.order > 1 else None
        if lower is not None and learnt.log_probability <= lower.log_probability + AKAIKE_NATS:
            return None
        search = _search_of(fits, learnt.kernel())
        point = search.coordinate_ascent(FIRST_POINT)

        def without(stay: Index) -> HyperparameterSearch:
            again = learn_additive(
                fits.rows.on(stay), learnt.columns, learnt.unit, self.order, learnt.at
            )
            assert again is not None
            return _search_of(fits, again.kernel())

        return _judged(self, fits, champion, search, point, without)


@dataclass(frozen=True)
class LearnAdditive:
    """A part of fits: the additive kernel of an order, learnt from that of one order less."""

    order: int

    def __call__(self, fits: Fits) -> LearntAdditive | None:
        """Learn the kernel."""
        rows = fits.rows
        unit = fits.settings.kernel_family("rbf", rows.X, rows.weight).unit
        columns = canonical_columns(as_dense(rows.X), np.flatnonzero(unit > 0))
        lower = fits.once(LearnAdditive(self.order - 1)) if self.order > 1 else None
        return learn_additive(rows, columns, unit, self.order, None if lower is None else lower.at)


@dataclass(frozen=True)
class FeatureWeights:
    """A kernel of the distance between rows, with a weight for each feature in that distance."""

    base: Candidate
    name: str

    def fit(self, fits: Fits, champion: FittedCandidate | None) -> FittedCandidate | None:
        """Learn weights, width and precision, and fit the references.

        The weights start from the slopes of the kernel with equal weights, and from the widths of the
        additive kernels.
        """
        base = fits.once(FitBase(self.base))
        if base is None or base.search is None:
            return None
        family: Any = base.search.features.family
        if not base.search.widths or not family.radial or (family.unit > 0).sum() < 2:
            return None
        starts = [slope_feature_weights(base.search, base.point)]
        learnt = fits.once(LearnAdditive(ADDITIVE_ORDERS[-1])) if fits.settings.any_kernel else None
        if learnt is not None:
            starts.append(learnt.feature_weights())
        theta = learn_feature_weights(base.search, base.point, starts)
        search = base.search.with_feature_weights(theta)
        point = search.coordinate_ascent(base.point)

        def without(stay: Index) -> HyperparameterSearch:
            part = HyperparameterSearch.of(base.search.features, fits.rows.on(stay))
            if evidence_of(fits.rows) is None:
                return search.with_feature_weights(slope_feature_weights(part, base.point))
            return search.with_feature_weights(learn_feature_weights(part, base.point, [theta]))

        return _judged(self, fits, champion, search, point, without)


@dataclass(frozen=True)
class FitBase:
    """A part of fits: a candidate that another one starts from."""

    candidate: Candidate

    def __call__(self, fits: Fits) -> FittedCandidate | None:
        """Fit the candidate."""
        return self.candidate.fit(fits, None)


def _judged(
    candidate: Candidate,
    fits: Fits,
    champion: FittedCandidate | None,
    search: HyperparameterSearch,
    point: GridPoint,
    without: Callable[[Index], HyperparameterSearch],
) -> FittedCandidate | None:
    """Return a candidate whose kernel was learnt, scored on rows that it was not learnt on.

    The leave-one-out formula is too optimistic for rows that it was learnt on. If even that does not
    prefer the candidate to the champion, it cannot win.
    """
    fitted = _references(fits, search, point)
    size, searched = fitted.built.basis.n_columns, 2 if search.widths else 1
    if champion is not None:
        optimistic = FittedCandidate.of(candidate, fitted, size, searched)
        gain = optimistic.log_density - champion.log_density
        if not FAMILY_RULE.prefers(gain, fits.rows.weight):
            return None
    fitted = fitted.with_left_out(cross_fitted(fits.rows, without, point))
    return FittedCandidate.of(candidate, fitted, size, searched, search=search, point=point)


def _search_of(fits: Fits, kernel: Any) -> HyperparameterSearch:
    """Return the search of the precision under a kernel."""
    rows, settings = fits.rows, fits.settings
    family = settings.kernel_family(kernel, rows.X, rows.weight)
    return HyperparameterSearch.of(ReferenceFeatures(family, settings.max_rank), rows)


def kernel_candidates(fits: Fits) -> list[Candidate]:
    """Return the kernels: the first one, other families, additive kernels and feature weights."""
    settings, (n, p) = fits.settings, fits.rows.X.shape
    first = Kernel(settings.first_kernel)
    found: list[Candidate] = [first]
    if isinstance(fits.rows.likelihood, Binary):
        found += [SQUASHED] if p <= n and is_on("squashed") else []
    elif settings.any_kernel and n <= settings.max_rank:  # Matern kernel matrices have full rank
        found += [MATERN] if is_on("matern") else []
    if not settings.weigh_features or p > n:
        return found
    weighed: list[Candidate] = [
        FeatureWeights(each, f"{each.name} with feature weights") for each in found
    ]
    if settings.any_kernel and is_on("additive"):
        found += [AdditiveKernel(order) for order in ADDITIVE_ORDERS]
    return [*found, *weighed] if is_on("feature_weights") else found


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
