"""Checks of data and parameters, tables as rows, defaults from the data, the undoing of failed fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from .._component import is_name, is_number, is_positive, require, unknown
from .._protocols import Array
from ..linalg import is_sparse

# Accepted rows: doubles or floats, not converted; sparse matrices by rows.
ROWS: dict[str, Any] = {"dtype": [np.float64, np.float32], "accept_sparse": "csr"}
# Advice for columns of times.
_SINCE = "such as the days since one of them"


@contextmanager
def all_or_nothing(model: Any) -> Iterator[None]:
    """Restore the attributes of a model if its ``fit`` fails."""
    before = dict(model.__dict__)
    try:
        yield
    except BaseException:
        model.__dict__.clear()
        model.__dict__.update(before)
        raise


@contextmanager
def naming_columns(X: Any, y: Any = None, numeric: bool = False) -> Iterator[None]:
    """Raise an error that names the invalid column or target, if the check inside does not."""
    _check_quantities(X)
    try:
        with np.errstate(invalid="ignore"):  # a sum of finite numbers may overflow in both directions
            yield
    except (TypeError, ValueError) as error:
        sentence = _about_columns(X) or about_targets(y, numeric)
        if sentence is None:
            raise
        raise ValueError(sentence) from error


def _check_quantities(X: Any) -> None:
    """Raise if numpy would convert entries that are no numbers, or scikit-learn may confuse columns."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):  # pandas may have a column `_mask`
        raise ValueError(
            "X has masked entries, which would be read as if they were not; fill them in first, for "
            "example by X.filled(numpy.nan) and SimpleImputer."
        )
    names = _names(X)
    if len(names) and (len(set(names)) < len(names) or any(map(_is_time, X.dtypes))):
        raise ValueError(_about_columns(X))
    if _is_time(getattr(X, "dtype", None)):
        raise ValueError(f"X holds times ({X.dtype}); turn them into numbers first, {_SINCE}.")


def _names(X: Any) -> Any:
    """Return the names of the columns of a pandas or polars table."""
    return X.columns if hasattr(X, "columns") and hasattr(X, "dtypes") else ()


def _is_time(dtype: Any) -> bool:
    """Return whether a type of numpy, pandas or polars holds dates or durations."""
    temporal = getattr(dtype, "is_temporal", None)
    return bool(temporal()) if temporal else getattr(dtype, "kind", "O") in "mM"


def _about_columns(X: Any) -> str | None:
    """Return a message on the columns of a table if one is invalid."""
    counts = Counter(_names(X))
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        return f"Several columns of X are called {twice!r}; give every column a name of its own."
    found = next(_without_numbers(X), None)
    if found is None:
        return None
    name, value = found
    is_time = isinstance(value, date | timedelta | np.datetime64 | np.timedelta64)
    how = _SINCE if is_time else "for example with OneHotEncoder or OrdinalEncoder"
    return (
        f"Column {name!r} does not hold numbers (but, for example, {value!r}); turn it into "
        f"numbers first, {how}."
    )


def about_targets(y: Any, numeric: bool) -> str | None:
    """Return a message on the targets if one is invalid."""
    if not hasattr(y, "__len__") or len(getattr(y, "shape", (0,))) != 1:
        return None
    missing = sum(map(_is_missing, y))
    if missing:
        return f"y misses {missing} of its values (NaN); leave those rows out."
    word = next((value for value in y if not _is_readable(value)), None) if numeric else None
    if word is None:
        return None
    return f"A regression needs numeric targets, got {str(word)!r}; for classes use a classifier."


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas' missing value is neither equal nor different
        return type(value).__name__ == "NAType"


def _is_readable(value: Any) -> bool:
    if isinstance(value, complex | np.complexfloating):
        return True  # scikit-learn raises its own error
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _without_numbers(X: Any) -> Iterator[tuple[Any, Any]]:
    """Yield name and first entry of the columns of a table that cannot be read as numbers."""
    for name in _names(X):
        column = X[name]
        if getattr(column.dtype, "kind", "O") in "biuf":
            continue
        try:
            np.asarray(column, dtype=np.float64)
            # Times can be converted to numbers since 1970, which are no meaningful quantity.
            readable = not _is_time(column.dtype)
        except (TypeError, ValueError):
            readable = False
        if not readable:
            yield name, next(iter(column))


def entries_once(X: Any) -> Any:
    """Return the rows with the duplicate entries of a sparse matrix summed.

    Their squares would be wrong otherwise. The caller's matrix is not changed.
    """
    if not is_sparse(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def unfold(X: Any) -> tuple[Any, tuple[int, ...] | None]:
    """Return samples as rows, and the shape of each if it had more than one dimension."""
    if is_sparse(X) or hasattr(X, "columns"):  # a data frame keeps its names
        return X, None
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError("X is ragged: every sample needs the same shape.") from error
    if array.ndim <= 2:
        return X, None
    if array.size == 0:
        raise ValueError(f"X has shape {array.shape}: there is nothing in it.")
    return array.reshape(array.shape[0], -1), array.shape[1:]


def unfold_like(X: Any, sample_shape: tuple[int, ...] | None, n_features: int) -> Any:
    """Return new samples as rows, or raise if they are tables of another shape than the fitted ones."""
    rows, shape = unfold(X)
    if shape is None or shape == sample_shape:
        return rows
    given = f"samples of shape {sample_shape}"
    fitted = given if sample_shape else f"rows of {n_features} features"
    raise ValueError(f"Each sample of X has shape {shape}, but the model was fitted on {fitted}.")


def check_one_kind(y: Any) -> None:
    """Raise unless the labels can be sorted, with a clearer message than numpy's."""
    if np.asarray(y).dtype != object:
        return
    try:
        np.unique(y)
    except TypeError as error:
        kinds = sorted({"missing" if label is None else type(label).__name__ for label in y})
        raise ValueError(
            f"The labels are of several kinds ({', '.join(kinds)}); give all of them as text, or all as "
            f"numbers, and none as missing."
        ) from error


def check_weight(weight: Array, name: str) -> None:
    """Raise unless the weights are finite, not negative and not all zero."""
    if not np.isfinite(weight).all():
        raise ValueError(f"{name} must be finite.")
    if (weight < 0).any():
        raise ValueError(f"{name} must not be negative.")
    if weight.max(initial=0.0) > 1e20:
        raise ValueError(f"{name} must not exceed 1e20: a weight counts how often its row was seen.")
    if not weight.any():
        raise ValueError(f"{name} must not be zero for every row.")


def weight_of_classes(class_weight: Any, y: Any) -> Array:
    """Return the class weight of each row; raise if ``class_weight`` is invalid."""
    if not (isinstance(class_weight, Mapping) or is_name(class_weight, "balanced")):
        raise ValueError(
            f"class_weight must be None, 'balanced' or a dict from classes to weights, got "
            f"{class_weight!r}."
        )
    if isinstance(class_weight, Mapping) and not all(map(is_number, class_weight.values())):
        raise ValueError(f"class_weight must have finite numbers as its weights, got {class_weight!r}.")
    return np.asarray(compute_sample_weight(class_weight, y))


def check_values(owner: object, name: str) -> list[Any]:
    """Return a parameter that holds several values as a list, or raise unless it is one."""
    value = getattr(owner, name)
    single = isinstance(value, str | int | float)
    values = [value] if single else list(value) if isinstance(value, Sequence | np.ndarray) else []
    require(len(values) > 0, owner, f"{name} must be a value or a sequence of values", value)
    return values


def check_gamma(gamma: Any) -> None:
    """Raise unless this is a valid ``gamma`` of a kernel: a positive number, "scale" or "auto"."""
    if isinstance(gamma, str) and gamma not in ("auto", "scale"):
        raise unknown("gamma", gamma, ["auto", "scale"])
    if not isinstance(gamma, str) and not is_positive(gamma):
        raise ValueError(f"gamma must be positive, 'scale' or 'auto', got {gamma!r}.")


def resolve_gamma(gamma: Any, X: Any, weight: Array) -> float:
    """Return a kernel's ``gamma`` as a number."""
    check_gamma(gamma)
    if not isinstance(gamma, str):
        return float(gamma)
    spread = 1.0 if gamma == "auto" else _total_variance(X, weight)
    return 1 / (int(X.shape[1]) * spread)


def _total_variance(X: Any, weight: Array) -> float:
    """Return the variance of all entries together, rows weighted; 1 if they are constant.

    It is computed in units of the largest entry, to avoid overflow and underflow.
    """
    entries = X.data if is_sparse(X) else X
    unit = float(np.abs(entries).max(initial=0.0))
    if unit == 0:
        return 1.0
    share = weight / weight.sum()
    mean = float(np.mean(share @ (X / unit)))
    if is_sparse(X):
        scaled = X / unit
        square = float(np.mean(share @ scaled.multiply(scaled)))
        variance = max(square - mean**2, 0.0)
    else:
        variance = float(np.mean(share @ (X / unit - mean) ** 2))
    # The variance of constant entries is rounding error.
    variance = variance if variance > (8 * np.finfo(float).eps * mean) ** 2 else 1.0
    # gamma = 1 / variance must itself stay in range.
    return float(np.clip(variance * unit * unit, 1e-300, 1e300)) if unit < 1e150 else 1e300
