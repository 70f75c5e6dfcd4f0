"""Where a joint search starts: several trials through few kernels, and the best goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._protocols import Array, Index
from ..kernels import Linear, Polynomial
from ..solvers import Record
from .em import expectation_maximisation
from .feature_exchange import exchange_features
from .problem import Joint, JointProblem
from .trials import PATH, TRIAL, objective, of_features, promising, quick, sharper, through
from .variable_projection import variable_projection

SOLVERS: dict[str, Any] = {"em": expectation_maximisation, "varpro": variable_projection}
# Powers of p that the search starts from: all features weak, or some of them strong.
_STARTS = (-1.0, -2 / 3, -1 / 3, 0.0)
# A low rate of the weights lets all features speak before few are chosen: a product of two, which
# neither betrays alone, is only found so. The path begins at a rate of at most so much and climbs by
# such steps; after it has ended with nothing, it begins lower.
_GENTLE, _CLIMB, _LOWER = 0.3, 0.3, 0.03


@dataclass(frozen=True)
class JointFit:
    """The end of a search, what happened on the way, and a sentence to add."""

    answer: Joint
    history: list[Record]
    note: str = ""


@dataclass(frozen=True)
class Settings:
    """How to search."""

    solver: str
    max_iter: int
    tol: float
    start: Array | None = None  # scales to begin with; None looks for good ones


def search(
    question: JointProblem,
    few: Index,
    settings: Settings,
    report: Callable[[Record], bool],
    selection_rates: Sequence[float] = (),
    price: float = 0.0,
) -> JointFit:
    """Return the best of a few trials, carried on to the end.

    With ``selection_rates`` the features are those that a search at the first of these rates of the
    weights keeps that keeps any, exchanged until each is worth its price. A feature that matters only
    together with others comes in with them or not at all; so, where there can be such, the features of
    a search without that rate are exchanged too, and the better of both ends goes on.
    """
    if not selection_rates:
        return _search(question, few, settings, report, None)
    for rate in selection_rates:
        strict = replace(question, weight_rate=rate)
        found = _search(strict, few, settings, report, None)
        if not found.answer.empty:
            break
    gentle = []
    if not (isinstance(question.kernel, Linear) or found.answer.stopped or settings.solver == "em"):
        gentle = [quick(through(question, few), _first(question, few, settings), TRIAL)]
    return relax(question, few, settings, report, found, price, gentle)


def relax(
    question: JointProblem,
    few: Index,
    settings: Settings,
    report: Callable[[Record], bool],
    found: JointFit,
    price: float,
    others: Sequence[Joint] = (),
) -> JointFit:
    """Return the answer with the features of another, as far as they are worth ``price`` each.

    Features that the other left out and that are worth it come in. Where there are ``others`` to begin
    with, the best end counts.
    """
    if found.answer.stopped or settings.solver == "em":
        return found
    ends = [exchange_features(through(question, few), each, price) for each in (found.answer, *others)]
    here, kept = min(ends, key=lambda end: end.answer.value + price * end.features.size)
    if not kept.size:
        return found
    note = " The selection left nothing; features came in later." if found.answer.empty else found.note
    relaxed = _search(of_features(question, kept), few, settings, report, here.theta)
    theta = np.zeros_like(found.answer.theta)
    theta[kept] = relaxed.answer.theta
    answer = replace(relaxed.answer, theta=theta)
    return JointFit(answer, found.history + relaxed.history, note + relaxed.note)


def follow(
    question: JointProblem, few: Index, settings: Settings, rates: Iterable[float]
) -> Iterator[JointFit]:
    """Yield the answer at each of ascending rates of the weights, each the start of the next.

    The first has several starts, or the one that was given. Where nothing is left, a higher rate
    leaves nothing too.
    """
    found: JointFit | None = None
    for rate in rates:
        if found is None or not found.answer.empty:
            start = None if found is None else found.answer.theta
            found = _search(replace(question, weight_rate=rate), few, settings, no_callback, start)
        yield found


def no_callback(record: Record) -> bool:
    """Report to nobody, who never asks to stop."""
    return False


def _search(
    question: JointProblem,
    few: Index,
    settings: Settings,
    report: Callable[[Record], bool],
    start: Array | None,
) -> JointFit:
    history: list[Record] = []
    began = time.perf_counter()

    def tell(here: Joint) -> bool:
        kept = sum(int(np.count_nonzero(output.w)) for output in here.outputs)
        seconds = time.perf_counter() - began
        history.append(Record(len(history) + 1, -here.value, kept, seconds))
        return report(history[-1])

    solver: Any = SOLVERS[settings.solver]
    begins = start is None
    options: dict[str, Any] = {"tol": settings.tol, "max_iter": settings.max_iter, "callback": tell}
    if start is None:
        start = _first(question, few, settings)
    answer, note = solver(question, start, **options), ""
    if begins and answer.empty and not answer.stopped:
        answer, note = _again(question, few, settings, answer, options)
    if not history:  # it was at the end already
        tell(answer)
    return JointFit(answer, history, note)


def _again(
    question: JointProblem, few: Index, settings: Settings, nothing: Joint, options: dict[str, Any]
) -> tuple[Joint, str]:
    """Return what a restart finds after the first search has found nothing, and a sentence on it."""
    if settings.start is not None:  # who says where to begin gets what is found from there
        return nothing, " Nothing is worth its price from these initial_scales."
    if settings.solver == "em":
        return nothing, ""
    again = quick(question, _climb(through(question, few), _LOWER), settings.max_iter)
    if again.empty or again.value >= nothing.value:
        return nothing, (
            " Nothing is worth its price, also after a restart from lower rates: "
            "lower weight_rate or scale_rate."
        )
    answer = SOLVERS[settings.solver](question, again.theta, **options)
    return answer, " The first search ended with nothing; this one came from lower rates."


def _first(question: JointProblem, few: Index, settings: Settings) -> Array:
    """Return where the first search sets out."""
    if settings.start is not None:
        return settings.start
    return _uniform(question, -1.0) if settings.solver == "em" else _best_start(question, few)


def _uniform(question: JointProblem, power: float) -> Array:
    p = question.X.shape[1]
    return np.full(p, float(p) ** power)


def _best_start(question: JointProblem, few: Index) -> Array:
    """Return the scales from which the full search sets out."""
    weak = _uniform(question, -1.0)
    if weak.size == 1:
        return weak
    question = through(question, few)
    # A product of strong features soon leaves the range of a double.
    powers = _STARTS[:1] if isinstance(question.kernel, Polynomial) else _STARTS
    uniform = promising(question, [_uniform(question, power) for power in powers])
    best = min((quick(question, _climb(question, _GENTLE), TRIAL), *uniform), key=objective)
    return min((best, *sharper(question, best.theta)), key=objective).theta


def _climb(question: JointProblem, lowest: float) -> Array:
    """Return where a path of ascending rates of the weights ends, short of the last."""
    theta, rates = _uniform(question, -1.0), [_CLIMB * question.weight_rate]
    while rates[-1] > lowest:
        rates.append(_CLIMB * rates[-1])
    for rate in reversed(rates):
        theta = quick(replace(question, weight_rate=rate), theta, PATH).theta
    return theta
