"""Type-II maximum likelihood, top-down: all columns are in the model, and most are pruned."""

from __future__ import annotations

from .._component import Component
from ..solvers import Problem
from .bottom_up import EvidenceState, add_step, empty_model
from .directions import best_of_both_directions, convergence_message, rank_tolerance
from .full_model import full_model
from .top_down import prune_step


class TopDownEvidence(Component):
    r"""Maximise the evidence of the precisions, starting with all columns in [T01]_.

    Of more than 5,000 columns evenly spaced ones are in the model at first. In a regression they start
    under a tenth of the best shared precision, so that correlated weights that are large only together
    are not pruned. MacKay's update :math:`\alpha_k = \gamma_k/w_k^2` changes all precisions at once
    until most columns are pruned; then the steps of :class:`~laconism.rvm.sequential.Sequential` add
    columns that were pruned too early. The weights are at the mode of their posterior, with Laplace's
    approximation there, exact for Gaussian noise. A small problem is also solved from the empty model
    up, and the better of the two maxima is returned.

    Examples
    --------
    >>> import numpy as np
    >>> from laconism.design import DenseDesign
    >>> from laconism.likelihoods import Gaussian
    >>> from laconism.priors import Jeffreys
    >>> from laconism.rvm.evidence import TopDownEvidence
    >>> from laconism.solvers import Problem, solve
    >>> rng = np.random.default_rng(0)
    >>> Phi = rng.normal(size=(50, 8))
    >>> y = 2 * Phi[:, 3] + 0.1 * rng.normal(size=50)
    >>> problem = Problem(DenseDesign(Phi), y, Gaussian(), Jeffreys(), np.ones(50), True)
    >>> solve(problem, TopDownEvidence(), max_iter=50, tol=1e-6).state.active[0]
    np.int64(3)

    References
    ----------
    .. [T01] M. Tipping, Sparse Bayesian learning and the relevance vector machine, JMLR 1, 2001.
    """

    prunes = False

    def rank_tol(self, n_columns: int) -> float:
        """Return the tolerance for a low-rank design, whose small factors decide what is deleted."""
        return rank_tolerance(n_columns, 1e-8)

    def init(self, problem: Problem) -> EvidenceState:
        """Return all columns under one precision."""
        return full_model(problem)

    def step(self, problem: Problem, state: EvidenceState) -> EvidenceState:
        """Return the state after one update of all precisions, or one step of the refinement."""
        return best_of_both_directions(problem, state, prune_step(problem, state), empty_model, add_step)

    def done(self, problem: Problem, old: EvidenceState, new: EvidenceState, tol: float) -> str | None:
        """Return a sentence if no column outside the model would raise the evidence enough."""
        return convergence_message(problem, old, new, tol) if old.refining else None
