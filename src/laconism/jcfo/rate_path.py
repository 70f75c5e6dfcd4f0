"""Fits of the candidates of a search for rates, each started from the one before it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._protocols import Array, Index
from ..judging.compare import Rule
from ..judging.race import MARGIN_ERRORS, score
from ..judging.row_scores import Scoring
from ..judging.trials import Data, FoldResult
from .prepare import PreparedData
from .problem import JointFit
from .rate_grid import JCFOCandidate
from .search import SearchSettings, path, relax

# Error in nats of every comparison of two candidates, beside the standard error: the first fold of a
# small sample may have none of the rows on which they differ (record 033).
MIN_ERROR_NATS = 1.0


def fit_candidates(
    model: Any, prepared: PreparedData, candidates: Sequence[JCFOCandidate]
) -> Iterator[tuple[JCFOCandidate, list[JointFit]]]:
    """Yield each candidate that runs with its fits; one that is stopped meanwhile is left out.

    Selection rates ascend, each solution the start of the next. From each of them the weight rates
    descend: at a lower one the features of the one before are exchanged. Neighbours often keep the same
    features, and then have the same fits, which are computed once. Candidates that do not run are fitted
    only where others start from them.
    """
    settings, default = model._search_settings(prepared), prepared.problems[0].scale_rate
    for scale in dict.fromkeys(each.rates.scale for each in candidates if each.runs):
        same_scale = [each for each in candidates if each.rates.scale == scale]
        last = max(place for place, each in enumerate(same_scale) if each.runs)
        selection = list(dict.fromkeys(each.rates.selection for each in same_scale[: last + 1]))
        at_scale = prepared.at_rates(1.0, same_scale[0].rates.scale_rate(default))
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
    problems = prepared.at_rates(rate, prepared.problems[0].scale_rate).problems
    for which, (problem, fit) in enumerate(zip(problems, before, strict=True)):
        key = (which, rate, (fit.state.theta > 0).tobytes())
        if key not in known:
            known[key] = relax(problem, settings, None, fit, prepared.feature_price)
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
    default = prepared.problems[0].scale_rate
    for candidate, fits in fit_candidates(model, prepared, candidates):
        rates = candidate.rates
        at_rates = prepared.at_rates(rates.weight, rates.scale_rate(default))
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
