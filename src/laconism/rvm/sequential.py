"""Type-II maximum likelihood, bottom-up: columns are added while the evidence rises."""

from __future__ import annotations

from .._component import Component
from ..solvers import Problem
from .bottom_up import EvidenceState, add_step, empty_model
from .directions import best_of_both_directions, convergence_message, rank_tolerance
from .full_model import full_model
from .top_down import prune_step


class Sequential(Component):
    r"""Maximise the evidence of the precisions by adding, re-estimating and deleting columns [TF03]_.

    A column outside the model is worth :math:`\tfrac12(q^2/s - 1 - \log(q^2/s))` nats if
    :math:`q^2 > s`, at the precision :math:`s^2/(q^2 - s)`, where

    .. math:: s = \phi^T R\phi - \phi^T R\Phi\Sigma\Phi^T R\phi, \qquad q = \phi^T R(z - f).

    Each step computes the gain of every column once, adds the best that are not highly correlated, and
    maximises the evidence over the precisions of all columns in the model by Newton's method. Columns
    whose best precision is infinite are deleted. The work grows with the number of relevance vectors;
    with a factored design no matrix of rows by rows is ever formed. A small problem is also solved in
    the other direction, by :class:`TopDownEvidence`, and the better of the two maxima is returned.

    Examples
    --------
    >>> import numpy as np
    >>> from laconism.design import DenseDesign
    >>> from laconism.likelihoods import Gaussian
    >>> from laconism.priors import Jeffreys
    >>> from laconism.rvm.sequential import Sequential
    >>> from laconism.solvers import Problem, solve
    >>> rng = np.random.default_rng(0)
    >>> Phi = rng.normal(size=(50, 8))
    >>> y = 2 * Phi[:, 3] + 0.1 * rng.normal(size=50)
    >>> problem = Problem(DenseDesign(Phi), y, Gaussian(), Jeffreys(), np.ones(50), True)
    >>> solve(problem, Sequential(), max_iter=50, tol=1e-6).state.active[0]
    np.int64(3)

    References
    ----------
    .. [TF03] M. Tipping, A. Faul, Fast marginal likelihood maximisation for sparse Bayesian models,
       AISTATS 2003.
    """

    prunes = False  # the loop's pruning is for priors that absorb zeros; here columns are deleted

    def rank_tol(self, n_columns: int) -> float:
        """Return the tolerance for a low-rank design, which only chooses: kept columns are exact."""
        return rank_tolerance(n_columns, 1e-6)

    def init(self, problem: Problem) -> EvidenceState:
        """Return the model without columns."""
        return empty_model(problem)

    def step(self, problem: Problem, state: EvidenceState) -> EvidenceState:
        """Return the state after the best columns were added."""
        return best_of_both_directions(problem, state, add_step(problem, state), full_model, prune_step)

    def done(self, problem: Problem, old: EvidenceState, new: EvidenceState, tol: float) -> str | None:
        """Return a sentence if no column outside the model would raise the evidence enough."""
        return convergence_message(problem, old, new, tol)
