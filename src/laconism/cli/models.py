"""Data, task and estimator of a table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from .columns import BEYOND, Plan, make_preprocessing, nested, plan_columns, tidy, time_of, to_numbers
from .console import Terminal, UserError, listed, several
from .tables import read_table, split_target

_ESTIMATORS = {
    "auto": "Laconic",
    "sparse": "SparseBayes",
    "rvm": "RVM",
    "grid": "GridRVM",
    "jcfo": "JCFO",
}
MODELS = tuple(_ESTIMATORS)
KERNELS = ("rbf", "matern", "poly", "linear", "none")
TASKS = ("auto", "classification", "regression")


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
    whole = read_table(source.path, terminal, source.missing or (), target=source.target)
    terminal.remark(f"{source.name}: {several(len(whole), 'row')}, {several(whole.shape[1], 'column')}")
    rest, target = split_target(whole, source.target, source.name, terminal)
    task, y = settle_task(target, source.task, terminal)
    drop, keep = source.drop or (), source.keep or ()
    plan = plan_columns(rest, terminal, drop=drop, keep=keep, as_grid=as_grid)
    return Data(tidy(rest, plan.numbers, plan.categories), y, task, plan)


def settle_task(
    target: Any, task: str, terminal: Terminal, *, max_integers: int = 10, max_texts: int = 100
) -> tuple[str, Any]:
    """Return the task, and a complete target as labels or as numbers; report the decision.

    Whole numbers are classes if at most ``max_integers`` are distinct.
    """
    from pandas.api.types import is_bool_dtype

    name = target.name
    what = nested(target) or time_of(target)
    if what:
        raise UserError(f"The target {name} has {what}; make numbers of them first.")
    distinct = int(target.nunique())
    boolean = is_bool_dtype(target)
    numbers = to_numbers(target)
    numeric = not boolean and bool(numbers.notna().all())
    if numeric and np.isinf(numbers.to_numpy(dtype=np.float64)).any():
        raise UserError(f"The target {name} {BEYOND} in some rows; correct them or leave them empty.")
    whole = numeric and bool((numbers == numbers.round()).all())
    if distinct == 1:
        raise UserError(
            f"The target {name} is {target.iloc[0]} in every row: there is nothing to learn."
        )
    if task == "auto":
        task, other, why = "classification", "regression", "true and false" if boolean else "text"
        if numeric:
            why = f"{distinct} distinct whole numbers"
            if not whole or distinct > max_integers:
                task, other, why = other, task, "numbers"
            why += f"; --task {other} if that is not meant"
        terminal.remark(f"{name}: {task} ({why})")
    if task == "regression":
        if not numeric:
            raise UserError(f"The target {name} is not numbers, so it cannot be regressed on.")
        return task, numbers.to_numpy(dtype=np.float64)
    if distinct > max(max_integers, min(max_texts, len(target) // 2)):
        raise UserError(
            f"The target {name} has {distinct:,} distinct values in {several(len(target), 'row')}: too "
            "many for classes; is it the right column?"
        )
    if boolean:
        return task, target.to_numpy(dtype=bool)
    # Labels that are not exact as doubles stay text.
    if whole and numbers.between(-(2**53), 2**53).all():
        return task, numbers.to_numpy(dtype=np.int64)
    return task, np.array([str(value) for value in target])


@dataclass(frozen=True)
class Choice:
    """A model of ours, and its ``settings`` such as ``gamma=0.5``."""

    model: str = "auto"
    kernel: str | None = None
    grid_shape: str | None = None
    settings: list[str] | None = None
    seed: int = 0

    def make(self, task: str, *, on_dask: bool = False) -> Any:
        """Return the estimator, or the one for Dask collections."""
        kind = "Classifier" if task == "classification" else "Regressor"
        name = f"{_ESTIMATORS[self.model]}{kind}"
        package = import_module("laconism.dask" if on_dask else "laconism")
        found = getattr(package, f"Dask{name}" if on_dask else name, None)
        if found is None:
            raise UserError(f"--engine dask fits --model auto, sparse or rvm, not {self.model}.")
        made = found(**self._parameters())
        return made.set_params(**dict(_parse_setting(text, made) for text in self.settings or ()))

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters that follow from the kernel and the shape of a grid."""
        if self.grid_shape is not None and self.model != "grid":
            raise UserError("--grid-shape is for --model grid.")
        if self.model == "grid":
            if self.kernel is not None:
                raise UserError("--model grid has no --kernel: it takes --grid-shape, or makes its own.")
            if self.grid_shape is None:
                return {"basis": "per_feature_rbf", "combine": "sum"}
            return {"grid_shape": _parse_grid(self.grid_shape)}
        kernel = None if self.kernel == "none" else self.kernel
        chosen: dict[str, Any] = {} if self.kernel is None else {"kernel": kernel}
        if self.model != "jcfo":
            return chosen
        if self.kernel not in (None, "rbf", "poly", "linear"):
            raise UserError(
                f"--model jcfo scales features inside a kernel: rbf, poly or linear, not {self.kernel}."
            )
        return {**chosen, "random_state": self.seed}


def _parse_grid(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(size) for size in text.lower().split("x"))
    except ValueError:
        raise UserError(f"--grid-shape must look like 8x8, got {text!r}.") from None


def _parse_setting(text: str, estimator: Any) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UserError(f"--set needs name=value, got {text!r}.")
    known = set(estimator.get_params(deep=False)) - {"callbacks", "client"}
    if name not in known:
        names = listed(sorted(known), most=30)
        raise UserError(f"{type(estimator).__name__} has no setting {name!r}; it has {names}.")
    try:
        # Digits beyond all doubles become infinite, which estimators refuse.
        return name, json.loads(
            value, parse_int=lambda digits: int(digits) if len(digits) < 300 else np.inf
        )
    except json.JSONDecodeError:
        return name, {"None": None, "True": True, "False": False}.get(value, value)


def make_pipeline(plan: Plan, estimator: Any) -> Any:
    """Return preprocessing and estimator as one."""
    from sklearn.pipeline import Pipeline

    return Pipeline([("columns", make_preprocessing(plan)), ("model", estimator)])


def check_size(estimator: Any, rows: int, columns: int, most: int = 100_000) -> None:
    """Refuse a grid of features by rows that would take minutes and gigabytes."""
    if getattr(estimator, "basis", None) == "per_feature_rbf" and rows * columns > most:
        raise UserError(
            f"A grid of {columns:,} features by {rows:,} rows is too large: give --max-rows "
            f"{max(most // columns, 1):,}, a --grid-shape, or another --model."
        )


def sample_rows(n: int, most: int | None, y: Any, task: str, seed: int) -> Any:
    """Return the rows to work on: all, or a draw that keeps the classes' shares."""
    import pandas as pd

    if most is None or n <= most:
        return np.arange(n)
    order = np.random.default_rng(seed).permutation(n)
    if task == "classification":
        # The k-th row of a class of m comes at (k - 1) / m: any first part has the whole's shares, and
        # at least one row of every class.
        classes = pd.Series(order).groupby(y[order])
        order = order[np.argsort(classes.cumcount() / classes.transform("size"), kind="stable")]
    return np.sort(order[:most])
