"""Maxima of the evidence from the empty and from the full model: the better one is taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..solvers import Problem
from .bottom_up import COARSE_NATS, EvidenceState

# Columns up to which both directions are tried, if there are at least as many observations.
_MAX_COLUMNS_BOTH_WAYS = 300
# Tolerance of a low-rank design that small: both directions then work on the same columns.
_SMALL_RANK_TOLERANCE = 1e-10
# Steps in the other direction before giving up.
_MAX_STEPS = 1_000


def rank_tolerance(n_columns: int, default: float) -> float:
    """Return the tolerance of the design's factors for this many columns."""
    return _SMALL_RANK_TOLERANCE if n_columns <= _MAX_COLUMNS_BOTH_WAYS else default


def convergence_message(
    problem: Problem, old: EvidenceState, new: EvidenceState, tol: float
) -> str | None:
    """Return a sentence if no column outside the model would raise the evidence enough."""
    least = max(tol * problem.weight.sum(), COARSE_NATS)
    if new.objective - old.objective <= least:
        return f"converged: no column would raise the log evidence by more than {least:.2g} nats"
    return None


def best_of_both_directions(
    problem: Problem,
    old: EvidenceState,
    new: EvidenceState,
    start: Callable[[Problem], EvidenceState],
    step: Callable[[Problem, EvidenceState], EvidenceState],
) -> EvidenceState:
    """Return the new state or, at the end of a small problem, the better one from the other direction.

    Highly correlated kernels make many local maxima of the evidence, and the direction decides which one
    is found. With more columns than observations the greatest evidence is that of a model without noise,
    which does not predict better: there only one direction is tried, unless it ended without noise.
    """
    small = problem.design.shape[1] <= min(_MAX_COLUMNS_BOTH_WAYS, problem.weight.sum())
    moves = not old.refining or new.objective - old.objective > COARSE_NATS
    if old.compared or moves or not (small or new.mode.noise_unidentified):
        return new
    other = start(problem)
    for _ in range(_MAX_STEPS):
        last, other = other, step(problem, other)
        if last.refining and other.objective - last.objective <= COARSE_NATS:
            break
    return replace(max(new, other, key=_rank), compared=True)


def _rank(state: EvidenceState) -> tuple[bool, float]:
    """Return what states are compared by: whether their noise is identified, then the evidence."""
    return not state.mode.noise_unidentified, state.objective
