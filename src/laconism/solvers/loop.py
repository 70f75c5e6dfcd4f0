"""The one convergence loop, and the four things it is made of.

A *Problem* is what is asked, a *State* is what the next step needs, a *History* is what a person wants
to see, a *Solution* is the answer with a sentence about how it was reached.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._protocols import Array, Index, Prior
from ..judging.price import extended_bic, prior_price
from ..linalg import solve_semidefinite
from .problem import Problem, State

# A weight whose whole contribution to the latent is below this many standard errors cannot come back
# under a prior that absorbs zeros, and nobody would miss it.
_NEGLIGIBLE = 1e-7
# Columns that are looked at again when a start may have missed them, and the part of a column that the
# others must not be able to say.
_MISSED = 10
_ALONE = 0.1
# How often optimality may be re-checked and pruned columns brought back before we say so.
_MAX_REVIVALS = 10


class Record(NamedTuple):
    """One iteration, for people."""

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
    """Weights of the kept columns and how they were found."""

    active: Index
    state: State
    problem: Problem  # restricted to the kept columns
    status: Status
    history: list[Record]


class Solver(Protocol):
    """init / step / done; the loop does the rest."""

    prunes: bool

    def init(self, problem: Problem) -> State:
        """Return the state to start from."""

    def step(self, problem: Problem, state: State) -> State:
        """Return the next state."""

    def done(self, problem: Problem, old: State, new: State, tol: float) -> str | None:
        """Return a sentence if ``new`` is the answer."""


# What a solver gets that does not say how exact the factors of a kernel matrix must be: enough for one
# that weighs all kernels from the first iteration to the last, as EM does. In 144 fits of the papers'
# problem EM's weights were those of the full matrix to 3e-8 for Gaussian and Matern kernels. What is
# left for polynomials (3e-6, once 2e-5) no factors cure: the last digit of the full matrix does as much.
_RANK_TOL = 1e-12


def rank_tolerance(solver: Solver, prior: Prior) -> float:
    """Return the part of a kernel matrix that its factors may miss without the weights noticing.

    A solver may know better than the safe default; it then has a method ``rank_tol(prior)``.
    """
    known = getattr(solver, "rank_tol", None)
    return _RANK_TOL if known is None else float(known(prior))


Callback = Callable[[Record], object]
Mask = NDArray[np.bool_]


def solve(
    problem: Problem,
    solver: Solver,
    *,
    start: State | None = None,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
    before: int = 0,
) -> Solution:
    """Step until the solver is done; prune what died, and bring back what should not have.

    A callback that returns ``True`` stops the fit after that iteration. ``before`` iterations are
    counted besides, where the answer is said to be reached.
    """
    full, active = problem, np.arange(problem.design.shape[1])
    state = solver.init(problem) if start is None else start
    if solver.prunes and np.isinf(problem.prior.kink):  # zero absorbs: what starts there stays
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
        if not alive.all():  # the answer has still to settle on what is left
            message, lengths = None, None if lengths is None else lengths[alive]
            problem, state, active = _prune(problem, state, active, alive)
        kept, seconds = int(np.count_nonzero(state.w)), time.perf_counter() - began
        history.append(Record(iteration, state.objective, kept, seconds))
        stopped = callback is not None and bool(callback(history[-1]))
        if message is not None and solver.prunes and revivals < _MAX_REVIVALS:
            revived = _wrongly_pruned(full, active, state)
            if getattr(solver, "looks_again", False):
                revived = np.append(revived, _sorely_missed(full, active, state))
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
    """Go on from an answer with another prior or likelihood, on the columns that are left.

    The objective continues from its last value: the levels of two priors are not comparable.
    """
    start = _carry_on(answer.state, start)
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
    """Return the length of each column, or what the metric knows of it, if the solver prunes by it."""
    if not solver.prunes or problem.prior.kink == 0:
        return None
    if state.metric is not None:  # orders of magnitude decide: no need to look at all rows again
        return np.asarray(np.sqrt(np.maximum(np.diag(state.metric.gram), 0.0) / state.curvature.max()))
    return np.sqrt(problem.squares)


def _alive(state: State, lengths: Array | None) -> Mask:
    """Return which weights are worth more than nothing to the latent, in standard errors at the most."""
    if lengths is None:
        return np.ones(state.w.size, dtype=bool)
    sharpest = np.sqrt(state.curvature.max(initial=0.0))
    return np.asarray(np.abs(state.w) * lengths * sharpest > _NEGLIGIBLE)


def _prune(problem: Problem, state: State, active: Index, alive: Mask) -> tuple[Problem, State, Index]:
    """Return problem, state and index of the columns that are alive."""
    if alive.all():
        return problem, state, active
    index = np.flatnonzero(alive)
    problem = problem.keep(index)
    w = state.w[index]
    if state.metric is None:
        new = problem.state(w, state.b, state.likelihood)
    else:  # on many rows what has died is not worth another pass over them
        level, metric = state.fit - problem.penalty(w), state.metric.keep(index)
        new = replace(state, w=w, metric=metric, gradient=None, objective=level, offset=0.0)
    return problem, _carry_on(state, new), active[index]


def _carry_on(old: State, new: State) -> State:
    """Return the new state with its objective going on from the old one's.

    The difference goes into the offset, unless exact zeros under an infinitely deep prior have left
    the old one without a finite value.
    """
    if not np.isfinite(old.objective):
        return new
    offset = new.objective - old.objective
    return replace(new, objective=old.objective, offset=offset)


def _off_zero(problem: Problem, state: State) -> State:
    """Return the state with its exact zeros moved where the prior would hold them forever.

    Between ``q = 1`` and 2 a zero is no optimum, yet its touching Gaussian has variance 0.
    """
    held = (state.w == 0) & (problem.variance(np.zeros_like(state.w)) == 0)
    if not held.any():
        return state
    w = np.where(held, _first_weight(problem, state), state.w)
    return problem.state(w, state.b, state.likelihood)


def _first_weight(problem: Problem, state: State) -> Array:
    """Return a tenth of each weight's standard error, in the direction of its slope."""
    deviation = 1 / np.sqrt(np.maximum(problem.curvature(state), 1e-300))
    return 0.1 * np.sign(problem.gradient(state)) * deviation


def _wrongly_pruned(full: Problem, active: Index, state: State) -> Index:
    """Return pruned columns whose gradient exceeds what the prior withstands at zero (KKT)."""
    if not np.isfinite(full.prior.kink) or active.size == full.design.shape[1]:
        return active[:0]
    excess = np.abs(full.gradient(state)) > full.kinks() * (1 + 1e-6)
    excess[active] = False
    return np.flatnonzero(excess)


def _sorely_missed(full: Problem, active: Index, state: State) -> Index:
    """Return the column that is missed most, if any is beyond doubt, under a prior without a level.

    Zero absorbs under such a prior, so what a start has left out by mistake (features whose effects
    cancel at first) would stay out. Below the prior's own price it would be let go again. Beyond that,
    chance brings ``log p + log(n) / 2`` nats at the most: the price of a column in the extended BIC. On
    many rows the start has had every column in.
    """
    n, p = float(full.weight.sum()), full.design.shape[1]
    if active.size == p or full.many_rows or not full.penalty_unbounded:
        return active[:0]
    slope, sharpest = full.design.rmatvec(full.weight * state.slope), state.curvature.max()
    # At least, since the curvature is nowhere larger: what each would bring if the others stayed.
    worth = slope**2 / np.maximum(2 * sharpest * full.squares, np.finfo(float).tiny)
    worth[active] = 0.0
    price = max(prior_price(full.prior), extended_bic(n, p))
    first = np.flatnonzero(worth > _ALONE * price)
    if not first.size:
        return active[:0]
    first = first[np.argsort(-worth[first], kind="stable")[:_MISSED]]
    # With the others adapting, its curvature is a Schur complement: larger nats, if it is unlike them.
    gram, k = full.keep(np.append(active, first)).metric(state).gram, active.size
    own = np.diag(gram)[k:]
    left = own - np.sum(gram[:k, k:] * solve_semidefinite(gram[:k, :k], gram[:k, k:]), axis=0)
    worth = slope[first] ** 2 / (2 * np.maximum(left, _ALONE * own))
    best = int(np.argmax(worth))
    return np.asarray(first[[best]] if worth[best] > price else first[:0])


def _revive(full: Problem, state: State, active: Index, revived: Index) -> tuple[Problem, State, Index]:
    """Return problem and state with these columns back, at a small weight."""
    joined, alone = np.concatenate([active, revived]), full.keep(revived)
    order = np.argsort(joined)
    first = _first_weight(alone, state)
    if np.isinf(full.prior.kink):  # small ones would die again: at the weight that is best alone
        first = alone.gradient(state) / np.maximum(alone.curvature(state), np.finfo(float).tiny)
    w = np.concatenate([state.w, first])[order]
    problem = full.keep(joined[order])
    new = _carry_on(state, problem.state(w, state.b, state.likelihood))
    return problem, new, joined[order]
