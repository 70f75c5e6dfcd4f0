"""From the full model down: all precisions are updated at once, and most columns are let go."""

from __future__ import annotations

import numpy as np

from .._protocols import Index
from ..solvers import Problem
from ._bottom_up import Estimate, look
from ._mode import Mode, find_mode
from ._settle import settle
from ._start import first_precision

# A column that the data settle by less than this, and whose precision still grows, is gone.
_UNLEARNT = 1e-3
# No precision changes by more than this factor in one step.
_LEAP = 10.0
# When all precisions together gain less than this many nats in a step, and so many columns are left
# at the most, Newton's method takes over.
_SLOW, _FEW = 0.1, 300
# Nats to within which the precisions then settle.
_FINE = 1e-4
# Until then a step of Newton's method for the weights that would gain less than this is not made: what
# the evidence lacks is of the order of its root, and the next update moves it by more.
_ROUGH = 1e-4


def everything(problem: Problem) -> Estimate:
    """Return all columns under one precision."""
    p, empty = problem.design.shape[1], problem.empty()
    alpha = np.full(p, first_precision(problem, empty))
    mode = find_mode(problem, alpha, empty.likelihood, np.zeros(p), empty.b)
    return Estimate.of(mode, np.arange(p), p, refining=False)


def let_go(problem: Problem, state: Estimate) -> Estimate:
    """Return the estimate after one update of all precisions, or one look of the refinement."""
    if state.refining:
        return look(problem, state)
    mode, used = state.mode, state.mode.alpha * state.mode.w**2
    alive = (mode.learnt >= _UNLEARNT) | (used > mode.learnt)
    kept = np.flatnonzero(alive)
    with np.errstate(divide="ignore"):
        growth = np.clip(mode.learnt[kept] / used[kept], 1 / _LEAP, _LEAP)
    left = problem.keep(state.active[kept])
    new = find_mode(left, mode.alpha[kept] * growth, mode.refit(), mode.w[kept], mode.b, gain=_ROUGH)
    active, slow = state.active[kept], new.objective - mode.objective < _SLOW and kept.size <= _FEW
    if slow:
        new, active = _trim(new, active)
    return Estimate.of(new, active, problem.design.shape[1], refining=slow)


def _trim(mode: Mode, active: Index) -> tuple[Mode, Index]:
    """Return the model without the columns that would rather be gone, at whatever price.

    Hundreds of columns that say the same in turn are a maximum of their own, or nearly so; fewer are
    nats below it, and what they lack is found by the looks that follow.
    """
    alpha, kept = settle(mode.quadratic(), mode.alpha, tol=_FINE)
    return find_mode(mode.problem.keep(kept), alpha, mode.likelihood, mode.w[kept], mode.b), active[kept]
