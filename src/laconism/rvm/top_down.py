"""From the full model down: all precisions are updated at once, and most columns are pruned."""

from __future__ import annotations

import numpy as np

from .._protocols import Array, Design, Index
from ..design import DenseDesign
from ..laplace.mode import Mode, find_mode
from ..linalg import Ridge, ridge_dual
from ..solvers import Problem
from .bottom_up import COARSE_NATS, FEW_COLUMNS, EvidenceState, add_step
from .maximize_precisions import maximize_precisions
from .precisions import MAX_UPDATE_FACTOR, MIN_WELL_DETERMINED


def prune_step(problem: Problem, state: EvidenceState) -> EvidenceState:
    """Return the state after a few updates of all precisions, or one step of the refinement."""
    if state.refining:
        return add_step(problem, state)
    mode = state.mode
    alpha, kept = _mackay_update(mode.alpha, mode.w, mode.well_determined)
    alpha, kept, w = _more_updates(mode.ridge, alpha, kept, mode.w[kept])
    left, active = problem.keep(state.active[kept]), state.active[kept]
    # The next update changes the evidence by more than the last digits of the weights would.
    new = find_mode(left, alpha, mode.refit(), w, mode.b, gain=COARSE_NATS)
    # Newton's method takes over; a few columns cost it little, so there it does so earlier.
    slow = new.objective - mode.objective < (10 if kept.size <= FEW_COLUMNS else 1) * COARSE_NATS
    if slow:
        new, active = _prune_by_newton(new, active)
    return EvidenceState.of(new, active, problem.design.shape[1], refining=slow)


def _mackay_update(alpha: Array, w: Array, well_determined: Array) -> tuple[Array, Index]:
    r"""Return MacKay's :math:`\alpha = \gamma/w^2`, and which columns are kept."""
    used = alpha * w**2
    kept = np.flatnonzero((well_determined >= MIN_WELL_DETERMINED) | (used > well_determined))
    with np.errstate(divide="ignore"):
        growth = np.clip(well_determined[kept] / used[kept], 1 / MAX_UPDATE_FACTOR, MAX_UPDATE_FACTOR)
    return alpha[kept] * growth, kept


def _more_updates(
    ridge: Ridge, alpha: Array, kept: Index, w: Array, max_updates: int = 7
) -> tuple[Array, Index, Array]:
    """Return precisions, columns and weights after more updates with the same approximate likelihood.

    All products are those of the compressed problem, which has few rows. An update that gains more than
    a nat ends them, since the curvature of the likelihood then changes too much.
    """
    if ridge.dual is None or ridge.target is None:
        return alpha, kept, w
    design: Design = DenseDesign((ridge.dual / ridge.root)[:, kept])
    target = ridge.target
    one, value = np.ones(design.height), _evidence(ridge, target)
    for _ in range(max_updates):
        if kept.size <= design.height:
            break
        answer = ridge_dual(design, one, target, 1 / alpha, intercept=False)
        before, value = value, _evidence(answer, target)
        if value - before > 1.0:
            break
        alpha, stay = _mackay_update(alpha, answer.weights, answer.well_determined())
        design, kept, w = design.keep(stay), kept[stay], answer.weights[stay]
    return alpha, kept, w


def _evidence(ridge: Ridge, target: Array) -> float:
    """Return the evidence of the precisions in the compressed problem, up to a constant."""
    return -0.5 * (float(target @ ridge.factor.solve(target)) + ridge.log_det)


def _prune_by_newton(mode: Mode, active: Index) -> tuple[Mode, Index]:
    """Return the model with precisions maximised by Newton's method, which deletes columns.

    Hundreds of highly correlated columns are near a local maximum of their own. Deleting most of them
    may lower the evidence; the add steps that follow raise it again.
    """
    tol = COARSE_NATS / 100
    alpha, kept = maximize_precisions(mode.quadratic(), mode.alpha, tol=tol, price=COARSE_NATS)
    return find_mode(mode.problem.keep(kept), alpha, mode.likelihood, mode.w[kept], mode.b), active[kept]
