"""What the columns of many files hold: sums over their partitions, and the preprocessing from these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np

from .columns import (
    BEYOND,
    MAX_CATEGORIES,
    Plan,
    make_preprocessing,
    nested,
    say_left_out,
    say_missing,
    say_rare,
    tidy,
    time_of,
    to_numbers,
    uselessness,
)
from .console import Terminal, UserError, listed
from .models import settle_task


@dataclass(frozen=True)
class Column:
    """What some rows of a column hold: moments of numbers, and counts of values where they are few."""

    known: int
    missing: int
    mean: float = 0.0
    squares: float = 0.0  # of the differences from the mean
    low: float = np.inf
    high: float = -np.inf
    counts: Counter[Any] | None = None

    @classmethod
    def of_numbers(cls, values: Any, counts: Counter[Any] | None = None) -> Self:
        """Return what an array of numbers holds; NaN is missing."""
        known = values[~np.isnan(values)]
        missing = values.size - known.size
        if not known.size:
            return cls(0, missing, counts=counts)
        mean = float(known.mean())
        squares = float(((known - mean) ** 2).sum())
        ends = float(known.min()), float(known.max())
        return cls(known.size, missing, mean, squares, *ends, counts)

    @classmethod
    def of_values(cls, values: Any, most: int) -> Self:
        """Return what a series of any values holds; they are not counted if they differ too much."""
        known = values.dropna()
        found = Counter(known.value_counts().to_dict()) if known.nunique() <= most else None
        return cls(len(known), len(values) - len(known), counts=found)

    def plus(self, other: Column, most: int = 0) -> Column:
        """Return what the rows of both hold; more than ``most`` different values are not counted."""
        known = self.known + other.known
        share = other.known / known if known else 0.0
        gap = other.mean - self.mean
        counts = None
        if self.counts is not None and other.counts is not None:
            counts = self.counts + other.counts
            counts = counts if len(counts) <= most else None
        return Column(
            known,
            self.missing + other.missing,
            self.mean + share * gap,
            self.squares + other.squares + share * self.known * gap**2,
            min(self.low, other.low),
            max(self.high, other.high),
            counts,
        )

    @property
    def deviation(self) -> float:
        """The standard deviation of numbers."""
        return float(np.sqrt(self.squares / max(self.known, 1)))


@dataclass(frozen=True)
class Kinds:
    """The columns of files by what their types say: numbers and texts, and the target."""

    numbers: list[str]
    texts: list[str]
    target: str
    max_categories: int = 50
    max_classes: int = 100

    @classmethod
    def of(cls, head: Any, target: str, drop: Collection[str], keep: Collection[str]) -> Self:
        """Return the kinds of columns, given the first rows; dates and lists are neither."""
        from pandas.api.types import is_numeric_dtype

        unknown = [name for name in (*drop, *keep) if name not in head.columns]
        if unknown:
            raise UserError(f"There is no column {listed(unknown)} to drop or keep.")
        what = nested(head[target]) or time_of(head[target])
        if what:
            raise UserError(f"The target {target} has {what}; make numbers of them first.")
        used = [name for name in head.columns if name != target and name not in drop]
        numbers = [name for name in used if is_numeric_dtype(head[name])]
        others = [name for name in used if name not in numbers and not nested(head[name])]
        return cls(numbers, [name for name in others if not time_of(head[name])], target)

    def summarise(self, part: Any, number: int) -> dict[str, Column]:
        """Return what each column of a partition holds; rows without a target are left out."""
        from pandas.api.types import is_numeric_dtype

        whole, part = part[self.target], part[part[self.target].notna()]
        rows = tidied(part, number, self.numbers, self.texts)
        found = {name: Column.of_numbers(rows[name].to_numpy()) for name in self.numbers}
        found |= {name: Column.of_values(rows[name], self.max_categories) for name in self.texts}
        target = Column.of_values(whole, self.max_classes)
        if is_numeric_dtype(whole):
            values = whole.to_numpy(dtype=np.float64, na_value=np.nan)
            target = Column.of_numbers(values, target.counts)
        return {**found, self.target: target}

    def join(self, parts: Sequence[Mapping[str, Column]]) -> dict[str, Column]:
        """Return what each column of all partitions holds."""
        most = dict.fromkeys(parts[0], self.max_categories) | {self.target: self.max_classes}
        return {name: join([part[name] for part in parts], most[name]) for name in parts[0]}


def join(columns: Sequence[Column], most: int = 0) -> Column:
    """Return what the rows of all partitions hold."""
    return reduce(lambda left, right: left.plus(right, most), columns)


def tidied(part: Any, number: int, numbers: Sequence[str], categories: Sequence[str]) -> Any:
    """Return the columns of a partition, numbers as floats and categories as text."""
    try:
        return tidy(part.reset_index(drop=True), numbers, categories)
    except UserError as error:  # the row that it names is one of the partition
        raise UserError(f"Partition {number + 1}: {error}") from None


def labels_of(column: Any, kind: str) -> Any:
    """Return a target as an array: ``kind`` is f (values), b, i or U (labels), as numpy has it."""
    if kind == "U":
        return np.array([str(value) for value in column], dtype=str)
    if kind == "b":
        return column.to_numpy(dtype=bool)
    numbers = to_numbers(column, "raise")
    if np.isinf(numbers).any():
        raise UserError(
            f"The target {column.name} {BEYOND} in some rows; correct them or leave them empty."
        )
    return numbers.to_numpy(dtype=np.int64 if kind == "i" else np.float64)


def settle_target(column: Column, head: Any, task: str, terminal: Terminal) -> tuple[str, str]:
    """Return the task and the kind of the target's arrays; ``head`` has its first values."""
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    name = head.name
    if not column.known:
        raise UserError(f"The target {name} is missing in every row.")
    if column.counts is not None:
        task, y = settle_task(pd.Series([*column.counts] * 2, name=name), task, terminal)
        return task, str(y.dtype.kind)
    if task == "classification" or not is_numeric_dtype(head):
        raise UserError(
            f"The target {name} has more than {Kinds.max_classes} distinct values: too many for "
            "classes; is it the right column?"
        )
    if not np.isfinite([column.low, column.high]).all():
        raise UserError(f"The target {name} {BEYOND} in some rows; correct them or leave them empty.")
    if task == "auto":
        terminal.remark(f"{name}: regression (numbers)")
    return "regression", "f"


def plan_of(
    kinds: Kinds,
    columns: Mapping[str, Column],
    head: Any,
    terminal: Terminal,
    *,
    drop: Collection[str] = (),
    keep: Collection[str] = (),
) -> Plan:
    """Decide the kind of each column and report what is left out; ``head`` has the first rows."""
    plan = Plan(left_out=dict.fromkeys(drop, "as asked"))
    for name in head.columns.drop([kinds.target, *drop]):
        reason = _reason(name, kinds, columns.get(name), head[name], kept=name in keep)
        if reason:
            plan.left_out[name] = reason
        elif name in kinds.numbers:
            plan.numbers.append(name)
        else:
            plan.categories.append(name)
            say_rare(name, len(columns[name].counts or ()), terminal)
    say_left_out(plan, terminal)
    holes = {name: columns[name].missing for name in plan.used}
    say_missing(plan, holes, terminal, numbers="replaced by the mean")
    return plan


def _reason(name: str, kinds: Kinds, column: Column | None, head: Any, *, kept: bool) -> str:
    """Return why a column cannot be used, or an empty string."""
    if column is None:
        return nested(head) or uselessness(name, head, 0)
    if not column.known:
        return "all missing"
    if name in kinds.texts and column.counts is None:
        return f"text with more than {kinds.max_categories} distinct values"
    distinct = 0 if column.counts is None else len(column.counts)
    if distinct == 1 or column.low == column.high:
        return "constant"
    # Numbers of a CSV file are floats, also those of an identifier.
    return "" if kept else uselessness(name, head.convert_dtypes(), distinct)


def _categories(column: Column) -> Counter[str]:
    """Return the categories of a column and their counts; missing values are one of them."""
    return Counter(column.counts) + Counter({"missing": column.missing})


def fit_preprocessing(plan: Plan, columns: Mapping[str, Column]) -> Any:
    """Return the preprocessing of all rows, fitted to a few that have the same statistics.

    Numbers are one standard deviation below and above their mean, which is also their median. Frequent
    categories are there twice, rare ones once.
    """
    import pandas as pd

    texts = {}
    for name in plan.categories:
        found = [value for value, _ in _categories(columns[name]).most_common()]
        texts[name] = [*found, *found[: MAX_CATEGORIES - 1]]
    length = max([1, *map(len, texts.values())])
    rows = {}
    for name in plan.numbers:
        mean, deviation = columns[name].mean, columns[name].deviation
        rows[name] = np.tile([mean - deviation, mean + deviation], length)
    for name, found in texts.items():
        rows[name] = np.array(found + [found[0]] * (2 * length - len(found)), dtype=object)
    return make_preprocessing(plan).fit(tidy(pd.DataFrame(rows), plan.numbers, plan.categories))
