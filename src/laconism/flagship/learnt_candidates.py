"""The candidates whose kernels are learnt by the evidence: additive kernels, and feature weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from .._protocols import Index
from ..judging.price import AKAIKE_NATS
from .candidate import Candidate, Fits, FittedCandidate
from .feature_weights import LearntWeights, cross_fitted, learn_feature_weights
from .kernel_candidates import references_at, search_of
from .learnt_kernel import LearntAdditive, learn_additive, relearn
from .rules import FAMILY_RULE
from .score_grid import FIRST_POINT, GridPoint
from .search import HyperparameterSearch

# Orders of additive kernels, in the order in which they are compared.
ORDERS = range(1, 4)


class Learnt(Protocol):
    """A kernel that was learnt."""

    @property
    def log_evidence(self) -> float | None:
        """The log evidence at its parameters; None if there is no formula."""

    @property
    def n_parameters(self) -> int:
        """The number of parameters that were fitted."""


# A part of fits that learns a kernel. It returns None if there is none.
Learn: TypeAlias = Callable[[Fits], Learnt | None]


@dataclass(frozen=True)
class LearnAdditive:
    """A part of fits: the additive kernel of an order, learnt from that of one order less."""

    order: int

    def __call__(self, fits: Fits) -> LearntAdditive | None:
        """Learn the kernel."""
        rows, lower = fits.rows, fits.once(LearnAdditive(self.order - 1)) if self.order > 1 else None
        if self.order > 1 and lower is None:
            return None
        unit = fits.settings.kernel_family("rbf", rows.X, rows.weight).unit
        return learn_additive(rows, unit, self.order, lower)


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
    rivals: Sequence[Learn] = ()

    @property
    def name(self) -> str:
        """What the candidate is called in tables and messages."""
        return f"additive kernel of order {self.order}"

    def fit(self, fits: Fits, champion: FittedCandidate | None) -> FittedCandidate | None:
        """Search the precision under the kernel that was learnt, and fit the references."""
        learnt = fits.once(LearnAdditive(self.order))
        if learnt is None or not learnt.columns.size or not _may_win(learnt, self.rivals, fits):
            return None
        search = search_of(fits, learnt.kernel())
        point = search.coordinate_ascent(FIRST_POINT)

        def without(stay: Index) -> HyperparameterSearch:
            return search_of(fits, relearn(learnt, fits.rows.on(stay)).kernel())

        return _judged(self, fits, champion, search, point, without)


@dataclass(frozen=True)
class FeatureWeights:
    """A kernel of the distance between rows, with a weight for each feature in that distance."""

    base: Candidate
    rivals: Sequence[Learn] = ()

    @property
    def name(self) -> str:
        """What the candidate is called in tables and messages."""
        return f"{self.base.name} with feature weights"

    def fit(self, fits: Fits, champion: FittedCandidate | None) -> FittedCandidate | None:
        """Search width and precision under the weights that were learnt, and fit the references."""
        learnt = fits.once(LearnFeatureWeights(self.base))
        if learnt is None or not _may_win(learnt, self.rivals, fits):
            return None
        base: Any = self.base.fit(fits, None)
        search: HyperparameterSearch = base.search.with_feature_weights(learnt.theta)
        point = search.coordinate_ascent(base.point)

        def without(stay: Index) -> HyperparameterSearch:
            part = HyperparameterSearch.of(base.search.features, fits.rows.on(stay))
            theta = learn_feature_weights(part, base.point, learnt.theta).theta
            return search.with_feature_weights(theta)

        return _judged(self, fits, champion, search, point, without)


def _may_win(learnt: Learnt, rivals: Sequence[Learn], fits: Fits) -> bool:
    """Return whether a kernel has the highest evidence of those that were learnt.

    The score on left-out rows costs far more than learning, so it judges one of them. Each fitted
    parameter has Akaike's price.
    """
    if learnt.log_evidence is None:
        return True
    best, most = learnt, -math.inf
    for each in map(fits.once, rivals):
        if each is not None and each.log_evidence is not None:
            value = each.log_evidence - AKAIKE_NATS * each.n_parameters
            if value > most:
                best, most = each, value
    return best is learnt


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
