"""The one convergence loop, and the four things it is made of.

A *Problem* is what is asked, a *State* is what the next step needs, a *History* is what a person wants
to see, a *Solution* is the answer with a sentence about how it was reached.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from .._protocols import Array, Design, Index, Likelihood, Prior
from ..linalg import Ridge, ridge

# A weight whose whole contribution to the latent is below this many standard errors cannot come back
# under a prior that absorbs zeros, and nobody would miss it.
_NEGLIGIBLE = 1e-7
# The least curvature of a row, as a part of the largest.
_LEAST_CURVATURE = 1e-10
# How often optimality may be re-checked and pruned columns brought back before we say so.
_MAX_REVIVALS = 10


@dataclass(frozen=True)
class Problem:
    """Maximise ``sum_i weight_i log p(y_i | f_i) - sum_j penalty((scale_j w_j)^2)``, ``f = Phi w + b``.

    ``intercept`` says whether ``b`` is free; a penalised intercept is a column of the design.
    ``scale`` measures each weight in units of its column, for starts that must not depend on units;
    ``kernels`` says that the columns are many views of few directions.
    """

    design: Design
    y: Array
    likelihood: Likelihood
    prior: Prior
    weight: Array
    intercept: bool
    kernels: bool = False
    scale: Array | None = None

    def keep(self, active: Index) -> Self:
        """Return the problem of these columns only."""
        scale = None if self.scale is None else self.scale[active]
        return replace(self, design=self.design.keep(active), scale=scale)

    def penalty(self, w: Array) -> float:
        """Return the penalty of all weights."""
        scaled = w if self.scale is None else self.scale * w
        return float(np.sum(self.prior.penalty(scaled**2)))

    def variance(self, w: Array) -> Array:
        """Return the variance of the Gaussian that touches the prior of each weight."""
        if self.scale is None:
            return self.prior.variance(w**2)
        return self.prior.variance((self.scale * w) ** 2) / self.scale**2

    def kinks(self) -> Array:
        """Return the gradient that each weight withstands at zero."""
        return self.prior.kink * (np.ones(self.design.shape[1]) if self.scale is None else self.scale)

    def latent(self, w: Array, b: float) -> Array:
        """Return ``Phi w + b``."""
        return self.design.matvec(w) + b

    def state(self, w: Array, b: float, likelihood: Likelihood, offset: float = 0.0) -> State:
        """Return the state at these weights, with its objective."""
        return self._at(w, b, self.latent(w, b), likelihood, offset)

    def refit(self, w: Array, b: float, likelihood: Likelihood, offset: float = 0.0) -> State:
        """Return the state at these weights with the likelihood's own parameters re-estimated."""
        f = self.latent(w, b)
        likelihood = likelihood.refit(self.y, f, self.weight, int(np.count_nonzero(w)))
        return self._at(w, b, f, likelihood, offset)

    def _at(self, w: Array, b: float, f: Array, likelihood: Likelihood, offset: float) -> State:
        log_p, slope, curvature = likelihood.evaluate(self.y, f)
        objective = float(self.weight @ log_p) - self.penalty(w) - offset
        return State(w, b, f, likelihood, slope, curvature, objective, offset)

    def empty(self) -> State:
        """Return the model without columns: the best intercept, where it is free."""
        none = self.keep(np.arange(0))
        state = none.refit(np.zeros(0), 0.0, self.likelihood)
        for _ in range(100 if self.intercept else 0):  # Newton on one number, by the bound's curvature
            _, r = state.likelihood.surrogate(self.y, state.f, np.zeros_like(state.f))
            information = float(self.weight @ r)
            step = float(self.weight @ state.slope) / information
            state = none.refit(state.w, state.b + step, state.likelihood)
            if abs(step) * np.sqrt(information) < 1e-12:
                break
        return replace(state, w=np.zeros(self.design.shape[1]))

    def osculate(self, state: State) -> tuple[Array, Array]:
        """Return precision and target of the Gaussian with the likelihood's own curvature.

        A well-classified row has next to none; a part of the largest keeps its target finite. The
        gradient, and with it the answer, is untouched.
        """
        curvature = np.maximum(state.curvature, _LEAST_CURVATURE * state.curvature.max(initial=0.0))
        curvature = np.maximum(curvature, np.finfo(float).tiny)
        return self.weight * curvature, state.f + state.slope / curvature

    def gradient(self, state: State) -> Array:
        """Return the slope of the log-likelihood in each weight."""
        return self.design.rmatvec(self.weight * state.slope)

    def curvature(self, state: State) -> Array:
        """Return minus the second derivative of the log-likelihood along each weight.

        The intercept is eliminated; the inverse square root is a weight's standard error if it were
        alone.
        """
        r = self.weight * state.curvature
        diagonal = self.design.square_rmatvec(r)
        if self.intercept:
            diagonal = diagonal - self.design.rmatvec(r) ** 2 / max(r.sum(), np.finfo(float).tiny)
        return np.maximum(diagonal, 0.0)

    def ridge(self, r: Array, z: Array, w: Array) -> Ridge:
        """Solve the weighted ridge problem that touches prior and likelihood at ``w``."""
        return ridge(self.design, r, z, self.variance(w), intercept=self.intercept)


@dataclass(frozen=True)
class State:
    """What the next step needs."""

    w: Array
    b: float
    f: Array
    likelihood: Likelihood
    slope: Array  # of the log-likelihood in f
    curvature: Array  # minus its second derivative
    objective: float
    # What pruning took from or gave to the objective: an improper prior has no level of its own, and
    # with this one the objective of an ascent method never drops.
    offset: float


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
) -> Solution:
    """Step until the solver is done; prune what died, and bring back what should not have.

    A callback that returns ``True`` stops the fit after that iteration.
    """
    full, active = problem, np.arange(problem.design.shape[1])
    state = solver.init(problem) if start is None else start
    if solver.prunes and np.isinf(problem.prior.kink):  # zero absorbs: what starts there stays
        problem, state, active = _prune(problem, state, active, state.w != 0)
    elif solver.prunes and problem.prior.kink == 0:
        state = _off_zero(problem, state)
    history: list[Record] = []
    began, revivals = time.perf_counter(), 0
    message, stopped = None, False
    for iteration in range(1, max_iter + 1):
        new = solver.step(problem, state)
        message = solver.done(problem, state, new, tol)
        alive, state = _alive(problem, new, solver), new
        if not alive.all():  # the answer has still to settle on what is left
            message = None
            problem, state, active = _prune(problem, state, active, alive)
        kept, seconds = int(np.count_nonzero(state.w)), time.perf_counter() - began
        history.append(Record(iteration, state.objective, kept, seconds))
        stopped = callback is not None and bool(callback(history[-1]))
        if message is not None and solver.prunes and revivals < _MAX_REVIVALS:
            revived = _wrongly_pruned(full, active, state)
            if revived.size:
                revivals, message = revivals + 1, None
                problem, state, active = _revive(full, state, active, revived)
        if message is not None or stopped:
            break
    converged = message is not None
    if stopped and not converged:
        message = "stopped by a callback"
    elif not converged:
        message = f"did not converge within max_iter={max_iter}; raise max_iter or tol"
    sentence = f"{message} ({len(history)} iterations, {np.count_nonzero(state.w)} kept)."
    sentence = sentence[0].upper() + sentence[1:]
    return Solution(active, state, problem, Status(converged, sentence, stopped), history)


def resume(
    answer: Solution,
    prior: Prior,
    solver: Solver,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Solution:
    """Go on from an answer under another prior, on the columns that are left.

    The objective continues from its last value: the two priors' levels are not comparable.
    """
    problem, old = replace(answer.problem, prior=prior), answer.state
    start = _carry_on(old, problem.state(old.w, old.b, old.likelihood))
    done, last = len(answer.history), answer.history[-1]

    def count_on(record: Record) -> Record:
        return record._replace(iteration=record.iteration + done, seconds=record.seconds + last.seconds)

    def report(record: Record) -> object:
        return callback(count_on(record)) if callback is not None else None

    more = solve(problem, solver, start=start, max_iter=max_iter, tol=tol, callback=report)
    return replace(
        more,
        active=answer.active[more.active],
        history=answer.history + [count_on(record) for record in more.history],
        status=more.status if answer.status.converged else answer.status,
    )


def _alive(problem: Problem, state: State, solver: Solver) -> Mask:
    if not solver.prunes or problem.prior.kink == 0:
        return np.ones(state.w.size, dtype=bool)
    return np.abs(state.w) * np.sqrt(problem.curvature(state)) > _NEGLIGIBLE


def _prune(problem: Problem, state: State, active: Index, alive: Mask) -> tuple[Problem, State, Index]:
    """Return problem, state and index of the columns that are alive."""
    index = np.flatnonzero(alive)
    problem = problem.keep(index)
    return (
        problem,
        _carry_on(state, problem.state(state.w[index], state.b, state.likelihood)),
        active[index],
    )


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


def _revive(full: Problem, state: State, active: Index, revived: Index) -> tuple[Problem, State, Index]:
    """Return problem and state with these columns back, at a small weight."""
    joined = np.concatenate([active, revived])
    order = np.argsort(joined)
    w = np.concatenate([state.w, _first_weight(full.keep(revived), state)])[order]
    problem = full.keep(joined[order])
    new = _carry_on(state, problem.state(w, state.b, state.likelihood))
    return problem, new, joined[order]


def flat(problem: Problem, old: State, new: State, tol: float) -> str | None:
    """Return a sentence if the objective rose by less than ``tol`` nats per observation."""
    if abs(new.objective - old.objective) <= tol * problem.weight.sum():
        return f"converged: the objective changed by at most {tol:g} nats per observation"
    return None
