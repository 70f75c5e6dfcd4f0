"""Type-II maximum likelihood, top-down: all columns are in, and most are let go."""

from __future__ import annotations

import numpy as np

from .._component import Component
from ..solvers import Problem
from ._mode import find_mode
from ._start import first_precision
from .sequential import Estimate, Sequential

# A column that the data settle by less than this, and whose precision still grows, is gone.
_UNLEARNT = 1e-3
# No precision changes by more than this factor in one step.
_LEAP = 10.0
# When all precisions together gain less than this many nats in a step, and so many columns are left
# at the most, Newton's method takes over.
_SLOW, _FEW = 0.1, 300


class Evidence(Component):
    r"""Maximise the evidence of the precisions, starting with all columns in [T01]_.

    MacKay's update :math:`\alpha_k = \gamma_k/w_k^2` for all at once, until most columns are gone; then
    the steps of :class:`Sequential`, which bring back what was let go too early. The weights are at the
    mode of their posterior and its curvature there is Laplace's, exact for Gaussian noise.

    Examples
    --------
    >>> import numpy as np
    >>> from laconic.design import DenseDesign
    >>> from laconic.likelihoods import Gaussian
    >>> from laconic.priors import Jeffreys
    >>> from laconic.relevance import Evidence
    >>> from laconic.solvers import Problem, solve
    >>> rng = np.random.default_rng(0)
    >>> Phi = rng.normal(size=(50, 8))
    >>> y = 2 * Phi[:, 3] + 0.1 * rng.normal(size=50)
    >>> problem = Problem(DenseDesign(Phi), y, Gaussian(), Jeffreys(), np.ones(50), True)
    >>> solve(problem, Evidence(), max_iter=50, tol=1e-6).state.active[0]
    np.int64(3)

    References
    ----------
    .. [T01] M. Tipping, Sparse Bayesian learning and the relevance vector machine, JMLR 1, 2001.
    """

    prunes = False
    # All columns are weighted through the factors at first, and what is deleted hangs on small ones.
    rank_tol = 1e-10

    def init(self, problem: Problem) -> Estimate:
        """Return all columns under one precision."""
        p, empty = problem.design.shape[1], problem.empty()
        alpha = np.full(p, first_precision(problem, empty))
        mode = find_mode(problem, alpha, empty.likelihood, np.zeros(p), empty.b)
        return Estimate.of(mode, np.arange(p), p, refining=False)

    def step(self, problem: Problem, state: Estimate) -> Estimate:
        """Return the estimate after one update of all precisions, or one step of the refinement."""
        if state.refining:
            return Sequential().step(problem, state)
        mode, used = state.mode, state.mode.alpha * state.mode.w**2
        alive = (mode.learnt >= _UNLEARNT) | (used > mode.learnt)
        kept = np.flatnonzero(alive)
        with np.errstate(divide="ignore"):
            growth = np.clip(mode.learnt[kept] / used[kept], 1 / _LEAP, _LEAP)
        left = problem.keep(state.active[kept])
        new = find_mode(left, mode.alpha[kept] * growth, mode.refit(), mode.w[kept], mode.b)
        slow = new.objective - mode.objective < _SLOW and kept.size <= _FEW
        return Estimate.of(new, state.active[kept], problem.design.shape[1], refining=slow)

    def done(self, problem: Problem, old: Estimate, new: Estimate, tol: float) -> str | None:
        """Return a sentence if no column that is out would pay for itself."""
        return Sequential().done(problem, old, new, tol) if old.refining else None
