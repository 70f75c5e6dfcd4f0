"""Rates of a joint model by cross-validation: warm ascending paths, and the fewest features as good."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin

from .._component import is_name, is_positive, is_rate
from .._protocols import Array, Index
from ..judging.calibrate import best_variance_factor
from ..judging.folds import draw_folds
from ..judging.race import BEHIND_LEADER, Candidate, Race
from ..judging.row_scores import Scoring
from ..judging.trials import Data, Trial, Tried
from ..model.callbacks import check_callbacks
from ..model.search import CVSearch, Winner, choose
from ..model.threads import one_blas_thread
from ..model.validation import check_values
from ..solvers import Record
from .base import Asked
from .search import JointFit, Settings, follow, no_callback, relax

# Parts of the rate that leaves out what noise alone would bring, at which features are selected: of
# kernels of distances, and of inner products, of whose rate they are roots.
_DISTANCES = (0.1, 0.2, 0.4, 0.7, 1.0, 1.4)
_PRODUCTS = (0.3, 0.4, 0.55, 0.75, 1.0, 1.3, 1.6)
# Rates of the weights of the features that were selected; None is that of the selection. Few features
# may bear much lower rates than many. Inner products let their scales grow instead.
_AFTER_DISTANCES = (None, 1.0, 0.3, 0.1)
_AFTER_PRODUCTS = (None, 1.0)
# Where predictions are wanted, a step away from the gentlest selection, to the next rate of either kind,
# has to win so many nats over all rows that were left out.
_STEP = 2.0
# Folds after each of which candidates may be out; the others follow together, one to a worker.
_ALONE = 2
# Nats by which rows that were not seen may turn a race: the first fold of a small sample may have none
# of those that are hard.
_UNSEEN = 1.0


class Rates(NamedTuple):
    """One candidate: price of a scale, of a weight while features are selected, and afterwards."""

    scale: Any
    selection: float
    weight: float

    @property
    def params(self) -> dict[str, Any]:
        """Return it as parameters of the estimator."""
        strict = self.selection if self.selection > self.weight else None
        return {"scale_rate": self.scale, "selection_rate": strict, "weight_rate": self.weight}


@dataclass(eq=False)
class JCFOCandidate(Candidate):
    """Rates of weights and scales."""

    rates: Rates


class JCFOSearch(SelectorMixin, CVSearch):  # type: ignore[misc]
    """Choose among rates; subclasses say which estimator, and how it is scored."""

    kernel: Any
    selection_rates: Any
    weight_rates: Any
    scale_rates: Any

    _size_name = "features"

    def _template(self) -> Any:
        own, theirs = self.get_params(deep=False), self._estimator._get_param_names()
        shared = set(own) & set(theirs) - {"callbacks"}
        return clone(self._estimator(**{name: own[name] for name in shared}))

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Make the candidates, try them, choose, refit and publish."""
        data, template = self._validate(X, y, sample_weight), self._template()
        asked: Asked = template._ask(template._fit_data(*data))  # validates everything but the grid
        grid = self._grid(asked)
        handicap = self._handicap(grid, float(data.weight.sum()))
        candidates = [
            JCFOCandidate(rates, handicap=price) for rates, price in zip(grid, handicap, strict=True)
        ]
        race = self._race(template, data, groups)
        with one_blas_thread():
            race.run([candidates])
        found = [race.trials(candidate) for candidate in candidates]
        best = choose(found, handicap=handicap, one_standard_error=self.one_standard_error)
        began = time.perf_counter()
        with one_blas_thread():
            model = self._refit(template, asked, grid, grid[best])
        winner = Winner(model, time.perf_counter() - began)
        self._publish_search([rates.params for rates in grid], found, best, winner)

    def _race(self, template: Any, data: Data, groups: Any) -> Race[JCFOCandidate]:
        """Return the race over the folds."""
        scoring = self._resolve_scoring(template)
        folds = draw_folds(self.cv, data, groups, self._classifies)
        drops = self.race and scoring.by_rows
        return Race(
            partial(_try_fold, template, data, scoring, drops),
            rounds=rounds(folds) if drops else [folds],
            weights=[float(data.weight[test].sum()) for _, test in folds],
            scoring=scoring,
            drops=drops,
            required=None if self.one_standard_error else 0.0,
            n_jobs=self.n_jobs,
            unseen_nats=_UNSEEN,
            on_fold=self._reporter(scoring.factors),
        )

    def _reporter(self, factors: Array) -> Callable[[int, Sequence[Tried]], None]:
        """Return the function that reports the best candidate of each fold to the callbacks."""
        callbacks, began = check_callbacks(self.callbacks), time.perf_counter()

        def report(fold: int, tried: Sequence[Tried]) -> None:
            scores = [
                each.scores.scores()[best_variance_factor([each.scores], factors)] for each in tried
            ]
            best, seconds = int(np.argmax(scores)), time.perf_counter() - began
            record = Record(fold, float(scores[best]), int(tried[best].trial.kept), seconds)
            for callback in callbacks:
                callback(record)

        return report

    def _grid(self, asked: Asked) -> list[Rates]:
        """Return the candidates, along each path in the order in which one is the start of the next."""
        grid = []
        question = asked.questions[0]
        for scale in check_values(self, "scale_rates"):
            if not (is_name(scale, "auto") or is_rate(scale)):
                raise ValueError(
                    f"scale_rates must be positive numbers or 'auto' (up to 1e100), got {scale!r}."
                )
            if is_name(self.selection_rates, "auto"):
                at = asked.at_rates(question.weight_rate, _number(scale, question.scale_rate))
                parts = _DISTANCES if self.kernel == "rbf" else _PRODUCTS
                selection = [at.selection_rate(part) for part in parts]
            else:
                selection = sorted(_positive(self, "selection_rates"))
            weights: Sequence[Any] = _AFTER_DISTANCES if self.kernel == "rbf" else _AFTER_PRODUCTS
            if not is_name(self.weight_rates, "auto"):
                weights = _positive(self, "weight_rates", none=True)
            for strict in selection:
                lower = {strict if rate is None else min(float(rate), strict) for rate in weights}
                grid += [Rates(scale, strict, rate) for rate in sorted(lower, reverse=True)]
        return grid

    def _handicap(self, grid: list[Rates], rows: float) -> Array:
        """Return by how many nats a row each candidate must be better than the gentlest selection.

        The best of many on few rows often owes it to those rows: lower prices fit boundaries that
        wiggle, higher ones leave out features that would have helped. (Not so of values: the gentlest
        selection underestimates their noise.)
        """
        own = is_name(self.selection_rates, "auto") and is_name(self.weight_rates, "auto")
        classes = self._classifies and self.kernel == "rbf" and self.scoring is None
        if self.one_standard_error or not own or not classes:
            return np.zeros(len(grid))
        return _STEP * steps(grid) / rows

    def _refit(self, template: Any, asked: Asked, grid: list[Rates], best: Rates) -> Any:
        """Return the chosen model on all rows, reached along the path that the folds took."""
        model = clone(template).set_params(**best.params)
        for name in ("n_features_in_", "feature_names_in_", "classes_", "_rows"):
            if hasattr(template, name):
                setattr(model, name, getattr(template, name))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        alone = [JCFOCandidate(rates, runs=rates == best) for rates in grid]
        ((_, found),) = walk(model, asked, alone)
        model._publish_joint(asked, found)
        return model

    # ---- what the chosen model offers ---------------------------------------------------------

    @property
    def feature_scales_(self) -> Array:
        """The scales of the chosen model."""
        return np.asarray(self._chosen.feature_scales_)

    def _get_support_mask(self) -> Array:
        return np.asarray(self._chosen._get_support_mask())


def steps(grid: Sequence[Rates]) -> Array:
    """Return how many steps each candidate is from the gentlest selection and its own price."""
    found = []
    for rates in grid:
        mine = [each for each in grid if each.scale == rates.scale]
        strict = list(dict.fromkeys(each.selection for each in mine))
        lower = [each.weight for each in mine if each.selection == rates.selection]
        found.append(strict.index(rates.selection) + lower.index(rates.weight))
    return np.array(found)


def _number(rate: Any, default: float) -> float:
    return default if rate == "auto" else float(rate)


def _positive(owner: Any, name: str, none: bool = False) -> list[Any]:
    rates = check_values(owner, name)
    if not all(is_positive(rate) or (none and rate is None) for rate in rates):
        other = ", None" if none else ""
        raise ValueError(f"{name} must be positive numbers{other} or 'auto', got {rates!r}.")
    return rates


def rounds(folds: Sequence[Any]) -> list[Sequence[Any]]:
    """Return the folds in rounds, after each of which candidates may be out; workers share a round."""
    alone = [[fold] for fold in folds[:_ALONE]]
    return [*alone, folds[_ALONE:]] if len(folds) > _ALONE else [*alone]


def walk(
    model: Any, asked: Asked, runners: Sequence[JCFOCandidate]
) -> Iterator[tuple[JCFOCandidate, list[JointFit]]]:
    """Yield each candidate that runs with its answers; who stops meanwhile is left out.

    Selections follow an ascending path, and from each of them the prices of a weight descend: at a
    lower one the features of the one before are exchanged. Neighbours on the path often come to the
    same features, and go on to the same answers, which are looked for once. Of candidates that do not
    run only the way to others is walked.
    """
    settings, default = model._settings(asked), asked.questions[0].scale_rate
    for scale in dict.fromkeys(runner.rates.scale for runner in runners if runner.runs):
        mine = [runner for runner in runners if runner.rates.scale == scale]
        last = max(place for place, runner in enumerate(mine) if runner.runs)
        strict = list(dict.fromkeys(runner.rates.selection for runner in mine[: last + 1]))
        at = asked.at_rates(1.0, _number(scale, default))
        paths = [follow(question, asked.few, settings, strict) for question in at.questions]
        known: dict[Any, JointFit] = {}
        for rate, found in zip(strict, zip(*paths, strict=True), strict=True):
            answers = list(found)
            down = [runner for runner in mine if runner.rates.selection == rate]
            for place, runner in enumerate(down):
                if not any(each.runs for each in down[place:]):
                    break
                if runner.rates.weight < rate:
                    answers = _relaxed(at, settings, answers, runner.rates.weight, known)
                if runner.runs:
                    yield runner, answers


def _relaxed(
    asked: Asked, settings: Settings, before: Sequence[JointFit], rate: float, known: dict[Any, JointFit]
) -> list[JointFit]:
    """Return the answers at a lower price of a weight, where they are not known."""
    answers = []
    questions = asked.at_rates(rate, asked.questions[0].scale_rate).questions
    for which, (question, each) in enumerate(zip(questions, before, strict=True)):
        key = (which, rate, (each.answer.theta > 0).tobytes())
        if key not in known:
            price = asked.feature_price
            known[key] = relax(question, asked.few, settings, no_callback, each, price)
        answers.append(known[key])
    return answers


def _try_fold(
    template: Any,
    data: Data,
    scoring: Scoring,
    drops: bool,
    candidates: Sequence[JCFOCandidate],
    fold: tuple[Index, Index],
) -> list[Tried | None]:
    """Return the results of one fold; screening sees its training rows only."""
    train, test = fold
    held_in, held_out = data.rows(train), data.rows(test)
    model, runners = clone(template), [replace(each, tried=[]) for each in candidates]
    began = time.perf_counter()
    asked = model._ask(model._fit_data(*held_in))
    for runner, found in walk(model, asked, runners):
        with warnings.catch_warnings():  # a candidate need not converge to be judged
            warnings.simplefilter("ignore", ConvergenceWarning)
            model._publish_joint(asked, found)
        fitted = time.perf_counter()
        scores = scoring.score(model, *held_out)
        now = time.perf_counter()
        trial = Trial(math.nan, int(model._support.sum()), fitted - began, now - fitted)
        runner.tried.append(Tried(scores, trial, []))
        if drops:
            _go_no_lower(runner, runners, scoring.factors)
        began = now
    return [runner.tried[0] if runner.tried else None for runner in runners]


def _go_no_lower(runner: JCFOCandidate, runners: Sequence[JCFOCandidate], factors: Array) -> None:
    """Stop the lower prices of a weight where one has made the rows left out clearly less likely.

    They fit ever more of what is noise, and take the longest.
    """
    same = [each for each in runners if each.rates[:2] == runner.rates[:2]]
    place = same.index(runner)
    if not (place and same[place - 1].tried):
        return
    before, now = (each.log_density(factors) for each in (same[place - 1], runner))
    if BEHIND_LEADER.prefers(before - now, runner.scores[0].weight, _UNSEEN):
        for lower in same[place + 1 :]:
            lower.runs = False
