"""The candidates whose kernels are learnt by the evidence: additive kernels, and feature weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from .._protocols import Array, Index
from ..judging.price import AKAIKE_NATS
from ..likelihoods import Binary
from .candidate import Candidate, Fits, FittedCandidate
from .feature_weights import LearntWeights, cross_fitted, learn_feature_weights
from .kernel_candidates import references_at, search_of
from .learnt_kernel import LearntAdditive, learn_additive, relearn
from .rules import FAMILY_RULE
from .score_grid import FIRST_POINT, GridPoint
from .search import HyperparameterSearch

# Orders of additive kernels, in the order in which they are compared.
ORDERS = range(1, 4)


@dataclass(frozen=True)
class LearnAdditive:
    """A part of fits: the additive kernel of an order, learnt from that of one order less."""

    order: int

    def __call__(self, fits: Fits) -> LearntAdditive | None:
        """Learn the kernel."""
        rows, lower = fits.rows, fits.once(LearnAdditive(self.order - 1)) if self.order > 1 else None
        if self.order > 1 and lower is None:
            return None
        settings = fits.settings
        unit = settings.kernel_family("rbf", rows.X, rows.weight).unit
        return learn_additive(rows, unit, self.order, lower, settings.categories)


@dataclass(frozen=True)
class LearnFeatureWeights:
    """A part of fits: the feature weights of a kernel that was fitted with equal weights."""

    base: Candidate

    def __call__(self, fits: Fits) -> LearntWeights | None:
        """Learn the weights."""
        base = self.base.fit(fits, None)
        if base is None or base.search is None:
            return None
        family: Any = base.search.features.family
        if not base.search.widths or not family.radial or (family.unit > 0).sum() < 2:
            return None
        return learn_feature_weights(base.search, base.point)


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
        """Search the precision under the kernel that was learnt, and fit the references."""
        learnt = fits.once(LearnAdditive(self.order))
        if learnt is None or not learnt.columns.size or not self._may_win(learnt, fits):
            return None
        search = search_of(fits, learnt.kernel())
        point = search.coordinate_ascent(FIRST_POINT)

        def without(stay: Index) -> HyperparameterSearch:
            return search_of(fits, relearn(learnt, fits.rows.on(stay)).kernel())

        labels = isinstance(fits.rows.likelihood, Binary)
        optimism = None if labels else partial(learnt.optimism, fits.rows)
        return _judged(self, fits, champion, search, point, without, optimism)

    def _may_win(self, learnt: LearntAdditive, fits: Fits) -> bool:
        """Return whether an order has the highest evidence of all, if its left-out score is costly.

        That of labels learns the kernel again without each part of the rows, so it judges one order.
        Each fitted parameter has Akaike's price.
        """
        if not isinstance(fits.rows.likelihood, Binary):
            return True
        orders = [fits.once(LearnAdditive(order)) for order in ORDERS]
        values = [each.log_evidence - AKAIKE_NATS * each.at.size for each in orders if each is not None]
        return learnt.log_evidence - AKAIKE_NATS * learnt.at.size >= max(values)


@dataclass(frozen=True)
class FeatureWeights:
    """A kernel of the distance between rows, with a weight for each feature in that distance."""

    base: Candidate

    @property
    def name(self) -> str:
        """What the candidate is called in tables and messages."""
        return f"{self.base.name} with feature weights"

    def fit(self, fits: Fits, champion: FittedCandidate | None) -> FittedCandidate | None:
        """Search width and precision under the weights that were learnt, and fit the references."""
        learnt = fits.once(LearnFeatureWeights(self.base))
        if learnt is None:
            return None
        base: Any = self.base.fit(fits, None)
        search: HyperparameterSearch = base.search.with_feature_weights(learnt.theta)
        point = search.coordinate_ascent(base.point)

        def without(stay: Index) -> HyperparameterSearch:
            part = HyperparameterSearch.of(base.search.features, fits.rows.on(stay))
            theta = learn_feature_weights(part, base.point, learnt.theta).theta
            return search.with_feature_weights(theta)

        return _judged(self, fits, champion, search, point, without, learnt.optimism)


def _judged(
    candidate: Candidate,
    fits: Fits,
    champion: FittedCandidate | None,
    search: HyperparameterSearch,
    point: GridPoint,
    without: Callable[[Index], HyperparameterSearch],
    optimism: Callable[[], Array] | None,
) -> FittedCandidate | None:
    """Return a candidate whose kernel was learnt, scored as if each row had not been seen.

    The leave-one-out formula is too optimistic for rows that a kernel was learnt on. If even that does
    not prefer the candidate to the champion, it cannot win. Otherwise its ``optimism`` is subtracted. If
    it is unknown, as it is of labels, the kernel is learnt again without each part of the rows.
    """
    fitted = references_at(fits, search, point)
    size, searched = fitted.built.basis.n_columns, 2 if search.widths else 1
    whole = partial(FittedCandidate.of, candidate, size=size, n_searched=searched)
    if champion is not None:
        gain = whole(fitted).log_density - champion.log_density
        if not FAMILY_RULE.prefers(gain, fits.rows.weight):
            return None
    if optimism is not None:
        return whole(fitted, optimism=optimism(), search=search, point=point)
    fitted = fitted.with_left_out(cross_fitted(fits.rows, without, point))
    return whole(fitted, search=search, point=point)
