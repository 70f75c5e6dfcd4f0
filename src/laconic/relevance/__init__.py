"""Relevance: the precisions of the weights are learnt, and what is not needed gets an infinite one."""

from ._belief import Belief
from ._mode import find_mode, refit_by_degrees
from ._start import first_precision
from .evidence import Evidence
from .sequential import Estimate, Sequential
from .variational import Variational

__all__ = [
    "Belief",
    "Estimate",
    "Evidence",
    "Sequential",
    "Variational",
    "find_mode",
    "first_precision",
    "refit_by_degrees",
]
