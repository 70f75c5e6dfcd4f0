"""The result of a search."""

from __future__ import annotations

from dataclasses import dataclass

from ..solvers import Record
from .problem import JointState


@dataclass(frozen=True)
class JointFit:
    """The end of a search, its history, and a sentence about it."""

    state: JointState
    history: list[Record]
    note: str = ""
