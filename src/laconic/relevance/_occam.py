"""Whether what was found is worth the precisions that were fitted to find it."""

from __future__ import annotations

from ..solvers import Problem
from ._bottom_up import Estimate, nothing

# Nats that each fitted precision has to win.
_PRICE = 1.0


def supported(problem: Problem, found: Estimate, allowed: Problem) -> Estimate:
    r"""Return the estimate if the evidence speaks for it, otherwise the model without columns.

    The evidence is a likelihood of the precisions that was maximised over them. Akaike's price of such
    a fit is one nat for each [A80]_, and the empty model has none. Kernels that were fitted to labels
    drawn by lot win a tenth to a half of a nat each; those of thirty rows of Ripley's data win three.

    Parameters
    ----------
    problem : Problem
    found : Estimate
        The maximum of its evidence.
    allowed : Problem
        The same with an intercept, where there may be one: its empty model counts as well.

    References
    ----------
    .. [A80] H. Akaike, Likelihood and the Bayes procedure, in Bayesian Statistics, 1980.
    """
    if not found.active.size:
        return found
    empty = nothing(problem)
    without = max(empty.objective, nothing(allowed).objective)
    return found if found.objective - without > _PRICE * found.active.size else empty
