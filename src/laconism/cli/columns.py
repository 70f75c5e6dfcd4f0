"""From a table's columns to features: the kind of each column, and its preprocessing."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .console import Terminal, UserError, listed, several

# What is said of a number, or of the digits of one, that no double holds.
BEYOND = f"is infinite or beyond {np.finfo(np.float64).max:.1e}"
# Maximum number of features for one column of categories; rarer categories share one.
MAX_CATEGORIES = 20
_DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})"
    r"|\d{1,2}[-/. ]+[^\W\d]{3,9}[-/., ]+(\d{4}|\d{2})|[^\W\d]{3,9}[. ]+\d{1,2},? \d{4})([T\s].*)?",
    re.DOTALL,
)
_IDENTIFIER = re.compile(r"(^|[^a-zA-Z])([iI][dD]|idx|index|uuid|rownames?)$|[a-z]I[dD]$")


@dataclass
class Plan:
    """The kind of each column of a table."""

    numbers: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def used(self) -> list[str]:
        """The columns that the model uses."""
        return [*self.numbers, *self.categories]


def plan_columns(
    table: Any,
    terminal: Terminal,
    *,
    drop: Collection[str] = (),
    keep: Collection[str] = (),
    as_grid: bool = False,
) -> Plan:
    """Decide the kind of each column of a table without its target, and report what is left out.

    ``keep`` has the columns to keep even if they look like identifiers or dates. Of a grid no column
    may be left out.
    """
    unknown = [name for name in (*drop, *keep) if name not in table.columns]
    if unknown:
        raise UserError(f"There is no column {listed(unknown)} to drop or keep.")
    plan = Plan(left_out=dict.fromkeys(drop, "as asked"))
    for name, column in table.drop(columns=list(drop)).items():
        if what := nested(column):
            plan.left_out[name] = what
            continue
        numeric = _as_numbers(column)
        if as_grid and numeric is None:
            raise UserError(f"A grid needs numbers in every column, but {name} has text.")
        distinct = (column if numeric is None else numeric).nunique()
        infinite = numeric is not None and numeric.isin([-np.inf, np.inf]).any()  # ``tidy`` refuses it
        reason = "" if as_grid or distinct > 1 or infinite else "constant" if distinct else "all missing"
        if not (reason or as_grid or name in keep):
            reason = uselessness(name, column, 0 if numeric is not None else distinct)
        if reason:
            plan.left_out[name] = reason
        elif numeric is not None:
            plan.numbers.append(name)
        else:
            plan.categories.append(name)
            say_rare(name, distinct, terminal)
    say_left_out(plan, terminal)
    say_missing(plan, table[plan.used].isna().sum(), terminal, numbers="replaced by the median")
    if not as_grid:
        found = ((f"{end:.15g}", name) for name in plan.numbers for end in _placeholders(table[name]))
        for names, value in _grouped(found):
            terminal.note(
                f"{listed(names)}: {value} is far from all other values; if it stands for a missing "
                f"one, say --missing {value}."
            )
    return plan


def say_rare(name: str, distinct: int, terminal: Terminal) -> None:
    """Report a column in which rare categories share a feature."""
    if distinct > MAX_CATEGORIES:
        terminal.note(
            f"{name} has {distinct} categories: the rarest share one, "
            f"{MAX_CATEGORIES - 1} have their own."
        )


def say_left_out(plan: Plan, terminal: Terminal) -> None:
    """Report the columns that are left out, and raise if these are all."""
    for names, reason in _grouped((reason, name) for name, reason in plan.left_out.items()):
        if reason != "as asked":
            terminal.note(f"left out {listed(names)}: {reason}.")
    if not plan.used:
        raise UserError("No column is left to predict the target from.")


def say_missing(plan: Plan, holes: Mapping[str, int], terminal: Terminal, *, numbers: str) -> None:
    """Report missing values, given their count in each column and what becomes of missing numbers."""
    for columns, filled in (
        (plan.numbers, numbers),
        (plan.categories, "made a category of their own"),
    ):
        with_counts = [f"{name} ({holes[name]:,})" for name in columns if holes[name]]
        if with_counts:
            terminal.note(f"missing values {filled}: {listed(with_counts)}.")


def _grouped(pairs: Iterable[tuple[str, str]]) -> list[tuple[list[str], str]]:
    """Return for each key of (key, name) its names, in the order of first appearance."""
    found: dict[str, list[str]] = {}
    for key, name in pairs:
        found.setdefault(key, []).append(name)
    return [(names, key) for key, names in found.items()]


def nested(column: Any) -> str:
    """Return what Parquet cells hold that is no number or text; an empty string for nothing."""
    from pandas.api.types import is_list_like

    if column.dtype == object and any(isinstance(cell, bytes) for cell in column):
        return "binary data"
    return "lists" if any(is_list_like(cell) for cell in column.dropna()[:1]) else ""


def time_of(column: Any) -> str:
    """Return whether a typed column holds dates or durations; an empty string for neither."""
    from pandas.api.types import infer_dtype

    kind = infer_dtype(column, skipna=True)
    if kind in ("timedelta", "timedelta64"):
        return "durations"
    return "dates" if kind in ("date", "datetime", "datetime64", "period") else ""


def _as_numbers(column: Any, least_share: float = 0.9) -> Any:
    """Return the column as numbers, or ``None`` if it is text; raise at single texts among numbers.

    Text of which at least this share is numbers is a column of numbers with errors.
    """
    from pandas.api.types import is_numeric_dtype

    if is_numeric_dtype(column):  # true and false are numbers, too
        return column
    if time_of(column):
        return None
    known = column.dropna()
    numbers = to_numbers(known)
    good = numbers.notna()
    if not len(known) or good.all():
        return numbers.reindex(column.index)
    if good.mean() >= least_share:
        row = int(np.argmax(column.notna().to_numpy() & ~good.reindex(column.index, fill_value=True)))
        text = str(column.iloc[row])
        raise UserError(
            f"Column {column.name}: row {column.index[row] + 1} has {text!r} where the others have "
            f"numbers; correct it, or call it missing with --missing {text!r}."
        )
    return None


def to_numbers(column: Any, errors: str = "coerce", most_digits: int = 300) -> Any:
    """Return a column as numbers, with NaN for text; integers beyond all doubles become infinite."""
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    def shortened(cell: Any) -> Any:
        long = isinstance(cell, str) and len(cell) > most_digits and is_number(cell)
        if long or isinstance(cell, bool | np.bool_):
            return float(cell)
        beyond = isinstance(cell, int) and abs(cell) >= 10**most_digits
        return math.copysign(math.inf, 1 if cell > 0 else -1) if beyond else cell

    cells = column if is_numeric_dtype(column) else column.astype(object).map(shortened)
    return pd.to_numeric(cells, errors=errors)


def uselessness(name: str, column: Any, distinct: int, most_share: float = 0.5) -> str:
    """Return why a column cannot be used, or an empty string; ``distinct`` counts its texts.

    Text with more distinct values than this share of its rows identifies rows.
    """
    from pandas.api.types import is_float_dtype

    known, time = column.dropna(), time_of(column)
    if time == "dates" or (distinct and all(_DATE.fullmatch(str(v)) for v in known[:1000])):
        return "dates; make numbers of them first, such as the year or the days since"
    if time:
        return "durations; make numbers of them first"
    if _IDENTIFIER.search(name) and not is_float_dtype(column) and column.is_unique:
        return f"an identifier; --keep {name!r} keeps it"
    if distinct > max(MAX_CATEGORIES, most_share * len(known)):
        return f"text with {distinct:,} distinct values{_mixture(known)}; --keep {name!r} keeps it"
    return ""


def _mixture(texts: Any) -> str:
    """Return the remark about a column of text that is mostly numbers."""
    others = [text for text in texts if not is_number(text)]
    if not others or 2 * len(others) > len(texts):
        return ""
    most = max(dict.fromkeys(others), key=others.count)
    return f", most of them numbers and some not (--missing {most!r} calls such a text missing)"


def _placeholders(column: Any, *, least_share: float = 0.02, least_ranges: float = 3.0) -> list[float]:
    """Return numbers such as -999, which probably stand for missing values.

    Many rows have them, and they are several ranges of all other values away.
    """
    values = _as_numbers(column).to_numpy(dtype=np.float64, na_value=np.nan)
    values = values[np.isfinite(values)]
    found = []
    for end in (values.min(), values.max()) if values.size else ():
        rest = values[values != end]
        often = values.size - rest.size >= least_share * values.size
        if often and rest.size and np.abs(rest - end).min() > least_ranges * np.ptp(rest) > 0:
            found.append(float(end))
    return found


def tidy(table: Any, numbers: Sequence[str], categories: Sequence[str]) -> Any:
    """Return these columns, numbers as floats and categories as text."""
    import pandas as pd

    from ..magnitude import LARGEST

    columns: dict[str, Any] = {}
    for name in numbers:
        values = _as_numbers(table[name])
        if values is None:
            text = next(v for v in table[name].dropna() if not is_number(v))
            raise UserError(f"Column {name} has {text!r} where the model needs a number.")
        array = values.to_numpy(dtype=np.float64, na_value=np.nan)
        beyond = np.abs(array) > LARGEST
        if beyond.any():
            at = int(np.argmax(beyond))
            what = BEYOND if np.isinf(array[at]) else f"has {array[at]:.1e}, too large to square,"
            row = table.index[at] + 1
            raise UserError(f"Column {name} {what} in row {row}; correct it or leave it empty.")
        columns[name] = array
    for name in categories:
        if what := nested(table[name]):
            raise UserError(f"Column {name} has {what} where the model needs text.")
        texts = table[name].astype(object).map(_as_text, na_action="ignore")
        columns[name] = texts.where(table[name].notna(), np.nan)
    return pd.DataFrame(columns, index=table.index).astype(dict.fromkeys(categories, object))


def is_number(value: Any) -> bool:
    """Return whether Python reads a value as a number."""
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _as_text(value: Any) -> str:
    """Return a category as in a file: 3.0 becomes 3, since missing values turn integers into floats."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def make_preprocessing(plan: Plan) -> Any:
    """Return scikit-learn's transformer of the planned columns."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    median = SimpleImputer(strategy="median", keep_empty_features=True)
    numbers = Pipeline([("impute", median), ("scale", StandardScaler())])
    encode = OneHotEncoder(
        drop="if_binary",
        handle_unknown="infrequent_if_exist",
        max_categories=MAX_CATEGORIES,
        sparse_output=False,
    )
    impute = SimpleImputer(strategy="constant", fill_value="missing", keep_empty_features=True)
    texts = Pipeline([("impute", impute), ("encode", encode)])
    parts = [("numbers", numbers, plan.numbers), ("categories", texts, plan.categories)]
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0.0)


def columns_of(preprocessing: Any) -> tuple[list[str], list[str]]:
    """Return the columns that a fitted transformer needs: numbers and categories."""
    found = {name: list(columns) for name, _, columns in preprocessing.transformers_}
    return found.get("numbers", []), found.get("categories", [])


def feature_names(preprocessing: Any) -> list[str]:
    """Return a name for each feature: ``age``, ``town = Bath``."""
    numbers, categories = columns_of(preprocessing)
    names = list(numbers)
    if categories:
        encoder = preprocessing.named_transformers_["categories"][-1]
        # With numbers as column names, the category follows the first underscore.
        for made in encoder.get_feature_names_out([str(k) for k in range(len(categories))]):
            k, category = str(made).split("_", 1)
            category = "one of the rare" if category == "infrequent_sklearn" else category
            names.append(f"{categories[int(k)]} = {category}")
    return names


def unknown_categories(table: Any, preprocessing: Any) -> Iterator[tuple[str, Any]]:
    """Yield the columns with categories that the model was not fitted on, and these values."""
    _, categories = columns_of(preprocessing)
    for k, name in enumerate(categories):
        known = preprocessing.named_transformers_["categories"][-1].categories_[k]
        new = table[name].notna() & ~table[name].isin(known)
        if new.any():
            yield name, table[name][new]


def say_unknown(table: Any, preprocessing: Any, terminal: Terminal) -> None:
    """Report categories that the model was not fitted on."""
    for name, new in unknown_categories(table, preprocessing):
        values = listed(dict.fromkeys(new), most=3)
        rows = several(len(new), "row")
        terminal.note(f"{name}: {rows} with categories the model has not seen ({values}).")
