"""The one convergence loop: step until done, prune and revive columns; Record, Status, Solution."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._protocols import Array, Index
from ..judging.price import extended_bic, prior_price
from ..linalg import LEAST_REMAINDER, remainder, solve_semidefinite
from ..priors import Prior
from .problem import Problem, State

# A weight whose contribution to every latent is below this many standard errors is pruned: under a prior
# that absorbs zeros it cannot grow again.
_NEGLIGIBLE_STANDARD_ERRORS = 1e-7


class Record(NamedTuple):
    """One iteration, as callbacks and ``history_`` show it."""

    iteration: int
    objective: float
    active: int
    seconds: float
    output: int = 0


@dataclass(frozen=True)
class Status:
    """How a fit ended, as a value and as a sentence."""

    converged: bool
    message: str
    stopped: bool = False  # by a callback

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Solution:
    """Weights of the kept columns, how the fit ended and its history."""

    active: Index
    state: State
    problem: Problem  # restricted to the kept columns
    status: Status
    history: list[Record]


class Solver(Protocol):
    """A start, a step and a test of convergence; :func:`solve` does the rest."""

    prunes: bool

    def init(self, problem: Problem) -> State:
        """Return the state to start from."""

    def step(self, problem: Problem, state: State) -> State:
        """Return the next state."""

    def done(self, problem: Problem, old: State, new: State, tol: float) -> str | None:
        """Return a sentence if ``new`` is the solution."""


def rank_tolerance(solver: Solver, prior: Prior, default: float = 1e-12) -> float:
    """Return the relative error that the factors of a kernel matrix may have for this solver.

    A solver may have a method ``rank_tol(prior)``; the default suits one that weighs all kernels, as EM.
    """
    known = getattr(solver, "rank_tol", None)
    return default if known is None else float(known(prior))


Callback = Callable[[Record], object]
Mask = NDArray[np.bool_]


def solve(
    problem: Problem,
    solver: Solver,
    *,
    start: State | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    callback: Callback | None = None,
    before: int = 0,
    max_revivals: int = 10,
) -> Solution:
    """Step until the solver is done; prune negligible weights, and revive those pruned wrongly.

    A callback that returns ``True`` stops the fit. ``before`` is the number of earlier iterations that
    the message counts too. Defaults are for fits that are only compared; ``tol`` is in nats per row.
    """
    full, active = problem, np.arange(problem.design.shape[1])
    state = solver.init(problem) if start is None else start
    if solver.prunes and np.isinf(problem.prior.kink):  # zeros stay zero
        problem, state, active = _prune(problem, state, active, state.w != 0)
    elif solver.prunes and problem.prior.kink == 0:
        state = _off_zero(problem, state)
    lengths = _lengths(problem, state, solver)
    history: list[Record] = []
    began, revivals = time.perf_counter(), 0
    message, stopped = None, False
    for iteration in range(1, max_iter + 1):
        new = solver.step(problem, state)
        message = solver.done(problem, state, new, tol)
        alive, state = _alive(new, lengths), new
        if not alive.all():  # not converged on the columns that are left
            message, lengths = None, None if lengths is None else lengths[alive]
            problem, state, active = _prune(problem, state, active, alive)
        kept, seconds = int(np.count_nonzero(state.w)), time.perf_counter() - began
        history.append(Record(iteration, state.objective, kept, seconds))
        stopped = callback is not None and bool(callback(history[-1]))
        if message is not None and solver.prunes and revivals < max_revivals:
            revived = _wrongly_pruned(full, active, state)
            if getattr(solver, "checks_excluded", False):
                revived = np.append(revived, _best_excluded(full, active, state))
            if revived.size:
                revivals, message = revivals + 1, None
                problem, state, active = _revive(full, state, active, revived)
                lengths = _lengths(problem, state, solver)
        if message is not None or stopped:
            break
    converged = message is not None
    if stopped and not converged:
        message = "stopped by a callback"
    elif not converged:
        message = f"did not converge within max_iter={before + max_iter}; raise max_iter or tol"
    sentence = f"{message} ({before + len(history)} iterations, {np.count_nonzero(state.w)} kept)."
    sentence = sentence[0].upper() + sentence[1:]
    return Solution(active, state, problem, Status(converged, sentence, stopped), history)


def resume(
    answer: Solution,
    problem: Problem,
    start: State,
    solver: Solver,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Solution:
    """Continue from a solution with another prior or likelihood, on the columns that are left.

    The objective continues from its last value: the levels of two priors are not comparable.
    """
    start = _continue_objective(answer.state, start)
    done, last = len(answer.history), answer.history[-1]

    def count_on(record: Record) -> Record:
        return record._replace(iteration=record.iteration + done, seconds=record.seconds + last.seconds)

    def report(record: Record) -> object:
        return callback(count_on(record)) if callback is not None else None

    more = solve(problem, solver, start=start, max_iter=max_iter, tol=tol, callback=report, before=done)
    return replace(
        more,
        active=answer.active[more.active],
        history=answer.history + [count_on(record) for record in more.history],
        status=more.status if answer.status.converged else answer.status,
    )


def _lengths(problem: Problem, state: State, solver: Solver) -> Array | None:
    """Return the length of each column (from the metric if there is one) if the solver prunes by it."""
    if not solver.prunes or problem.prior.kink == 0:
        return None
    if state.metric is not None:  # only orders of magnitude matter, so no pass over the rows
        return np.asarray(np.sqrt(np.maximum(np.diag(state.metric.gram), 0.0) / state.curvature.max()))
    return np.sqrt(problem.squares)


def _alive(state: State, lengths: Array | None) -> Mask:
    """Return which weights are not negligible: their contribution to a latent, in standard errors."""
    if lengths is None:
        return np.ones(state.w.size, dtype=bool)
    sharpest = np.sqrt(state.curvature.max(initial=0.0))
    return np.asarray(np.abs(state.w) * lengths * sharpest > _NEGLIGIBLE_STANDARD_ERRORS)


def _prune(problem: Problem, state: State, active: Index, alive: Mask) -> tuple[Problem, State, Index]:
    """Return problem, state and index of the columns that are not negligible."""
    if alive.all():
        return problem, state, active
    index = np.flatnonzero(alive)
    problem = problem.keep(index)
    w = state.w[index]
    if state.metric is None:
        new = problem.state(w, state.b, state.likelihood)
    else:  # negligible weights change no latent, so no pass over the rows
        level, metric = state.fit - problem.penalty(w), state.metric.keep(index)
        new = replace(state, w=w, metric=metric, gradient=None, objective=level, offset=0.0)
    return problem, _continue_objective(state, new), active[index]


def _continue_objective(old: State, new: State) -> State:
    """Return the new state with the objective of the old one; the difference goes into the offset.

    Not where the old objective is infinite, by exact zeros under an unbounded penalty.
    """
    if not np.isfinite(old.objective):
        return new
    offset = new.objective - old.objective
    return replace(new, objective=old.objective, offset=offset)


def _off_zero(problem: Problem, state: State) -> State:
    """Return the state with exact zeros made small where the touching Gaussian has variance zero.

    For ``1 < q < 2`` a weight of zero is no optimum, but a ridge step would leave it there.
    """
    held = (state.w == 0) & (problem.variance(np.zeros_like(state.w)) == 0)
    if not held.any():
        return state
    w = np.where(held, _first_weight(problem, state), state.w)
    return problem.state(w, state.b, state.likelihood)


def _first_weight(problem: Problem, state: State, fraction: float = 0.1) -> Array:
    """Return a fraction of each weight's standard error, in the direction of its gradient."""
    deviation = 1 / np.sqrt(np.maximum(problem.curvature(state), 1e-300))
    return fraction * np.sign(problem.gradient(state)) * deviation


def _wrongly_pruned(full: Problem, active: Index, state: State, tol: float = 1e-6) -> Index:
    """Return pruned columns whose gradient exceeds the prior's kink at zero (KKT)."""
    if not np.isfinite(full.prior.kink) or active.size == full.design.shape[1]:
        return active[:0]
    excess = np.abs(full.gradient(state)) > full.kinks() * (1 + tol)
    excess[active] = False
    return np.flatnonzero(excess)


def _best_excluded(full: Problem, active: Index, state: State, checked: int = 10) -> Index:
    """Return the excluded column of largest gain, if that exceeds its price, under an unbounded penalty.

    Such a prior never brings back what a start has left out, such as features whose effects cancel. The
    price is the prior's or that of the extended BIC, whichever is higher.
    """
    n, p = float(full.weight.sum()), full.design.shape[1]
    if active.size == p or full.many_rows or not full.penalty_unbounded:
        return active[:0]
    slope, sharpest = full.design.rmatvec(full.weight * state.slope), state.curvature.max()
    # A lower bound of the gain with the other weights held, as the curvature is nowhere larger.
    gain = slope**2 / np.maximum(2 * sharpest * full.squares, np.finfo(float).tiny)
    gain[active] = 0.0
    price = max(prior_price(full.prior), extended_bic(n, p))
    first = np.flatnonzero(gain > LEAST_REMAINDER * price)
    if not first.size:
        return active[:0]
    first = first[np.argsort(-gain[first], kind="stable")[:checked]]
    # With the active weights adapting, the curvature is a Schur complement and the gain is larger.
    gram, k = full.keep(np.append(active, first)).metric(state).gram, active.size
    explained = np.sum(gram[:k, k:] * solve_semidefinite(gram[:k, :k], gram[:k, k:]), axis=0)
    gain = slope[first] ** 2 / (2 * remainder(np.diag(gram)[k:], explained))
    best = int(np.argmax(gain))
    return np.asarray(first[[best]] if gain[best] > price else first[:0])


def _revive(full: Problem, state: State, active: Index, revived: Index) -> tuple[Problem, State, Index]:
    """Return problem and state with these columns added, at small weights."""
    joined, alone = np.concatenate([active, revived]), full.keep(revived)
    order = np.argsort(joined)
    first = _first_weight(alone, state)
    if np.isinf(full.prior.kink):  # small weights would be pruned again: a Newton step each
        first = alone.gradient(state) / np.maximum(alone.curvature(state), np.finfo(float).tiny)
    w = np.concatenate([state.w, first])[order]
    problem = full.keep(joined[order])
    new = _continue_objective(state, problem.state(w, state.b, state.likelihood))
    return problem, new, joined[order]
