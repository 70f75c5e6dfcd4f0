"""Where a joint search starts: several trials through few kernels, and the best goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._protocols import Array, Index
from ..kernels import Polynomial
from ..solvers import Record
from ..solvers.joint import Joint, JointProblem, expectation_maximisation, variable_projection

SOLVERS: dict[str, Any] = {"em": expectation_maximisation, "varpro": variable_projection}
# Powers of p that the search starts from: all features weak, or some of them strong.
_STARTS = (-1.0, -2 / 3, -1 / 3, 0.0)
# Centres through which trials look; iterations of one; relative gain at which it has seen enough.
_FEW, _TRIAL, _ENOUGH = 100, 8, 1e-3
# A small part of the rate of the weights lets all features speak before few are chosen: a product of
# two, which neither betrays alone, is only found so.
_GENTLE = 0.3
# Parts of both rates from which the search climbs back after it has ended with nothing.
_RESTARTS = (0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class Found:
    """The end of a search, what happened on the way, and a sentence to add."""

    answer: Joint
    history: list[Record]
    note: str = ""


def search(
    question: JointProblem,
    few: Index,
    solver: str,
    max_iter: int,
    tol: float,
    report: Callable[[Record], bool],
    start: Array | None = None,
) -> Found:
    """Return the best of a few trials, carried on to the end; or go on from ``start``."""
    history: list[Record] = []
    began = time.perf_counter()

    def tell(here: Joint) -> bool:
        kept = sum(int(np.count_nonzero(output.w)) for output in here.outputs)
        seconds = time.perf_counter() - began
        history.append(Record(len(history) + 1, -here.value, kept, seconds))
        return report(history[-1])

    settings: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "callback": tell}
    if start is None:
        start = _uniform(question, -1.0) if solver == "em" else _best_start(question, few)
    answer, note = SOLVERS[solver](question, start, **settings), ""
    if answer.empty and solver != "em" and not answer.stopped:
        again = _restart(question, max_iter)
        if again.empty or again.value >= answer.value:
            note = (
                " Nothing is worth its price, also after restarts from lower rates: "
                "lower weight_rate or scale_rate."
            )
        else:
            answer = SOLVERS[solver](question, again.theta, **settings)
            note = " The first search ended with nothing; this one came from lower rates."
    if not history:  # it was at the end already
        tell(answer)
    return Found(answer, history, note)


def _uniform(question: JointProblem, power: float) -> Array:
    p = question.X.shape[1]
    return np.full(p, float(p) ** power)


def _best_start(question: JointProblem, few: Index) -> Array:
    """Return the scales from which the full search sets out."""
    p = question.X.shape[1]
    if few.size > _FEW:
        question = replace(question, centres=question.centres[few[:_FEW]])
    gentle = replace(question, weight_rate=_GENTLE * question.weight_rate)
    weak = _uniform(question, -1.0)
    if p == 1:
        return weak
    first = variable_projection(gentle, weak, max_iter=50, tol=_ENOUGH, exact=False)
    # A product of strong features soon leaves the range of a double.
    powers = _STARTS[:1] if isinstance(question.kernel, Polynomial) else _STARTS
    trials = [first.theta, *(_uniform(question, power) for power in powers)]
    tried = [
        variable_projection(question, theta, max_iter=_TRIAL, tol=_ENOUGH, exact=False)
        for theta in trials
    ]
    return min(tried, key=lambda trial: trial.value).theta


def _restart(question: JointProblem, max_iter: int) -> Joint:
    """Return where an ascending path of rates ends."""
    theta = _uniform(question, -1.0)
    for part in _RESTARTS:
        rates = {
            "weight_rate": part * question.weight_rate,
            "scale_rate": part * question.scale_rate,
        }
        here = variable_projection(
            replace(question, **rates), theta, max_iter=max_iter, tol=1e-6, exact=False
        )
        theta = here.theta
    return here
