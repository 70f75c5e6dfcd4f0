"""Solvers: everything is an iterated weighted ridge, and one loop runs them all.

- ``problem``: Problem (data, design, prior, likelihood), State and Metric.
- ``loop``: the convergence loop, which prunes and revives columns; Record, Status, Solution, Solver.
- ``steps``: one EM step, one Newton step, starts by one ridge problem; ``line_search``: the one line
  search.
- ``em``, ``newton``, ``proximal``: the solvers; ``accelerated``: extrapolation of any of them.
- ``choose``: which solver for which prior.
- ``starts``: starts by the lasso or the maximum likelihood.
- ``exchange``: kept kernels are exchanged for better ones.
- ``intercept``: whether a kernel classifier needs an intercept.
- ``selection``: solve, exchange and refit, for one prior and one problem.
- ``wide_labels``: a second search for labels of fewer rows than features.
- ``learnt_scale``: a prior whose scale is learnt with the weights.
- ``refit_selected``: the selected columns are refitted without the shrinkage of the search.
- ``moments``: many rows of a least-squares problem, summarised by sums.
"""

from .accelerated import Accelerated
from .choose import REGISTRY, choose_solver
from .em import EM
from .exchange import exchange, may_exchange
from .loop import Callback, Record, Solution, Solver, Status, rank_tolerance, resume, solve
from .newton import Newton
from .problem import Metric, Problem, State
from .proximal import Proximal

__all__ = [
    "EM",
    "REGISTRY",
    "Accelerated",
    "Callback",
    "Metric",
    "Newton",
    "Problem",
    "Proximal",
    "Record",
    "Solution",
    "Solver",
    "State",
    "Status",
    "choose_solver",
    "exchange",
    "may_exchange",
    "rank_tolerance",
    "resume",
    "solve",
]
