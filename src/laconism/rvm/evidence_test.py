"""Akaike's test of a model against the one without columns."""

from __future__ import annotations

import math

from ..judging.price import AKAIKE_NATS
from ..likelihoods import Binary
from ..solvers import Problem
from .bottom_up import EvidenceState, empty_model

# Gain per row that suffices whatever the number of columns: a quarter of the entropy of a fair coin.
_SUFFICIENT_NATS_PER_ROW = math.log(2) / 4


def akaike_test(problem: Problem, found: EvidenceState, allowed: Problem) -> EvidenceState:
    r"""Return the state if its evidence is worth its precisions, otherwise the model without columns.

    The evidence is a likelihood of the precisions that was maximised over them. Akaike's price of such
    a fit is one nat for each precision [A80]_, and the empty model has none. Where nearly every row
    needs a kernel of its own, as on narrow spirals, each kernel gains less than a nat although all
    together predict labels well: so the gain per row counts too.

    Parameters
    ----------
    problem : Problem
    found : EvidenceState
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
        price = min(price, _SUFFICIENT_NATS_PER_ROW * float(problem.weight.sum()))
    return found if found.objective - without > price else empty
