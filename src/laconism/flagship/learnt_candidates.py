"""The candidates whose kernels are learnt by the evidence: additive kernels, and feature weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._protocols import Index
from ..judging.price import AKAIKE_NATS
from ..likelihoods import Binary
from .candidate import Candidate, Fits, FittedCandidate
from .feature_weights import cross_fitted, learn_feature_weights, slope_feature_weights
from .kernel_candidates import references_at, search_of
from .learnt_kernel import LearntAdditive, learn_additive, relearn
from .rules import FAMILY_RULE
from .score_grid import FIRST_POINT, GridPoint
from .search import HyperparameterSearch

# Orders of additive kernels, in the order in which they are compared.
ORDERS = range(1, 4)


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
        search = search_of(fits, learnt.kernel())
        point = search.coordinate_ascent(FIRST_POINT)

        def without(stay: Index) -> HyperparameterSearch:
            return search_of(fits, relearn(learnt, fits.rows.on(stay)).kernel())

        return _judged(self, fits, champion, search, point, without)


@dataclass(frozen=True)
class LearnAdditive:
    """A part of fits: the additive kernel of an order, learnt from that of one order less."""

    order: int

    def __call__(self, fits: Fits) -> LearntAdditive | None:
        """Learn the kernel."""
        rows, lower = fits.rows, fits.once(LearnAdditive(self.order - 1)) if self.order > 1 else None
        unit = fits.settings.kernel_family("rbf", rows.X, rows.weight).unit
        return learn_additive(rows, unit, self.order, lower)


@dataclass(frozen=True)
class FeatureWeights:
    """A kernel of the distance between rows, with a weight for each feature in that distance."""

    base: Candidate

    @property
    def name(self) -> str:
        """What the candidate is called in tables and messages."""
        return f"{self.base.name} with feature weights"

    def fit(self, fits: Fits, champion: FittedCandidate | None) -> FittedCandidate | None:
        """Learn weights, width and precision, and fit the references.

        The weights start from the slopes of the kernel with equal weights and, of values, from the
        widths of the additive kernels.
        """
        base = self.base.fit(fits, None)
        if base is None or base.search is None:
            return None
        equal, at = base.search, base.point
        family: Any = equal.features.family
        if not equal.widths or not family.radial or (family.unit > 0).sum() < 2:
            return None
        starts = [slope_feature_weights(equal, at)]
        several = fits.settings.any_kernel and not isinstance(fits.rows.likelihood, Binary)
        learnt = fits.once(LearnAdditive(ORDERS[-1])) if several else None
        if learnt is not None:
            starts.append(learnt.feature_weights())
        theta = learn_feature_weights(equal, at, starts)
        search = equal.with_feature_weights(theta)
        point = search.coordinate_ascent(at)

        def without(stay: Index) -> HyperparameterSearch:
            part = HyperparameterSearch.of(equal.features, fits.rows.on(stay))
            return search.with_feature_weights(learn_feature_weights(part, at, [theta]))

        return _judged(self, fits, champion, search, point, without)


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
    fitted = references_at(fits, search, point)
    size, searched = fitted.built.basis.n_columns, 2 if search.widths else 1
    if champion is not None:
        optimistic = FittedCandidate.of(candidate, fitted, size, searched)
        gain = optimistic.log_density - champion.log_density
        if not FAMILY_RULE.prefers(gain, fits.rows.weight):
            return None
    fitted = fitted.with_left_out(cross_fitted(fits.rows, without, point))
    return FittedCandidate.of(candidate, fitted, size, searched, search=search, point=point)
