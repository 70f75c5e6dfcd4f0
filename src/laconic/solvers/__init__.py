"""Solvers: everything is an iterated weighted ridge, and one loop runs them all."""

from ._choose import REGISTRY, choose_solver
from ._exchange import exchange, may_exchange
from ._loop import Callback, Record, Solution, Solver, Status, rank_tolerance, resume, solve
from ._problem import Metric, Problem, State
from .accelerated import Accelerated
from .em import EM
from .newton import Newton
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
