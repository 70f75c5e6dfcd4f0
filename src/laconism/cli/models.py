"""Task, target and estimator of a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from .columns import Plan, is_nested, make_preprocessing, time_of
from .console import Terminal, UserError, listed, several

MODELS = ("auto", "sparse", "rvm", "grid", "jcfo")
KERNELS = ("rbf", "matern", "poly", "linear", "none")
TASKS = ("auto", "classification", "regression")

# Whole numbers with at most this many distinct values are classes.
_MAX_INTEGER_CLASSES = 10
# Largest whole number that is exact as a double; larger labels are kept as text.
_LARGEST_CLASS = 2**53
# Maximum number of classes of text.
_MAX_TEXT_CLASSES = 100
# Columns of the grid of features by rows: beyond it a fit takes minutes and gigabytes.
_MAX_GRID_COLUMNS = 100_000


def settle_task(target: Any, task: str, terminal: Terminal) -> tuple[str, Any]:
    """Return the task, and the target as labels or as numbers; report the decision.

    Parameters
    ----------
    target : pandas.Series
        Without missing values.
    task : {"auto", "classification", "regression"}
    terminal : Terminal

    Returns
    -------
    task : str
    y : ndarray
    """
    import pandas as pd
    from pandas.api.types import is_bool_dtype

    name = target.name
    what = "lists" if is_nested(target) else time_of(target)
    if what:
        raise UserError(f"The target {name} has {what}; make numbers of them first.")
    distinct = int(target.nunique())
    boolean = is_bool_dtype(target)
    numbers = None if boolean else pd.to_numeric(target, errors="coerce")
    if numbers is not None and numbers.isna().any():
        numbers = None
    if numbers is not None and np.isinf(numbers.to_numpy(dtype=np.float64)).any():
        raise UserError(f"The target {name} has infinite values; correct them or leave them empty.")
    whole = numbers is not None and bool((numbers == numbers.round()).all())
    if distinct == 1:
        raise UserError(
            f"The target {name} is {target.iloc[0]} in every row: there is nothing to learn."
        )
    if task == "auto":
        task, why = "classification", "text" if numbers is None else f"{distinct} distinct whole numbers"
        if boolean:
            why = "true and false"
        elif numbers is not None and not (whole and distinct <= _MAX_INTEGER_CLASSES):
            task, why = "regression", "numbers"
        if numbers is not None:
            other = "regression" if task == "classification" else "classification"
            why += f"; --task {other} if that is not meant"
        terminal.remark(f"{name}: {task} ({why})")
    if task == "regression":
        if numbers is None:
            raise UserError(f"The target {name} is not numbers, so it cannot be regressed on.")
        return task, numbers.to_numpy(dtype=np.float64)
    if distinct > max(_MAX_INTEGER_CLASSES, min(_MAX_TEXT_CLASSES, len(target) // 2)):
        raise UserError(
            f"The target {name} has {distinct:,} distinct values in {several(len(target), 'row')}: too "
            "many for classes; is it the right column?"
        )
    if boolean:
        return task, target.to_numpy(dtype=bool)
    # Larger labels stay text: 64 bits may not hold them.
    if whole and numbers is not None and numbers.between(-_LARGEST_CLASS, _LARGEST_CLASS).all():
        return task, numbers.to_numpy(dtype=np.int64)
    return task, np.array([str(value) for value in target])


def make_model(
    model: str,
    task: str,
    *,
    kernel: str | None = None,
    grid_shape: str | None = None,
    seed: int = 0,
    settings: Sequence[str] = (),
    callbacks: Any = None,
) -> Any:
    """Return an estimator of ours.

    Parameters
    ----------
    model : {"auto", "sparse", "rvm", "grid", "jcfo"}
    task : {"classification", "regression"}
    kernel : str or None
        Name of the kernel; ``None`` is the default of the model.
    grid_shape : str or None
        Shape of a grid model, such as ``"8x8"``.
    seed : int
        Seed of random choices.
    settings : sequence of str
        Parameters of the estimator as ``name=value``.
    callbacks : object
        Callbacks of the estimator.

    Returns
    -------
    estimator

    Examples
    --------
    >>> make_model("rvm", "regression", settings=["gamma=0.5"])
    RVMRegressor(gamma=0.5)
    """
    import laconism as estimators

    kind = "Classifier" if task == "classification" else "Regressor"
    choice: dict[str, Any] = {} if kernel is None else {"kernel": None if kernel == "none" else kernel}
    if grid_shape is not None and model != "grid":
        raise UserError("--grid-shape is for --model grid.")
    made: Any
    if model == "grid":
        if kernel is not None:
            raise UserError("--model grid has no --kernel: it takes --grid-shape, or makes its own.")
        if grid_shape is None:
            choice = {"basis": "per_feature_rbf", "combine": "sum"}
        else:
            choice = {"grid_shape": parse_grid(grid_shape)}
        made = getattr(estimators, f"GridRVM{kind}")(**choice)
    elif model == "jcfo":
        from ..jcfo import estimators as jcfo

        if kernel not in (None, "rbf", "poly", "linear"):
            raise UserError(
                f"--model jcfo scales features inside a kernel: rbf, poly or linear, not {kernel}."
            )
        made = getattr(jcfo, f"JCFO{kind}")(**choice, random_state=seed)
    else:
        names = {"auto": "Laconic", "sparse": "SparseBayes", "rvm": "RVM"}
        made = getattr(estimators, f"{names[model]}{kind}")(**choice)
    made.set_params(**dict(_parse_setting(text, made) for text in settings))
    return made.set_params(callbacks=callbacks)


def parse_grid(text: str) -> tuple[int, ...]:
    """Return the shape of a grid.

    Parameters
    ----------
    text : str

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> parse_grid("8x8")
    (8, 8)
    """
    try:
        return tuple(int(size) for size in text.lower().split("x"))
    except ValueError:
        raise UserError(f"--grid-shape must look like 8x8, got {text!r}.") from None


def _parse_setting(text: str, estimator: Any) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UserError(f"--set needs name=value, got {text!r}.")
    if name not in estimator.get_params(deep=False):
        known = listed(sorted(set(estimator.get_params(deep=False)) - {"callbacks"}), most=30)
        raise UserError(f"{type(estimator).__name__} has no setting {name!r}; it has {known}.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, {"None": None, "True": True, "False": False}.get(value, value)


def make_pipeline(plan: Plan, estimator: Any) -> Any:
    """Return preprocessing and estimator as one.

    Parameters
    ----------
    plan : Plan
    estimator : estimator

    Returns
    -------
    Pipeline
    """
    from sklearn.pipeline import Pipeline

    return Pipeline([("columns", make_preprocessing(plan)), ("model", estimator)])


def check_size(estimator: Any, rows: int, columns: int) -> None:
    """Refuse what would not end.

    Parameters
    ----------
    estimator : estimator
    rows, columns : int
    """
    if getattr(estimator, "basis", None) == "per_feature_rbf" and rows * columns > _MAX_GRID_COLUMNS:
        raise UserError(
            f"A grid of {columns:,} features by {rows:,} rows is too large: give --max-rows "
            f"{max(_MAX_GRID_COLUMNS // columns, 1):,}, a --grid-shape, or another --model."
        )


def sample_rows(n: int, most: int | None, y: Any, task: str, seed: int) -> Any:
    """Return the rows to work on: all, or a draw that keeps the classes' shares.

    Parameters
    ----------
    n : int
    most : int or None
    y : ndarray
    task : str
    seed : int

    Returns
    -------
    ndarray of int

    Examples
    --------
    >>> y = np.array([0] * 600 + [1] * 399 + [2])
    >>> np.bincount(y[sample_rows(1000, 100, y, "classification", 0)])
    array([59, 40,  1])
    """
    if most is None or n <= most:
        return np.arange(n)
    order = np.random.default_rng(seed).permutation(n)
    if task == "classification":
        # The k-th row of a class of m comes at (k - 1) / m: any first part has the whole's shares, and
        # at least one row of every class.
        _, codes, counts = np.unique(y[order], return_inverse=True, return_counts=True)
        place = np.empty(n)
        for code, count in enumerate(counts):
            place[codes == code] = np.arange(count) / count
        order = order[np.argsort(place, kind="stable")]
    return np.sort(order[:most])
