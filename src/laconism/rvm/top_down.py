"""From the full model down: all precisions are updated at once, and most columns are let go."""

from __future__ import annotations

import numpy as np

from .._protocols import Array, Design, Index
from ..design import DenseDesign
from ..laplace.first_precision import first_precision
from ..laplace.mode import Mode, find_mode
from ..laplace.shared_precision import fit_shared
from ..likelihoods import Gaussian
from ..linalg import Ridge, ridge_dual
from ..solvers import Problem
from .bottom_up import COARSE, Estimate, add_step
from .maximize_precisions import maximize_precisions

# Columns to begin with at the most. More are neighbours of these, and cost as much as the rows do; on
# 20,000 rows of Ripley's data models end a nat lower in 4,400 and predict the same.
_ENOUGH = 5_000
# Precisions that all columns of a regression have at first, as multiples of where it starts otherwise.
_MULTIPLES = 10.0 ** -np.arange(1, 13)
# A column that the data settle by less than this, and whose precision still grows, is gone.
_UNLEARNT = 1e-3
# No precision changes by more than this factor in one update.
_LEAP = 10.0
# Once an update gains less than so many nats there are so many at the most around one quadratic, and
# the rows are not looked at in between. Before that the curvature changes too much: models end up to
# half a nat lower.
_CALM, _UPDATES = 1.0, 8
# When all precisions together gain less than this many nats in a step, and so many columns are left
# at the most, Newton's method takes over; with more of them it does when a step gains next to nothing.
_SLOW, _FEW = 0.1, 300
# Nats to within which the precisions then settle.
_FINE = 1e-4
# Until then a step of Newton's method for the weights that would gain less than this is not made: what
# the evidence lacks is of the order of its root, and the next update moves it by more.
_ROUGH = 1e-3


def full_model(problem: Problem) -> Estimate:
    """Return all columns under one precision, or of very many those at even steps."""
    p = problem.design.shape[1]
    active = np.arange(0, p, max(1, -(-p // _ENOUGH)))
    part, empty = problem.keep(active), problem.empty()
    if isinstance(problem.likelihood, Gaussian):
        return Estimate.of(_roomy(part), active, p, refining=False)
    alpha = np.full(active.size, first_precision(part, empty))
    mode = find_mode(part, alpha, empty.likelihood, np.zeros(active.size), empty.b)
    return Estimate.of(mode, active, p, refining=False)


def _roomy(problem: Problem) -> Mode:
    """Return all columns of a regression under the first precision that is less than the best.

    From a tighter start weights that are large only together are let go before they have found each
    other, and the noise is what they would have said.
    """
    best = fit_shared(problem, 1.0)
    for multiple in _MULTIPLES:
        roomier = fit_shared(problem, multiple)
        if roomier.noise_unidentified:
            return best
        if roomier.objective <= best.objective:
            return roomier
        best = roomier
    return best


def prune_step(problem: Problem, state: Estimate) -> Estimate:
    """Return the estimate after a few updates of all precisions, or one look of the refinement."""
    if state.refining:
        return add_step(problem, state)
    mode = state.mode
    alpha, kept = _update(mode.alpha, mode.w, mode.well_determined)
    alpha, kept, w = _go_on(mode.ridge, alpha, kept, mode.w[kept])
    left, active = problem.keep(state.active[kept]), state.active[kept]
    new = find_mode(left, alpha, mode.refit(), w, mode.b, gain=_ROUGH)
    slow = new.objective - mode.objective < (_SLOW if kept.size <= _FEW else COARSE)
    if slow:
        new, active = _trim(new, active)
    return Estimate.of(new, active, problem.design.shape[1], refining=slow)


def _update(alpha: Array, w: Array, well_determined: Array) -> tuple[Array, Index]:
    r"""Return MacKay's :math:`\alpha = \gamma/w^2`, and which columns are not yet gone."""
    used = alpha * w**2
    kept = np.flatnonzero((well_determined >= _UNLEARNT) | (used > well_determined))
    with np.errstate(divide="ignore"):
        growth = np.clip(well_determined[kept] / used[kept], 1 / _LEAP, _LEAP)
    return alpha[kept] * growth, kept


def _go_on(ridge: Ridge, alpha: Array, kept: Index, w: Array) -> tuple[Array, Index, Array]:
    """Return precisions, columns and weights after more updates, the likelihood still touched there.

    All is done in the directions of the compressed problem, which are few where rows are many.
    """
    if ridge.dual is None or ridge.target is None:
        return alpha, kept, w
    design: Design = DenseDesign((ridge.dual / ridge.root)[:, kept])
    target = ridge.target
    one, value = np.ones(design.height), _value(ridge, target)
    for _ in range(_UPDATES - 1):
        if kept.size <= design.height:
            break
        answer = ridge_dual(design, one, target, 1 / alpha, intercept=False)
        before, value = value, _value(answer, target)
        if value - before > _CALM:
            break
        alpha, stay = _update(alpha, answer.weights, answer.well_determined())
        design, kept, w = design.keep(stay), kept[stay], answer.weights[stay]
    return alpha, kept, w


def _value(ridge: Ridge, target: Array) -> float:
    """Return the evidence of the precisions where the likelihood is the compressed problem's."""
    return -0.5 * (float(target @ ridge.factor.solve(target)) + ridge.log_det)


def _trim(mode: Mode, active: Index) -> tuple[Mode, Index]:
    """Return the model without the columns that would rather be gone, at whatever price.

    Hundreds of columns that say the same in turn are a maximum of their own, or nearly so; fewer are
    nats below it, and what they lack is found by the looks that follow.
    """
    alpha, kept = maximize_precisions(mode.quadratic(), mode.alpha, tol=_FINE, price=COARSE)
    return find_mode(mode.problem.keep(kept), alpha, mode.likelihood, mode.w[kept], mode.b), active[kept]
