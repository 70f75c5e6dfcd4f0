"""Two ways to a maximum of the evidence, from nothing and from everything; the better one counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..solvers import Problem
from .bottom_up import COARSE, Estimate

# Up to so many columns, and no more of them than observations, both ways are gone.
_SMALL = 300
# The finest tolerance of a low-rank design: that of a small problem, where all ways see the same one.
_FINEST = 1e-10
# Steps of the other way at the most; it takes a few dozen.
_STEPS = 1_000


def rank_tolerance(n_columns: int, otherwise: float) -> float:
    """Return the tolerance of the design's factors for so many columns."""
    return _FINEST if n_columns <= _SMALL else otherwise


def no_more_to_gain(problem: Problem, old: Estimate, new: Estimate, tol: float) -> str | None:
    """Return a sentence if no column that is out would pay for itself."""
    enough = max(tol * problem.weight.sum(), COARSE)
    if new.objective - old.objective <= enough:
        return f"converged: no column would raise the log evidence by more than {enough:.2g} nats"
    return None


def best_of_both_directions(
    problem: Problem,
    old: Estimate,
    new: Estimate,
    start: Callable[[Problem], Estimate],
    step: Callable[[Problem, Estimate], Estimate],
) -> Estimate:
    """Return the new estimate or, at the end of a small problem, the better one from the other end.

    Kernels that are much alike make many maxima, nats apart, and which one is found hangs on the way.
    With more columns than observations the greatest evidence is that of a model without noise, which
    is no better: there a way keeps to itself. From the full model down it may end there with fewer
    columns, too; from the empty one up it does not.
    """
    small = problem.design.shape[1] <= min(_SMALL, problem.weight.sum())
    moves = not old.refining or new.objective - old.objective > COARSE
    if old.compared or moves or not (small or new.mode.noise_unidentified):
        return new
    other = start(problem)
    for _ in range(_STEPS):
        last, other = other, step(problem, other)
        if last.refining and other.objective - last.objective <= COARSE:
            break
    return replace(max(new, other, key=_rank), compared=True)


def _rank(estimate: Estimate) -> tuple[bool, float]:
    """Return by what the better end is told: the greater evidence, if it is any evidence."""
    return not estimate.mode.noise_unidentified, estimate.objective
