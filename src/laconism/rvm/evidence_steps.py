"""Steps that maximise the evidence: columns are added from the empty model up, pruned from all down."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .._protocols import Array, Design, Index
from ..design import DenseDesign
from ..laplace.mode import COMPARISON_NATS, Mode, find_mode
from ..likelihoods import Likelihood
from ..linalg import Ridge, dissimilar, ridge_dual
from ..solvers import Problem
from .maximize_precisions import maximize_precisions
from .precisions import MAX_UPDATE_FACTOR, MIN_WELL_DETERMINED

# Columns that one step may add together; half as many as are in the model if that is more. Adding
# kernels one by one takes many steps; those that were not needed are deleted again.
_BATCH_COLUMNS = 32
# Near the end the evidence is maximised to within this. Before, modes are only compared.
_FINE_NATS = 1e-6
# Columns of a small problem: both directions are tried, and Newton's method prunes early.
FEW_COLUMNS = 300


@dataclass(frozen=True)
class EvidenceState:
    """The model that a search for the precisions of greatest evidence has reached."""

    w: Array  # of all columns
    b: float
    objective: float
    active: Index
    mode: Mode  # of the active columns
    refining: bool = True  # columns are added and deleted, instead of all precisions updated at once
    compared: bool = False  # with the result of the other direction

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood with its parameters as estimated."""
        return self.mode.likelihood

    @property
    def posterior(self) -> Ridge:
        """Mode and curvature of the posterior."""
        return self.mode.posterior

    def sorted_by_column(self, problem: Problem) -> EvidenceState:
        """Return the same model with its columns in the order of the design's."""
        order, mode = np.argsort(self.active), self.mode
        part, alpha, w = problem.keep(self.active[order]), mode.alpha[order], mode.w[order]
        mode = find_mode(part, alpha, mode.likelihood, w, mode.b)
        return replace(self, active=self.active[order], mode=mode)

    @classmethod
    def of(
        cls, mode: Mode, active: Index, n_columns: int, *, refining: bool = True, compared: bool = False
    ) -> Self:
        """Return the state with these columns active."""
        w = np.zeros(n_columns)
        w[active] = mode.w
        return cls(w, mode.b, mode.objective, active, mode, refining, compared)


def empty_model(problem: Problem) -> EvidenceState:
    """Return the model without columns."""
    none, empty = np.arange(0), problem.empty()
    mode = find_mode(problem.keep(none), np.zeros(0), empty.likelihood, np.zeros(0), empty.b)
    return EvidenceState.of(mode, none, problem.design.shape[1])


def add_step(problem: Problem, state: EvidenceState) -> EvidenceState:
    """Return the state after the gains of all columns were computed once, and the best were added."""
    mode, active = state.mode, state.active
    gain, alpha, length = evidence_gains(mode, active, problem.design)
    gain[active] = 0.0
    chosen = _dissimilar(problem.design, mode.r, gain, length, max(_BATCH_COLUMNS, active.size // 2))
    for some in (chosen, chosen[:1]):  # all of them, or else only the best
        if some.size and mode is state.mode:
            mode, active = _try_columns(problem, mode, active, some, alpha[some])
    if mode.objective - state.objective <= 1.0:  # less than a nat: the end is near
        finer, left = reestimate(mode, active, tol=_FINE_NATS)
        if finer.objective >= state.objective:
            mode, active = finer, left
    return EvidenceState.of(mode, active, problem.design.shape[1], compared=state.compared)


def evidence_gains(mode: Mode, active: Index, design: Design) -> tuple[Array, Array, Array]:
    """Return each column's gain in log evidence, the precision that attains it, and its length."""
    r = mode.r
    square, level = design.square_rmatvec(r), design.rmatvec(r)
    s = square - level**2 / r.sum() if mode.problem.intercept else square
    if mode.w.size:
        primal = mode.ridge if mode.ridge.dual is None else mode.quadratic().ridge(1 / mode.alpha)
        shared = design.gram_rows(active, r) - np.outer(primal.centre, level)
        whitened = primal.factor.whiten(primal.root[:, None] * shared)
        s = s - np.einsum("ij,ij->j", whitened, whitened)
    q2 = design.rmatvec(mode.problem.weight * mode.slope) ** 2
    # A column in the span of the others has next to nothing of its squared length outside it.
    pays = (s > 1e-9 * square) & (q2 > s)
    ratio = np.where(pays, q2, 1.0) / np.where(pays, s, 1.0)
    alpha = np.where(pays, s / np.where(pays, ratio - 1, 1.0), np.inf)
    return 0.5 * (ratio - 1 - np.log(ratio)), alpha, np.sqrt(np.maximum(square, 0.0))


def _dissimilar(design: Design, r: Array, gain: Array, length: Array, max_columns: int) -> Index:
    """Return the columns of largest gain, none of them highly correlated with a better one.

    Rows count with their precision ``r``. A batch of smaller gains would end the search.
    """

    def cosines(column: int) -> Array:
        product = np.abs(design.gram_rows(np.array([column]), r)[0])
        return np.asarray(product / np.maximum(length * length[column], np.finfo(float).tiny))

    gain = np.where(gain > COMPARISON_NATS / _BATCH_COLUMNS, gain, 0.0)
    return dissimilar(gain, cosines, max_columns, max_cosine=0.95)


def _try_columns(
    problem: Problem, mode: Mode, active: Index, columns: Index, alpha: Array
) -> tuple[Mode, Index]:
    """Return the model with these columns added, or as it was if the evidence is no greater."""
    joined, w = np.append(active, columns), np.append(mode.w, np.zeros(columns.size))
    part, precisions = problem.keep(joined), np.append(mode.alpha, alpha)
    new = find_mode(part, precisions, mode.likelihood, w, mode.b)
    new, joined = reestimate(new, joined, tol=COMPARISON_NATS)
    better = new.objective > mode.objective and not new.noise_unidentified
    return (new, joined) if better else (mode, active)


def reestimate(
    mode: Mode, active: Index, *, tol: float, max_approximations: int = 50
) -> tuple[Mode, Index]:
    """Return the model of greatest evidence to within ``tol`` nats; some columns may be deleted.

    Each round approximates the log-likelihood by a quadratic.
    """
    for _ in range(max_approximations):
        alpha, kept = maximize_precisions(mode.quadratic(), mode.alpha, tol=tol)
        smaller = kept.size < mode.w.size
        new = find_mode(mode.problem.keep(kept), alpha, mode.refit(), mode.w[kept], mode.b)
        # The gain of the quadratic need not be one of the likelihood; a column worth less than
        # COMPARISON_NATS is deleted all the same.
        if new.objective <= mode.objective - smaller * COMPARISON_NATS:
            break
        gain, mode, active = new.objective - mode.objective, new, active[kept]
        if not smaller and gain <= tol:
            break
    return mode, active


def prune_step(problem: Problem, state: EvidenceState) -> EvidenceState:
    """Return the state after a few updates of all precisions, or one step of the refinement."""
    if state.refining:
        return add_step(problem, state)
    mode = state.mode
    alpha, kept = _mackay_update(mode.alpha, mode.w, mode.well_determined)
    alpha, kept, w = _more_updates(mode.ridge, alpha, kept, mode.w[kept])
    left, active = problem.keep(state.active[kept]), state.active[kept]
    # The next update changes the evidence by more than the last digits of the weights would.
    new = find_mode(left, alpha, mode.refit(), w, mode.b, gain=COMPARISON_NATS)
    # Newton's method takes over; a few columns cost it little, so there it does so earlier.
    slow = new.objective - mode.objective < (10 if kept.size <= FEW_COLUMNS else 1) * COMPARISON_NATS
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

    An update that gains more than a nat ends them: the likelihood's curvature then changes too much.
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

    That may lower the evidence of hundreds of correlated columns; the add steps raise it again.
    """
    tol = COMPARISON_NATS / 100
    alpha, kept = maximize_precisions(mode.quadratic(), mode.alpha, tol=tol, price=COMPARISON_NATS)
    return find_mode(mode.problem.keep(kept), alpha, mode.likelihood, mode.w[kept], mode.b), active[kept]
