"""The steps of a pipeline before the model, as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from ..basis import Monomials
from ..linalg import as_dense
from ._onnx_basis import basis_columns
from ._onnx_graph import Tensor, tensor_type
from ._onnx_rows import Rows


@dataclass(frozen=True)
class Table:
    """Rows side by side, each with its number of columns; columns of words stand alone."""

    parts: tuple[tuple[Rows, int], ...]

    @property
    def width(self) -> int:
        """Number of columns."""
        return sum(width for _, width in self.parts)

    def pick(self, index: Iterable[int]) -> Table:
        """Return some of the columns."""
        places = [(part, own) for part, (_, width) in enumerate(self.parts) for own in range(width)]
        picked = []
        for part, group in groupby((places[each] for each in index), key=lambda place: place[0]):
            (rows, width), columns = self.parts[part], [own for _, own in group]
            whole = columns == list(range(width))
            picked.append((rows if whole else rows.columns(columns), len(columns)))
        return Table(tuple(picked))

    def matrix(self) -> Rows:
        """Return all columns together; they are numbers."""
        every = (replace(rows, scale=np.broadcast_to(rows.scale, width)) for rows, width in self.parts)
        first, *others = every
        return first.beside(*others) if others else first

    def singly(self) -> list[Tensor]:
        """Return each column by itself."""
        return [self.pick([k]).matrix().plain() for k in range(self.width)]


def side_by_side(tables: Sequence[Table]) -> Table:
    """Return the columns of all tables as one."""
    return Table(tuple(part for table in tables for part in table.parts))


# ---- steps --------------------------------------------------------------------------------


def transform(step: Any, table: Table) -> Table:
    """Return what a fitted step makes of a table."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return table
    if isinstance(step, SelectorMixin):  # ours too
        return table.pick(step.get_support(indices=True))
    if type(step) not in _WRITERS:
        known = sorted(kind.__name__ for kind in _WRITERS)
        raise ValueError(
            f"to_onnx knows no graph for the step {type(step).__name__}; it knows selectors of "
            f"features and {', '.join(known)}."
        )
    return _WRITERS[type(step)](step, table)


def _pipeline(step: Pipeline, table: Table) -> Table:
    for _, each in step.steps:
        table = transform(each, table)
    return table


def _column_transformer(step: ColumnTransformer, table: Table) -> Table:
    done = []
    for name, each, _ in step.transformers_:
        index = step._transformer_to_input_indices[name]
        if len(index) and not (isinstance(each, str) and each == "drop"):
            done.append(transform(each, table.pick(index)))
    return side_by_side(done)


def _union(step: FeatureUnion, table: Table) -> Table:
    kept = (each for _, each in step.transformer_list if not isinstance(each, str) or each != "drop")
    return side_by_side([transform(each, table) for each in kept])


def _function(step: FunctionTransformer, table: Table) -> Table:
    if step.func is not None:
        raise ValueError("to_onnx knows no graph for the function of a FunctionTransformer.")
    return table


def _affine(shift: str, scale: str, divide: bool) -> Callable[[Any, Table], Table]:
    """Return how a scaler is written: ``(X - shift) / scale``, or ``X * scale + shift``."""

    def write(step: Any, table: Table) -> Table:
        X, away, unit = table.matrix(), getattr(step, shift, None), getattr(step, scale, None)
        away = away if getattr(step, "with_mean", True) else None
        unit = np.ones(1) if unit is None else np.asarray(unit, dtype=np.float64)
        if not divide:  # (X + shift / scale) * scale cancels less
            away, unit = -np.asarray(away) / unit, 1 / unit
        X = X if away is None else X.away(away)
        X = replace(X, scale=X.scale / np.broadcast_to(unit, table.width))
        if getattr(step, "clip", False):
            low, high = getattr(step, "feature_range", (-1.0, 1.0))
            refused = X.values * 0.0  # which is NaN for infinite input
            X = Rows(X.plain().at_least(float(low)).at_most(float(high)) + refused)
        return Table(((X, table.width),))

    return write


def _polynomial(step: PolynomialFeatures, table: Table) -> Table:
    basis = Monomials(step.powers_, np.arange(len(step.powers_)))
    return Table(((basis_columns(basis, table.matrix()), basis.n_columns),))


def _pca(step: PCA, table: Table) -> Table:
    rotation = np.asarray(step.components_.T, dtype=np.float64)
    if step.whiten:
        rotation = rotation / np.sqrt(np.maximum(step.explained_variance_, np.finfo(np.float64).eps))
    # A sum in single precision does not overflow.
    sizes = 2.0**100 / np.maximum(np.abs(rotation).max(axis=1), 1e-30)
    X = table.matrix().away(step.mean_).within(sizes)
    return Table(((X.dot(rotation), rotation.shape[1]),))


def _impute(step: SimpleImputer, table: Table) -> Table:
    if is_words(step.statistics_):
        if step.add_indicator:
            raise ValueError("to_onnx knows no graph for add_indicator on columns of words.")
        return Table(
            tuple(
                (Rows(_fill_words(column, str(word))), 1)
                for column, word in zip(table.singly(), step.statistics_, strict=True)
            )
        )
    rows = table.matrix()
    X, wanted = rows.values, step.missing_values
    nan = isinstance(wanted, float) and np.isnan(wanted)
    empty = X.graph.op("IsNaN", X) if nan else X.graph.op("Equal", rows.plain(), float(wanted))
    values = np.asarray(step.statistics_, dtype=np.float64)
    X = empty.where(rows.constants(np.where(np.isnan(values), 0.0, values)), X)
    filled = Table(((replace(rows, values=X), table.width),))
    if np.isnan(values).any():  # a column without any value is dropped
        filled = filled.pick(np.flatnonzero(~np.isnan(values)))
    if not step.add_indicator:
        return filled
    flags = Table(((Rows(_as_numbers(empty)), table.width),)).pick(step.indicator_.features_)
    return side_by_side([filled, flags])


def _fill_words(column: Tensor, word: str) -> Tensor:
    """Return a column of words with this one where it is empty."""
    graph = column.graph
    there = graph.op("Cast", _number_words(column, [""]), to=tensor_type(bool))  # -1 is true, 0 is not
    return there.where(column, graph.verbatim(np.array([[word]], dtype=object)))


def turn_back(step: Any, mean: Tensor) -> Tensor:
    """Return targets in the units they had before a scaler."""
    if type(step) is StandardScaler:
        mean = mean if step.scale_ is None else mean * float(step.scale_[0])
        return mean if not step.with_mean else mean + float(step.mean_[0])
    if type(step) is MinMaxScaler:
        return (mean - float(step.min_[0])) / float(step.scale_[0])
    if type(step) is FunctionTransformer and step.inverse_func is None:
        return mean
    raise ValueError("to_onnx knows no way back of this target; it knows StandardScaler, MinMaxScaler.")


# ---- categories ---------------------------------------------------------------------------


def _encode(step: Any, table: Table) -> Table:
    """Write an encoder of categories, column by column, as a table with a row for each category.

    The rows are computed by the encoder, so that categories it drops or merges are right.
    """
    parts, begin, asked = [], 0, copy(step)
    ordinal = isinstance(step, OrdinalEncoder)
    widths = [1] * len(step.categories_) if ordinal else [int(width) for width in step._n_features_outs]
    vars(asked).pop("feature_names_in_", None)  # or it would miss the names
    first = [categories[0] for categories in step.categories_]
    for k, (column, width) in enumerate(zip(table.singly(), widths, strict=True)):
        categories = step.categories_[k]
        rows = np.array([first] * categories.size, dtype=object)
        rows[:, k] = categories
        meaning = as_dense(asked.transform(rows))[:, begin : begin + width]
        unknown = _unknown(step, k, width)
        parts.append((Rows(_matches(column, categories) @ (meaning - unknown) + unknown), width))
        begin += width
    return Table(tuple(part for part in parts if part[1]))


def _unknown(step: Any, k: int, width: int) -> np.ndarray[Any, Any]:
    """Return the row for a category that was not there when the encoder was fitted."""
    if isinstance(step, OrdinalEncoder):
        known = step.handle_unknown == "use_encoded_value"
        return np.array([[float(step.unknown_value) if known else np.nan]])
    row = np.zeros((1, width))
    infrequent = getattr(step, "infrequent_categories_", [None] * (k + 1))[k]
    if step.handle_unknown in ("infrequent_if_exist", "warn") and infrequent is not None:
        row[0, -1] = 1.0
    return row


def _matches(column: Tensor, categories: np.ndarray[Any, Any]) -> Tensor:
    """Return one where the column has the category and zero elsewhere, a column for each."""
    graph = column.graph
    if is_words(categories):
        words = ["" if each is None or each != each else str(each) for each in categories]  # or NaN
        number = _number_words(column, words)
        return _as_numbers(graph.op("Equal", number, np.arange(categories.size)[None]))
    values = np.asarray(categories, dtype=np.float64)[None]
    equal = graph.op("Equal", column, values)
    if np.isnan(values).any():
        nothing = graph.op("And", graph.op("IsNaN", column), graph.verbatim(np.isnan(values)))
        equal = graph.op("Or", equal, nothing)
    return _as_numbers(equal)


def _number_words(column: Tensor, words: list[str]) -> Tensor:
    """Return the place of each word in a list, -1 for words that are not in it."""
    return column.graph.op(
        "LabelEncoder",
        column,
        domain="ai.onnx.ml",
        keys_strings=words,
        values_int64s=list(range(len(words))),
        default_int64=-1,
    )


def _as_numbers(flags: Tensor) -> Tensor:
    return flags.graph.op("Cast", flags, to=tensor_type(flags.graph.dtype))


def is_words(values: Any) -> bool:
    """Whether these are words, some of which may be missing."""
    array = np.asarray(values)
    if array.dtype.kind in "US":
        return True
    return array.dtype.kind == "O" and any(isinstance(each, str) for each in array.ravel())


# ---- which columns are words --------------------------------------------------------------


def word_columns(step: Any) -> set[int]:
    """Return which columns of its input a fitted step takes as words."""
    if isinstance(step, Pipeline):
        return word_columns(step.steps[0][1]) if step.steps else set()
    if isinstance(step, FeatureUnion):
        return set().union(*(word_columns(each) for _, each in step.transformer_list))
    if isinstance(step, ColumnTransformer):
        return {
            int(step._transformer_to_input_indices[name][k])
            for name, each, _ in step.transformers_
            for k in word_columns(each)
        }
    if isinstance(step, OneHotEncoder | OrdinalEncoder):
        return {k for k, categories in enumerate(step.categories_) if is_words(categories)}
    if isinstance(step, SimpleImputer) and is_words(getattr(step, "statistics_", ())):
        return set(range(len(step.statistics_)))
    return set()


_WRITERS: dict[type, Callable[[Any, Table], Table]] = {
    ColumnTransformer: _column_transformer,
    FeatureUnion: _union,
    FunctionTransformer: _function,
    MaxAbsScaler: _affine("", "scale_", True),
    MinMaxScaler: _affine("min_", "scale_", False),
    OneHotEncoder: _encode,
    OrdinalEncoder: _encode,
    PCA: _pca,
    Pipeline: _pipeline,
    PolynomialFeatures: _polynomial,
    RobustScaler: _affine("center_", "scale_", True),
    SimpleImputer: _impute,
    StandardScaler: _affine("mean_", "scale_", True),
}
