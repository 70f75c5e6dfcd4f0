"""From the empty model up: columns are added while the evidence rises."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .._protocols import Array, Design, Index, Likelihood
from ..laplace.mode import Mode, find_mode
from ..linalg import Ridge
from ..solvers import Problem
from .maximize_precisions import maximize_precisions

# Columns tried together after one look at all of them, at the most, or half as many as are in. Kernels
# that are tried one by one crawl along the rows; many at once show the way, and those that were not
# needed go again.
_BATCH = 32
# Two columns at least this much alike are not both tried after one look.
_ALIKE = 0.95
# While columns come and go, precisions settle to within so many nats, and a step that gains less is
# the last; once a step gains less than the second they settle to within the third.
COARSE, _CLOSE, _FINE = 1e-2, 1.0, 1e-6
# How often the likelihood is touched anew while the precisions settle.
_ROUNDS = 50
# Below this part of its squared length a column is in the span of the others, but for rounding.
_IN_SPAN = 1e-9


@dataclass(frozen=True)
class Estimate:
    """Where the search for precisions stands."""

    w: Array  # of all columns
    b: float
    objective: float
    active: Index
    mode: Mode  # of the active columns
    refining: bool = True  # columns come and go one by one
    compared: bool = False  # with where the way from the other end leads to

    @property
    def columns(self) -> Index:
        """Which of all columns are in."""
        return self.active

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood with its parameters as estimated."""
        return self.mode.likelihood

    @property
    def posterior(self) -> Ridge:
        """Mode and curvature of the posterior."""
        return self.mode.posterior

    def in_order(self, problem: Problem) -> Estimate:
        """Return the same model with its columns in the order of the design's."""
        order, mode = np.argsort(self.active), self.mode
        active = self.active[order]
        part = problem.keep(active)
        mode = find_mode(part, mode.alpha[order], mode.likelihood, mode.w[order], mode.b)
        return replace(self, active=active, mode=mode)

    @classmethod
    def of(
        cls,
        mode: Mode,
        active: Index,
        n_columns: int,
        *,
        refining: bool = True,
        compared: bool = False,
    ) -> Self:
        """Return the estimate with these columns active."""
        w = np.zeros(n_columns)
        w[active] = mode.w
        return cls(w, mode.b, mode.objective, active, mode, refining, compared)


def empty_model(problem: Problem) -> Estimate:
    """Return the model without columns."""
    none, empty = np.arange(0), problem.empty()
    mode = find_mode(problem.keep(none), np.zeros(0), empty.likelihood, np.zeros(0), empty.b)
    return Estimate.of(mode, none, problem.design.shape[1])


def add_step(problem: Problem, state: Estimate) -> Estimate:
    """Return the estimate after one look at all columns."""
    mode, active = state.mode, state.active
    gain, alpha, length = evidence_gains(mode, active, problem.design)
    gain[active] = 0.0
    chosen = _dissimilar(problem.design, mode.r, gain, length, max(_BATCH, active.size // 2))
    for size in (chosen.size, 1):  # all at once, or at least the best
        some = chosen[:size]
        if some.size:
            mode, active = _try(problem, mode, active, some, alpha[some])
        if mode is not state.mode:
            break
    if mode.objective - state.objective <= _CLOSE:
        finer, left = reestimate(mode, active, tol=_FINE)
        if finer.objective >= state.objective:
            mode, active = finer, left
    return Estimate.of(mode, active, problem.design.shape[1], compared=state.compared)


def evidence_gains(mode: Mode, active: Index, design: Design) -> tuple[Array, Array, Array]:
    """Return what each column would add to the log evidence, at which precision, and its length."""
    r = mode.r
    square, level = design.square_rmatvec(r), design.rmatvec(r)
    s = square - level**2 / r.sum() if mode.problem.intercept else square
    if mode.w.size:
        primal = mode.ridge if mode.ridge.dual is None else mode.quadratic().ridge(1 / mode.alpha)
        shared = design.gram_rows(active, r) - np.outer(primal.centre, level)
        whitened = primal.factor.whiten(primal.root[:, None] * shared)
        s = s - np.einsum("ij,ij->j", whitened, whitened)
    q2 = design.rmatvec(mode.problem.weight * mode.slope) ** 2
    pays = (s > _IN_SPAN * square) & (q2 > s)
    ratio = np.where(pays, q2, 1.0) / np.where(pays, s, 1.0)
    alpha = np.where(pays, s / np.where(pays, ratio - 1, 1.0), np.inf)
    return 0.5 * (ratio - 1 - np.log(ratio)), alpha, np.sqrt(np.maximum(square, 0.0))


def _dissimilar(design: Design, r: Array, gain: Array, length: Array, most: int) -> Index:
    """Return the columns that promise most, none of them much like one before it.

    Alike is a matter of the rows that count, as often as they count.
    """
    gain = np.where(gain > COARSE / _BATCH, gain, 0.0)  # a batch of less would end the search
    chosen: list[int] = []
    while gain.any() and len(chosen) < most:
        best = int(np.argmax(gain))
        chosen.append(best)
        product = np.abs(design.gram_rows(np.array([best]), r)[0])
        gain[product > _ALIKE * length * length[best]] = 0.0
        gain[best] = 0.0
    return np.array(chosen, dtype=np.intp)


def _try(
    problem: Problem, mode: Mode, active: Index, columns: Index, alpha: Array
) -> tuple[Mode, Index]:
    """Return the model with these columns as well, or as it was if the evidence is no greater."""
    joined = np.append(active, columns)
    new = find_mode(
        problem.keep(joined),
        np.append(mode.alpha, alpha),
        mode.likelihood,
        np.append(mode.w, np.zeros(columns.size)),
        mode.b,
    )
    new, joined = reestimate(new, joined, tol=COARSE)
    better = new.objective > mode.objective and not new.noise_unidentified
    return (new, joined) if better else (mode, active)


def reestimate(mode: Mode, active: Index, *, tol: float) -> tuple[Mode, Index]:
    """Return the model with precisions and noise settled to within ``tol`` nats, the doomed deleted."""
    for _ in range(_ROUNDS):
        alpha, kept = maximize_precisions(mode.quadratic(), mode.alpha, tol=tol)
        smaller = kept.size < mode.w.size
        new = find_mode(mode.problem.keep(kept), alpha, mode.refit(), mode.w[kept], mode.b)
        # The quadratic may promise what the likelihood does not keep; a column that is worth next to
        # nothing goes all the same.
        if new.objective <= mode.objective - smaller * COARSE:
            break
        gain, mode, active = new.objective - mode.objective, new, active[kept]
        if not smaller and gain <= tol:
            break
    return mode, active
