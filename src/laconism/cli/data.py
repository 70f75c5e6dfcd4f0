"""A table with its target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .columns import Plan, plan_columns, tidy
from .console import Terminal, several
from .models import settle_task
from .tables import read_table, split_target


@dataclass(frozen=True)
class Source:
    """A table and how to read it."""

    path: str
    target: str
    task: str = "auto"
    missing: Sequence[str] = ()
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()


@dataclass(frozen=True)
class Data:
    """A table that has been read: features as columns, labels or values, and what the columns are."""

    table: Any
    y: Any
    task: str
    plan: Plan

    def at(self, rows: Any) -> tuple[Any, Any]:
        """Return features and target of some rows."""
        return self.table.iloc[rows], self.y[rows]


def read_data(source: Source, terminal: Terminal, *, as_grid: bool = False) -> Data:
    """Read the data of a table, and report all decisions as notes.

    Parameters
    ----------
    source : Source
    terminal : Terminal
    as_grid : bool, default=False
        Whether the columns are the entries of a grid.

    Returns
    -------
    Data
    """
    whole = read_table(source.path, terminal, source.missing)
    name = "stdin" if source.path == "-" else source.path
    terminal.remark(f"{name}: {several(len(whole), 'row')}, {several(whole.shape[1], 'column')}")
    rest, target = split_target(whole, source.target, name, terminal)
    task, y = settle_task(target, source.task, terminal)
    plan = plan_columns(rest, terminal, drop=source.drop, keep=source.keep, as_grid=as_grid)
    return Data(tidy(rest, plan.numbers, plan.categories), y, task, plan)
