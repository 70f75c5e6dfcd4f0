"""Solvers: everything is an iterated weighted ridge, and one loop runs them all."""

from ._choose import REGISTRY, choose_solver
from ._loop import Record, Solution, Solver, Status, rank_tolerance, resume, solve
from ._problem import Problem, State
from .accelerated import Accelerated
from .em import EM
from .newton import Newton
from .proximal import Proximal

__all__ = [
    "EM",
    "REGISTRY",
    "Accelerated",
    "Newton",
    "Problem",
    "Proximal",
    "Record",
    "Solution",
    "Solver",
    "State",
    "Status",
    "choose_solver",
    "rank_tolerance",
    "resume",
    "solve",
]
