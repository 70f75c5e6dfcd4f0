"""Type-II maximum likelihood: solvers from the empty model up and from the full model down.

Where both are affordable the better of their maxima is taken, and Akaike's test compares it with the
model without columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from .._component import Component
from ..judging.price import AKAIKE_NATS
from ..likelihoods import Binary
from ..solvers import Problem
from .bottom_up import COARSE_NATS, FEW_COLUMNS, EvidenceState, add_step, empty_model
from .full_model import full_model
from .top_down import prune_step


class _EvidenceSolver(Component):
    """What both directions share: a subclass adds its start, its step and the error of its factors."""

    prunes = False  # the loop's pruning is for priors that absorb zeros; here columns are deleted
    _factor_tol: ClassVar[float]

    def rank_tol(self, n_columns: int) -> float:
        """Return the tolerance of the design's factors; where few, both directions have the same."""
        return 1e-10 if n_columns <= FEW_COLUMNS else self._factor_tol

    def done(self, problem: Problem, old: EvidenceState, new: EvidenceState, tol: float) -> str | None:
        """Return a sentence if no column outside the model would raise the evidence enough."""
        least = max(tol * problem.weight.sum(), COARSE_NATS)
        if old.refining and new.objective - old.objective <= least:
            return f"converged: no column would raise the log evidence by more than {least:.2g} nats"
        return None


class Sequential(_EvidenceSolver):
    r"""Maximise the evidence of the precisions by adding, re-estimating and deleting columns [TF03]_.

    A column outside the model is worth :math:`\tfrac12(q^2/s - 1 - \log(q^2/s))` nats if
    :math:`q^2 > s`, at the precision :math:`s^2/(q^2 - s)`, where

    .. math:: s = \phi^T R\phi - \phi^T R\Phi\Sigma\Phi^T R\phi, \qquad q = \phi^T R(z - f).

    Each step computes the gain of every column once, adds the best that are not highly correlated, and
    maximises the evidence over the precisions of all columns in the model by Newton's method. Columns
    whose best precision is infinite are deleted. The work grows with the number of relevance vectors;
    with a factored design no matrix of rows by rows is ever formed. A small problem is also solved in
    the other direction, by :class:`TopDownEvidence`, and the better of the two maxima is returned.

    References
    ----------
    .. [TF03] M. Tipping, A. Faul, Fast marginal likelihood maximisation for sparse Bayesian models,
       AISTATS 2003.
    """

    _factor_tol = 1e-6  # the factors only choose: kept columns are exact

    def init(self, problem: Problem) -> EvidenceState:
        """Return the model without columns."""
        return empty_model(problem)

    def step(self, problem: Problem, state: EvidenceState) -> EvidenceState:
        """Return the state after the best columns were added."""
        return best_of_both_directions(problem, state, add_step(problem, state), full_model, prune_step)


class TopDownEvidence(_EvidenceSolver):
    r"""Maximise the evidence of the precisions, starting with all columns in [T01]_.

    Of more than 5,000 columns evenly spaced ones are in the model at first. In a regression they start
    under a tenth of the best shared precision, so that correlated weights that are large only together
    are not pruned. MacKay's update :math:`\alpha_k = \gamma_k/w_k^2` changes all precisions at once
    until most columns are pruned; then the steps of :class:`Sequential` add columns that were pruned too
    early. The weights are at the mode of their posterior, with Laplace's approximation there, exact for
    Gaussian noise. A small problem is also solved from the empty model up, and the better of the two
    maxima is returned.

    References
    ----------
    .. [T01] M. Tipping, Sparse Bayesian learning and the relevance vector machine, JMLR 1, 2001.
    """

    _factor_tol = 1e-8  # small factors decide what is deleted

    def init(self, problem: Problem) -> EvidenceState:
        """Return all columns under one precision."""
        return full_model(problem)

    def step(self, problem: Problem, state: EvidenceState) -> EvidenceState:
        """Return the state after one update of all precisions, or one step of the refinement."""
        return best_of_both_directions(problem, state, prune_step(problem, state), empty_model, add_step)


def best_of_both_directions(
    problem: Problem,
    old: EvidenceState,
    new: EvidenceState,
    start: Callable[[Problem], EvidenceState],
    step: Callable[[Problem, EvidenceState], EvidenceState],
    max_steps: int = 1_000,
) -> EvidenceState:
    """Return the new state or, at the end of a small problem, the better one from the other direction.

    Highly correlated kernels make many local maxima of the evidence, and the direction decides which one
    is found. With more columns than observations the greatest evidence is that of a model without noise,
    which does not predict better: there only one direction is tried, unless it ended without noise.
    """
    small = problem.design.shape[1] <= min(FEW_COLUMNS, problem.weight.sum())
    moves = not old.refining or new.objective - old.objective > COARSE_NATS
    if old.compared or moves or not (small or new.mode.noise_unidentified):
        return new
    other = start(problem)
    for _ in range(max_steps):
        last, other = other, step(problem, other)
        if last.refining and other.objective - last.objective <= COARSE_NATS:
            break
    return replace(max(new, other, key=_rank), compared=True)


def _rank(state: EvidenceState) -> tuple[bool, float]:
    """Return what states are compared by: whether their noise is identified, then the evidence."""
    return not state.mode.noise_unidentified, state.objective


def akaike_test(problem: Problem, found: EvidenceState, allowed: Problem) -> EvidenceState:
    r"""Return the state if its evidence is worth its precisions, otherwise the model without columns.

    The evidence is a likelihood of the precisions that was maximised over them. Akaike's price of such
    a fit is one nat for each precision [A80]_, and the empty model has none. Where nearly every row
    needs a kernel of its own, as on narrow spirals, each kernel gains less than a nat although all
    together predict labels well: so the gain per row counts too.

    ``allowed`` is the problem with an intercept, where there may be one: its empty model counts as well.

    References
    ----------
    .. [A80] H. Akaike, Likelihood and the Bayes procedure, in Bayesian Statistics, 1980.
    """
    if not found.active.size:
        return found
    empty = empty_model(problem)
    without = max(empty.objective, empty_model(allowed).objective)
    price = AKAIKE_NATS * found.active.size
    if isinstance(problem.likelihood, Binary):  # a quarter of the entropy of a fair coin, a row
        price = min(price, math.log(2) / 4 * float(problem.weight.sum()))
    return found if found.objective - without > price else empty
