"""The solvers that learn a precision for each weight, by name."""

from __future__ import annotations

from typing import Any

from .._component import is_name, unknown
from .evidence import TopDownEvidence
from .sequential import Sequential
from .variational import Variational

_INFERENCES = ["evidence", "sequential", "variational"]


def make_solver(inference: Any, solver: Any, shape: Any, rate: Any) -> Any:
    """Return what learns a precision for each weight, by its name."""
    if not is_name(inference, *_INFERENCES):
        raise unknown("inference", str(inference), _INFERENCES)
    variational = Variational(None, "product", solver, shape, rate)
    variational.check()  # settings that are not in use are checked too
    if inference == "variational":
        return variational
    return TopDownEvidence() if inference == "evidence" else Sequential()
