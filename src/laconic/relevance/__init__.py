"""Relevance: the precisions of the weights are learnt, and what is not needed gets an infinite one."""

from ._belief import Belief
from ._bottom_up import Estimate
from ._mode import Mode, find_mode, own_precision, refit_by_degrees
from ._occam import supported
from ._start import first_precision
from ._turn import turned
from .evidence import Evidence
from .sequential import Sequential
from .shared import fit_shared, leave_one_out, row_products
from .variational import Variational

__all__ = [
    "Belief",
    "Estimate",
    "Evidence",
    "Mode",
    "Sequential",
    "Variational",
    "find_mode",
    "first_precision",
    "fit_shared",
    "leave_one_out",
    "own_precision",
    "refit_by_degrees",
    "row_products",
    "supported",
    "turned",
]
