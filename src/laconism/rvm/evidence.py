"""Type-II maximum likelihood: solvers from the empty model up and from the full model down.

Where both are affordable the better of their maxima is taken, and Akaike's test compares it with the
model without columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import numpy as np

from .._component import Component
from ..judging.price import AKAIKE_NATS
from ..laplace.first_precision import first_precision
from ..laplace.mode import COMPARISON_NATS, Mode, find_mode
from ..laplace.shared_precision import fit_shared
from ..likelihoods import Binary, Gaussian
from ..solvers import Problem
from .evidence_steps import FEW_COLUMNS, EvidenceState, add_step, empty_model, prune_step

# Columns to start with; of more, evenly spaced ones are taken, since the others are neighbours of these.
_MAX_START_COLUMNS = 5_000


class _EvidenceSolver(Component):
    """What both directions share: a subclass adds its start, its step and the error of its factors."""

    prunes = False  # the loop's pruning is for priors that absorb zeros; here columns are deleted
    _factor_tol: ClassVar[float]

    def rank_tol(self, n_columns: int) -> float:
        """Return the tolerance of the design's factors; where few, both directions have the same."""
        return 1e-10 if n_columns <= FEW_COLUMNS else self._factor_tol

    def done(self, problem: Problem, old: EvidenceState, new: EvidenceState, tol: float) -> str | None:
        """Return a sentence if no column outside the model would raise the evidence enough."""
        least = max(tol * float(problem.weight.sum()), COMPARISON_NATS)
        if old.refining and new.objective - old.objective <= least:
            return f"converged: no column would raise the log evidence by more than {least:.2g} nats"
        return None


class Sequential(_EvidenceSolver):
    r"""Maximise the evidence of the precisions by adding, re-estimating and deleting columns.

    A column outside the model is worth :math:`\tfrac12(q^2/s - 1 - \log(q^2/s))` nats if
    :math:`q^2 > s`, at the precision :math:`s^2/(q^2 - s)`, where
    :math:`s = \phi^T R\phi - \phi^T R\Phi\Sigma\Phi^T R\phi` and :math:`q = \phi^T R(z - f)`
    (M. Tipping, A. Faul, AISTATS 2003).
    """

    _factor_tol = 1e-6  # the factors only choose: kept columns are exact

    def init(self, problem: Problem) -> EvidenceState:
        """Return the model without columns."""
        return empty_model(problem)

    def step(self, problem: Problem, state: EvidenceState) -> EvidenceState:
        """Return the state after the best columns were added."""
        return best_of_both_directions(problem, state, add_step(problem, state), full_model, prune_step)


class TopDownEvidence(_EvidenceSolver):
    r"""Maximise the evidence of the precisions, starting with all columns.

    MacKay's update :math:`\alpha_k = \gamma_k/w_k^2` changes all precisions at once until most columns
    are pruned; then the steps of :class:`Sequential` add columns that were pruned too early.
    """

    _factor_tol = 1e-8  # small factors decide what is deleted

    def init(self, problem: Problem) -> EvidenceState:
        """Return all columns under one precision."""
        return full_model(problem)

    def step(self, problem: Problem, state: EvidenceState) -> EvidenceState:
        """Return the state after one update of all precisions, or one step of the refinement."""
        return best_of_both_directions(problem, state, prune_step(problem, state), empty_model, add_step)


def full_model(problem: Problem) -> EvidenceState:
    """Return all columns, or evenly spaced ones of very many, under one precision."""
    p = problem.design.shape[1]
    active = np.arange(0, p, max(1, -(-p // _MAX_START_COLUMNS)))
    part, empty = problem.keep(active), problem.empty()
    if isinstance(problem.likelihood, Gaussian):
        return EvidenceState.of(_below_best_precision(part), active, p, refining=False)
    alpha = np.full(active.size, first_precision(part, empty))
    mode = find_mode(part, alpha, empty.likelihood, np.zeros(active.size), empty.b)
    return EvidenceState.of(mode, active, p, refining=False)


def _below_best_precision(problem: Problem) -> Mode:
    """Return all columns of a regression under the first shared precision below the best one.

    Under a larger one, correlated weights that are large only together would be pruned.
    """
    best = fit_shared(problem, 1.0)
    for power in range(1, 13):
        mode = fit_shared(problem, 10.0**-power)
        if mode.noise_unidentified:
            return best
        if mode.objective <= best.objective:
            return mode
        best = mode
    return best


def best_of_both_directions(
    problem: Problem,
    old: EvidenceState,
    new: EvidenceState,
    start: Callable[[Problem], EvidenceState],
    step: Callable[[Problem, EvidenceState], EvidenceState],
    max_steps: int = 1_000,
) -> EvidenceState:
    """Return the new state or, at the end of a small problem, the better one from the other direction.

    With more columns than observations the greatest evidence is that of a model without noise: there one
    direction is tried, unless it ended so.
    """
    small = problem.design.shape[1] <= min(FEW_COLUMNS, float(problem.weight.sum()))
    moves = not old.refining or new.objective - old.objective > COMPARISON_NATS
    if old.compared or moves or not (small or new.mode.noise_unidentified):
        return new
    other = start(problem)
    for _ in range(max_steps):
        last, other = other, step(problem, other)
        if last.refining and other.objective - last.objective <= COMPARISON_NATS:
            break
    # A model whose noise is not identified has the evidence of an interpolation.
    better = max(new, other, key=lambda each: (not each.mode.noise_unidentified, each.objective))
    return replace(better, compared=True)


def akaike_test(problem: Problem, found: EvidenceState, allowed: Problem) -> EvidenceState:
    """Return the state if its evidence is worth its precisions, otherwise the model without columns.

    Akaike's price is one nat for each precision (Likelihood and the Bayes procedure, 1980). Where nearly
    every row needs a kernel of its own, the gain per row counts instead (record 021). The empty model
    may have the intercept of ``allowed``.
    """
    if not found.active.size:
        return found
    empty = empty_model(problem)
    without = max(empty.objective, empty_model(allowed).objective)
    price = AKAIKE_NATS * found.active.size
    if isinstance(problem.likelihood, Binary):  # a quarter of the entropy of a fair coin, a row
        price = min(price, math.log(2) / 4 * float(problem.weight.sum()))
    return found if found.objective - without > price else empty
