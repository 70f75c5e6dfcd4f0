"""Type-II maximum likelihood, bottom-up: columns are added while the evidence rises."""

from __future__ import annotations

from .._component import Component
from ..solvers import Problem
from .bottom_up import Estimate, add_step, empty_model
from .directions import best_of_both_directions, no_more_to_gain, rank_tolerance
from .top_down import full_model, prune_step


class Sequential(Component):
    r"""Maximise the evidence of the precisions by adding, re-estimating and deleting columns [TF03]_.

    A column outside the model is worth :math:`\tfrac12(q^2/s - 1 - \log(q^2/s))` nats if
    :math:`q^2 > s`, at the precision :math:`s^2/(q^2 - s)`, where

    .. math:: s = \phi^T R\phi - \phi^T R\Phi\Sigma\Phi^T R\phi, \qquad q = \phi^T R(z - f).

    Each step looks at all columns once, adds the best that are unlike each other, and lets the
    precisions of all that are in settle by Newton's method, which deletes those whose best precision is
    infinite. The work grows with the number of relevance vectors; with a factored design no matrix of
    rows by rows is ever formed. A small problem is also solved from the other end, as :class:`TopDownEvidence`
    does it, and the better of the two maxima is the answer.

    Examples
    --------
    >>> import numpy as np
    >>> from laconism.design import DenseDesign
    >>> from laconism.likelihoods import Gaussian
    >>> from laconism.priors import Jeffreys
    >>> from laconism.relevance import Sequential
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

    def init(self, problem: Problem) -> Estimate:
        """Return the model without columns."""
        return empty_model(problem)

    def step(self, problem: Problem, state: Estimate) -> Estimate:
        """Return the estimate after one look at all columns."""
        return best_of_both_directions(problem, state, add_step(problem, state), full_model, prune_step)

    def done(self, problem: Problem, old: Estimate, new: Estimate, tol: float) -> str | None:
        """Return a sentence if no column that is out would pay for itself."""
        return no_more_to_gain(problem, old, new, tol)
