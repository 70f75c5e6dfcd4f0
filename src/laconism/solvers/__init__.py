"""Solvers: everything is an iterated weighted ridge, and one loop runs them all."""

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
