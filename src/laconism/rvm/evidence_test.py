"""Whether what was found is worth the precisions that were fitted to find it."""

from __future__ import annotations

import math

from ..judging.price import AKAIKE_NATS
from ..likelihoods import Binary
from ..solvers import Problem
from .bottom_up import Estimate, empty_model

# Nats for each row that are enough in any case: a quarter of what a fair coin leaves unknown. Labels
# drawn by lot win at most 0.15 from sixty rows on, whatever the width of the kernels.
_ENOUGH = math.log(2) / 4


def akaike_test(problem: Problem, found: Estimate, allowed: Problem) -> Estimate:
    r"""Return the estimate if the evidence speaks for it, otherwise the model without columns.

    The evidence is a likelihood of the precisions that was maximised over them. Akaike's price of such
    a fit is one nat for each [A80]_, and the empty model has none. Kernels that were fitted to labels
    drawn by lot win a tenth to a half of a nat each; those of thirty rows of Ripley's data win three.
    Where nearly every row needs a kernel of its own, as on narrow spirals, each wins less than a nat
    although all together foretell labels well: so what all rows win counts too.

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
    empty = empty_model(problem)
    without = max(empty.objective, empty_model(allowed).objective)
    price = AKAIKE_NATS * found.active.size
    if isinstance(problem.likelihood, Binary):
        price = min(price, _ENOUGH * float(problem.weight.sum()))
    return found if found.objective - without > price else empty
