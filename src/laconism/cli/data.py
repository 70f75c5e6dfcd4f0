"""A table with its target."""

from __future__ import annotations

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
    missing: list[str] | None = None
    drop: list[str] | None = None
    keep: list[str] | None = None

    @property
    def name(self) -> str:
        """What the table is called in messages."""
        return "stdin" if self.path == "-" else self.path


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
    """Read the data of a table, and report all decisions as notes."""
    whole = read_table(source.path, terminal, source.missing or ())
    terminal.remark(f"{source.name}: {several(len(whole), 'row')}, {several(whole.shape[1], 'column')}")
    rest, target = split_target(whole, source.target, source.name, terminal)
    task, y = settle_task(target, source.task, terminal)
    drop, keep = source.drop or (), source.keep or ()
    plan = plan_columns(rest, terminal, drop=drop, keep=keep, as_grid=as_grid)
    return Data(tidy(rest, plan.numbers, plan.categories), y, task, plan)
