"""The search of a joint model, from the first scales to the last digit.

``solve_from`` starts, solves and, if no feature is left, restarts. With a selection rate this happens at
it; then ``relax`` exchanges features and solves with those that are left at the final rate.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._protocols import Array, Index
from ..kernels import Linear
from ..solvers import Record
from .em import expectation_maximisation
from .problem import JointProblem, JointState
from .trials import (
    TRIAL_ITERATIONS,
    best_start,
    end_of_path,
    exchange_features,
    short_descent,
    uniform_scales,
    with_features,
    with_few_centres,
)
from .variable_projection import variable_projection

SOLVERS: dict[str, Any] = {"em": expectation_maximisation, "varpro": variable_projection}
# After a search that kept nothing, the path ascends from at most this rate of the weights.
_RESTART_RATE = 0.03


@dataclass(frozen=True)
class SearchSettings:
    """How to search."""

    solver: str
    max_iter: int
    tol: float
    trial_order: Index  # of the centres; trials use the first of them
    start: Array | None = None  # scales to start from; None tries several
    report: Callable[[Record], bool] | None = None  # of an iteration; True stops the search


@dataclass(frozen=True)
class JointFit:
    """The end of a search, its history, and a sentence about it."""

    state: JointState
    history: list[Record]  # one an iteration
    note: str = ""


def search(
    problem: JointProblem, settings: SearchSettings, selection_rates: Sequence[float], price: float
) -> JointFit:
    """Return the solution; where there are ``selection_rates``, the first that keeps a feature selects.

    Features that matter only together must be added together; so a second exchange begins with the
    features of a trial at the problem's own rate.
    """
    if not selection_rates:
        return solve_from(problem, settings)
    for rate in selection_rates:
        selected = solve_from(replace(problem, weight_rate=rate), settings)
        if not selected.state.empty:
            break
    others = []
    if not (isinstance(problem.kernel, Linear) or _is_final(selected, settings)):
        few = with_few_centres(problem, settings.trial_order)
        others = [short_descent(few, _starting_scales(problem, settings), TRIAL_ITERATIONS)]
    return relax(problem, settings, selected, price, others)


def relax(
    problem: JointProblem,
    settings: SearchSettings,
    selected: JointFit,
    price: float,
    others: Sequence[JointState] = (),
) -> JointFit:
    """Return the solution with the best end of the exchanges from the selected and other features."""
    if _is_final(selected, settings):
        return selected
    few = with_few_centres(problem, settings.trial_order)
    ends = [exchange_features(few, each, price) for each in (selected.state, *others)]
    state, kept = min(ends, key=lambda end: end.state.value + price * end.features.size)
    if not kept.size:
        return selected
    note = selected.note
    if selected.state.empty:
        note = " The selection kept no feature; features were added later."
    relaxed = solve_from(with_features(problem, kept), settings, state.theta)
    theta = np.zeros_like(selected.state.theta)
    theta[kept] = relaxed.state.theta
    history = selected.history + relaxed.history
    return JointFit(replace(relaxed.state, theta=theta), history, note + relaxed.note)


def path(problem: JointProblem, settings: SearchSettings, rates: Iterable[float]) -> Iterator[JointFit]:
    """Yield the solution at each of ascending rates; what is empty stays empty at a higher one."""
    fit: JointFit | None = None
    for rate in rates:
        if fit is None or not fit.state.empty:
            start = None if fit is None else fit.state.theta
            fit = solve_from(replace(problem, weight_rate=rate), settings, start)
        yield fit


def solve_from(problem: JointProblem, settings: SearchSettings, theta: Array | None = None) -> JointFit:
    """Return the solution from these scales; without any, from the best start, restarted if need be."""
    history: list[Record] = []
    began = time.perf_counter()

    def record(here: JointState) -> bool:
        n_kept = sum(int(np.count_nonzero(output.w)) for output in here.outputs)
        seconds = time.perf_counter() - began
        history.append(Record(len(history) + 1, -here.value, n_kept, seconds))
        return settings.report is not None and settings.report(history[-1])

    def solve(start: Array) -> JointState:
        solver: Callable[..., JointState] = SOLVERS[settings.solver]
        return solver(problem, start, tol=settings.tol, max_iter=settings.max_iter, callback=record)

    state = solve(_starting_scales(problem, settings) if theta is None else theta)
    note = ""
    if theta is None and state.empty and not state.stopped:
        state, note = _restart(problem, settings, state, solve)
    if not history:  # the start was the solution
        record(state)
    return JointFit(state, history, note)


def _restart(
    problem: JointProblem,
    settings: SearchSettings,
    empty: JointState,
    solve: Callable[[Array], JointState],
) -> tuple[JointState, str]:
    """Return the end of a second search after the first has kept no feature, and a sentence about it."""
    if settings.start is not None:
        return empty, " No feature is worth its price from these initial_scales."
    if settings.solver == "em":
        return empty, ""
    few = with_few_centres(problem, settings.trial_order)
    again = short_descent(problem, end_of_path(few, _RESTART_RATE), settings.max_iter)
    if again.empty or again.value >= empty.value:
        return empty, (
            " No feature is worth its price, also after a restart from lower rates: "
            "lower weight_rate or scale_rate."
        )
    return solve(again.theta), " The first search kept no feature; a restart from lower rates did."


def _starting_scales(problem: JointProblem, settings: SearchSettings) -> Array:
    """Return the scales at which the first search starts."""
    if settings.start is not None:
        return settings.start
    if settings.solver == "em":
        return uniform_scales(problem)
    return best_start(problem, settings.trial_order)


def _is_final(fit: JointFit, settings: SearchSettings) -> bool:
    """Whether no exchange of features follows: a callback stopped the search, or it is the paper's."""
    return fit.state.stopped or settings.solver == "em"
