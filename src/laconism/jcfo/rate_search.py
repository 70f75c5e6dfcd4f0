"""Rates of a joint model by cross-validation: warm ascending paths, and the fewest features as good."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin

from .._component import is_name, is_positive, is_rate
from .._protocols import Array, Index
from ..judging.folds import draw_folds
from ..judging.race import Candidate, drop_dominated, is_behind
from ..judging.row_scores import Scoring, best_variance_factor
from ..judging.trials import Data, Trial, Tried
from ..model.callbacks import check_callbacks
from ..model.search import CVSearch
from ..model.threads import one_blas_thread
from ..solvers import Record
from ..sparse.candidates import check_values
from .prepare import PreparedData
from .search import JointFit, SearchSettings, path, relax

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
    """Rates, and by how many nats a row they have to be better than others."""

    rates: Rates
    handicap: float

    def log_p(self, factors: Array) -> Array:
        """Return what it says of all rows so far, less its handicap."""
        return super().log_p(factors) - self.handicap


class JCFOSearch(SelectorMixin, CVSearch):  # type: ignore[misc]
    """Choose among rates; subclasses say which estimator, and how it is scored."""

    kernel: Any
    selection_rates: Any
    weight_rates: Any
    scale_rates: Any

    _counted = "features"

    def _template(self) -> Any:
        own, theirs = self.get_params(deep=False), self._estimator._get_param_names()
        shared = set(own) & set(theirs) - {"callbacks"}
        return clone(self._estimator(**{name: own[name] for name in shared}))

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> float:
        """Choose and fit; return what the variances of the chosen model are to be multiplied by."""
        callbacks = check_callbacks(self.callbacks)
        data, template = self._rows(X, y, sample_weight), self._template()
        prepared: PreparedData = template._prepare(template._fit_data(*data))  # checks all but the grid
        grid = self._grid(prepared)
        folds, judge = draw_folds(self.cv, data, groups, self._classifies), self._judge(template)
        handicap = self._handicap(grid, float(data.weight.sum()))
        runners = [JCFOCandidate(rates, price) for rates, price in zip(grid, handicap, strict=True)]
        began = time.perf_counter()

        def report(fold: int, tried: Sequence[Tried]) -> None:
            scores = [
                each.said.scores()[best_variance_factor([each.said], judge.factors)] for each in tried
            ]
            best, seconds = int(np.argmax(scores)), time.perf_counter() - began
            record = Record(fold, float(scores[best]), int(tried[best].trial.kept), seconds)
            for callback in callbacks:
                callback(record)

        with one_blas_thread():
            self._race(template, data, folds, judge, runners, report)
        found = [runner.trials(judge.factors, len(folds)) for runner in runners]
        self._choose([rates.params for rates in grid], found, handicap=handicap)
        began = time.perf_counter()
        with one_blas_thread():
            self.best_estimator_ = self._refit(template, X, data, grid)
        self.refit_time_ = time.perf_counter() - began
        self.n_iter_ = self.best_estimator_.n_iter_
        factor: float = found[self.best_index_][0].factor
        return factor

    def _race(
        self,
        template: Any,
        data: Data,
        folds: Sequence[tuple[Index, Index]],
        judge: Scoring,
        runners: Sequence[JCFOCandidate],
        report: Callable[[int, Sequence[Tried]], None],
    ) -> None:
        """Try the candidates on the folds; who will not be chosen, as these tell, sees no more."""
        thins, done = self.race and judge.by_rows, 0
        total = float(sum(data.weight[test].sum() for _, test in folds))
        allowed = None if self.one_standard_error else 0.0
        with Parallel(n_jobs=self.n_jobs, return_as="generator") as workers:
            for together in rounds(folds) if thins else [folds]:
                # As they are now: what one fold of a round finds is no matter of the others.
                fresh = [replace(runner, tried=[]) for runner in runners]
                jobs = (delayed(_fold)(template, data, each, fresh, judge, thins) for each in together)
                for tried in workers(jobs):
                    done += 1
                    for runner, each in zip(runners, tried, strict=True):
                        runner.runs = runner.runs and bool(each)
                        runner.tried += each if runner.runs else []
                    report(done, [*chain(*tried)])
                if thins and done < len(folds):
                    on = [runner for runner in runners if runner.runs]
                    drop_dominated(on, judge.factors, total, allowed, _UNSEEN)

    def _grid(self, prepared: PreparedData) -> list[Rates]:
        """Return the candidates, along each path in the order in which one is the start of the next."""
        grid = []
        problem = prepared.problems[0]
        for scale in check_values(self, "scale_rates"):
            if not (is_name(scale, "auto") or is_rate(scale)):
                raise ValueError(
                    f"scale_rates must be positive numbers or 'auto' (up to 1e100), got {scale!r}."
                )
            if is_name(self.selection_rates, "auto"):
                at = prepared.at_rates(problem.weight_rate, _number(scale, problem.scale_rate))
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

    def _refit(self, template: Any, X: Any, data: Data, grid: list[Rates]) -> Any:
        """Return the chosen model on all rows, reached along the path that the folds took."""
        model, best = clone(template).set_params(**self.best_params_), grid[self.best_index_]
        prepared = model._prepare(model._fit_data(X, data.y, data.weight))
        alone = [JCFOCandidate(rates, 0.0, runs=rates == best) for rates in grid]
        ((_, fits),) = walk(model, prepared, alone)
        model._publish_fits(prepared, fits)
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
    model: Any, prepared: PreparedData, runners: Sequence[JCFOCandidate]
) -> Iterator[tuple[JCFOCandidate, list[JointFit]]]:
    """Yield each candidate that runs with its answers; who stops meanwhile is left out.

    Selections follow an ascending path, and from each of them the prices of a weight descend: at a
    lower one the features of the one before are exchanged. Neighbours on the path often come to the
    same features, and go on to the same answers, which are looked for once. Of candidates that do not
    run only the way to others is walked.
    """
    settings, default = model._search_settings(prepared), prepared.problems[0].scale_rate
    for scale in dict.fromkeys(runner.rates.scale for runner in runners if runner.runs):
        mine = [runner for runner in runners if runner.rates.scale == scale]
        last = max(place for place, runner in enumerate(mine) if runner.runs)
        strict = list(dict.fromkeys(runner.rates.selection for runner in mine[: last + 1]))
        at = prepared.at_rates(1.0, _number(scale, default))
        paths = [path(problem, settings, strict) for problem in at.problems]
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
    prepared: PreparedData, settings: SearchSettings, before: Sequence[JointFit], rate: float, known: dict[Any, JointFit]
) -> list[JointFit]:
    """Return the answers at a lower price of a weight, where they are not known."""
    answers = []
    problems = prepared.at_rates(rate, prepared.problems[0].scale_rate).problems
    for which, (problem, each) in enumerate(zip(problems, before, strict=True)):
        key = (which, rate, (each.state.theta > 0).tobytes())
        if key not in known:
            price = prepared.feature_price
            known[key] = relax(problem, settings, None, each, price)
        answers.append(known[key])
    return answers


def _fold(
    template: Any,
    data: Data,
    fold: tuple[Index, Index],
    runners: Sequence[JCFOCandidate],
    judge: Scoring,
    thins: bool,
) -> list[list[Tried]]:
    """Return what comes of the candidates on one fold; screening, too, sees its training rows alone."""
    train, test = fold
    held_in, held_out = data.rows(train), data.rows(test)
    model, runners = clone(template), [replace(runner, tried=[]) for runner in runners]
    began = time.perf_counter()
    prepared = model._prepare(model._fit_data(*held_in))
    for runner, found in walk(model, prepared, runners):
        with warnings.catch_warnings():  # a candidate need not converge to be judged
            warnings.simplefilter("ignore", ConvergenceWarning)
            model._publish_fits(prepared, found)
        fitted = time.perf_counter()
        said = judge.hear(model, *held_out)
        now = time.perf_counter()
        trial = Trial(math.nan, int(model._support.sum()), fitted - began, now - fitted)
        runner.tried.append(Tried(said, trial, []))
        if thins:
            _go_no_lower(runner, runners, judge.factors)
        began = now
    return [runner.tried for runner in runners]


def _go_no_lower(runner: JCFOCandidate, runners: Sequence[JCFOCandidate], factors: Array) -> None:
    """Stop the lower prices of a weight where one has made the rows left out clearly less likely.

    They fit ever more of what is noise, and take the longest.
    """
    same = [each for each in runners if each.rates[:2] == runner.rates[:2]]
    place = same.index(runner)
    if not (place and same[place - 1].tried):
        return
    before, now = (Candidate.log_p(each, factors) for each in (same[place - 1], runner))
    if is_behind(before - now, runner.said[0].weight, unseen=_UNSEEN):
        for lower in same[place + 1 :]:
            lower.runs = False
