"""Candidates of a search: selection rates ascend, and from each of them weight rates descend."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._component import is_name, is_positive, is_rate
from .._protocols import Array, Index
from ..judging.compare import Rule
from ..judging.race import MARGIN_ERRORS, Candidate, score
from ..judging.row_scores import Scoring
from ..judging.trials import Data, FoldResult
from ..model.validation import check_values
from .prepare import PreparedData
from .search import JointFit, SearchSettings, path, relax

# Automatic selection rates with kernels of distances, as parts of the rate that keeps noise out.
_DISTANCE_SELECTION_SHARES = (0.1, 0.2, 0.4, 0.7, 1.0, 1.4)
# The same with inner products, where the squares of these are parts of the rate.
_PRODUCT_SELECTION_SHARES = (0.3, 0.4, 0.55, 0.75, 1.0, 1.3, 1.6)
# Automatic rates of the weights after the selection; None is the selection rate. Few features allow much
# lower rates than many.
_DISTANCE_WEIGHT_RATES = (None, 1.0, 0.3, 0.1)
# The same with inner products, whose scales can grow instead.
_PRODUCT_WEIGHT_RATES = (None, 1.0)
# Error in nats of every comparison of two candidates, beside the standard error: the first fold of a
# small sample may have none of the rows on which they differ (record 033).
MIN_ERROR_NATS = 1.0


class Rates(NamedTuple):
    """Rates of one candidate: of a scale, and of a weight during and after the selection of features."""

    scale: Any
    selection: float
    weight: float


@dataclass(eq=False)
class JCFOCandidate(Candidate):
    """Rates of weights and scales."""

    rates: Rates
    n_steps: int = 0  # from the lowest selection rate and its own weight rate

    @property
    def params(self) -> dict[str, Any]:
        """The rates as parameters of the estimator."""
        scale, selection, weight = self.rates
        selected = selection if selection > weight else None
        return {"scale_rate": scale, "selection_rate": selected, "weight_rate": weight}


def make_grid(search: Any, prepared: PreparedData) -> list[JCFOCandidate]:
    """Return all candidates, along each path in the order in which one starts the next."""
    grid = []
    on_distances = search.kernel == "rbf"
    weight_rates: Sequence[Any] = _DISTANCE_WEIGHT_RATES if on_distances else _PRODUCT_WEIGHT_RATES
    for scale in check_values(search, "scale_rates"):
        if not (is_name(scale, "auto") or is_rate(scale)):
            raise ValueError(
                f"scale_rates must be positive numbers or 'auto' (up to 1e100), got {scale!r}."
            )
        if is_name(search.selection_rates, "auto"):
            shares = _DISTANCE_SELECTION_SHARES if on_distances else _PRODUCT_SELECTION_SHARES
            at_scale = prepared.at_rates(1.0, scale)
            selection_rates = [at_scale.selection_rate(share) for share in shares]
        else:
            selection_rates = sorted(_positive_rates(search, "selection_rates"))
        if not is_name(search.weight_rates, "auto"):
            weight_rates = _positive_rates(search, "weight_rates", none=True)
        for first, selection in enumerate(selection_rates):
            lower = {selection if rate is None else min(float(rate), selection) for rate in weight_rates}
            for step, rate in enumerate(sorted(lower, reverse=True), start=first):
                grid.append(JCFOCandidate(Rates(scale, selection, rate), step))
    return grid


def _positive_rates(search: Any, name: str, none: bool = False) -> list[Any]:
    rates = check_values(search, name)
    if not all(is_positive(rate) or (none and rate is None) for rate in rates):
        other = ", None" if none else ""
        raise ValueError(f"{name} must be positive numbers{other} or 'auto', got {rates!r}.")
    return rates


def fit_candidates(
    model: Any, prepared: PreparedData, candidates: Sequence[JCFOCandidate]
) -> Iterator[tuple[JCFOCandidate, list[JointFit]]]:
    """Yield each candidate that runs with its fits; one that is stopped meanwhile is left out.

    The same features have the same fits. Candidates that do not run are fitted where others need them.
    """
    settings = model._search_settings(prepared)
    for scale in dict.fromkeys(each.rates.scale for each in candidates if each.runs):
        same_scale = [each for each in candidates if each.rates.scale == scale]
        last = max(place for place, each in enumerate(same_scale) if each.runs)
        selection = list(dict.fromkeys(each.rates.selection for each in same_scale[: last + 1]))
        at_scale = prepared.at_rates(1.0, scale)
        paths = [path(problem, settings, selection) for problem in at_scale.problems]
        known: dict[Any, JointFit] = {}
        for rate, selected in zip(selection, zip(*paths, strict=True), strict=True):
            fits = list(selected)
            descending = [each for each in same_scale if each.rates.selection == rate]
            for place, candidate in enumerate(descending):
                if not any(each.runs for each in descending[place:]):
                    break
                if candidate.rates.weight < rate:
                    fits = _relaxed(at_scale, settings, fits, candidate.rates.weight, known)
                if candidate.runs:
                    yield candidate, fits


def _relaxed(
    prepared: PreparedData,
    settings: SearchSettings,
    before: Sequence[JointFit],
    rate: float,
    known: dict[Any, JointFit],
) -> list[JointFit]:
    """Return the fits at a lower weight rate, and store those that are not known yet."""
    fits = []
    for which, (problem, fit) in enumerate(zip(prepared.at_rates(rate).problems, before, strict=True)):
        key = (which, rate, (fit.state.theta > 0).tobytes())
        if key not in known:
            known[key] = relax(problem, settings, fit, prepared.feature_price)
        fits.append(known[key])
    return fits


def try_fold(
    template: Any,
    data: Data,
    scoring: Scoring,
    drops: bool,
    candidates: Sequence[JCFOCandidate],
    fold: tuple[Index, Index],
) -> list[FoldResult | None]:
    """Return the results of the candidates on one fold; screening sees its training rows only."""
    train, test = fold
    held_in, held_out = data.rows(train), data.rows(test)
    model, candidates = clone(template), [replace(each, tried=[]) for each in candidates]
    began = time.perf_counter()
    prepared = model._prepare(model._fit_data(*held_in))
    for candidate, fits in fit_candidates(model, prepared, candidates):
        at_rates = prepared.at_rates(candidate.rates.weight, candidate.rates.scale)
        with warnings.catch_warnings():  # a candidate need not converge to be judged
            warnings.simplefilter("ignore", ConvergenceWarning)
            model._publish_fits(at_rates, fits)
        fitted = time.perf_counter()
        scores = scoring.score(model, *held_out)
        now = time.perf_counter()
        n_features = int(model.get_support().sum())
        candidate.tried.append(FoldResult(scores, n_features, fitted - began, now - fitted))
        if drops:
            stop_lower_rates(candidate, candidates, scoring.factors)
        began = now
    return [each.tried[0] if each.tried else None for each in candidates]


def stop_lower_rates(
    candidate: JCFOCandidate, candidates: Sequence[JCFOCandidate], factors: Array
) -> None:
    """Stop the lower weight rates where one has made the left-out rows clearly less probable.

    Lower rates overfit more, and take the longest.
    """
    descending = [each for each in candidates if each.rates[:2] == candidate.rates[:2]]
    place = descending.index(candidate)
    if not (place and descending[place - 1].tried):
        return
    before, now = (score(each, factors).log_density for each in (descending[place - 1], candidate))
    weight = candidate.tried[0].scores.weight
    if Rule(errors=MARGIN_ERRORS).prefers(before - now, weight, MIN_ERROR_NATS):
        for lower in descending[place + 1 :]:
            lower.runs = False
