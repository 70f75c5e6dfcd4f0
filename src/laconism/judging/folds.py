"""Folds by which candidates are judged."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)

from .._protocols import Index
from .duplicates import duplicate_groups
from .trials import Data

Folds = list[tuple[Index, Index]]

# Digits to which rows are as far from the middle: beyond them it is rounding.
_DIGITS = 9


def draw_folds(cv: Any, data: Data, groups: Any, classifies: bool) -> Folds:
    """Return the rows to learn from and to judge by, or say why they cannot be drawn.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        As in scikit-learn; None is 5 folds that do not depend on the order of the rows.
    data : Data
    groups : array-like of shape (n_samples,) or None
        Rows of a group are left out together.
    classifies : bool
        Whether the targets are classes.
    """
    splitter = check_cv(cv, data.y, classifier=classifies)
    counted = isinstance(splitter, KFold | StratifiedKFold)
    # No fold is made of rows that were not seen, of weight zero; folds that name rows stay.
    named = isinstance(splitter, PredefinedSplit) or np.iterable(cv)
    rows = np.arange(data.y.size) if named else np.flatnonzero(data.weight)
    drawn, n = data if named or data.weight.all() else data.rows(rows), rows.size
    if counted and n < splitter.n_splits:
        raise ValueError(
            f"Cross-validation with {splitter.n_splits} folds needs at least as many rows, got "
            f"n_samples={n}; give more rows or a smaller cv."
        )
    if groups is not None:
        groups = _checked(groups, data.y.size)[rows]
        if counted and not hasattr(cv, "split"):
            splitter = (StratifiedGroupKFold if classifies else GroupKFold)(splitter.n_splits)
    try:
        if cv is None and groups is None:
            folds = _in_any_order(drawn, splitter)
        else:
            folds = list(splitter.split(drawn.X, drawn.y, groups))
        folds = [(rows[a], rows[b]) for a, b in folds]
    except (TypeError, IndexError) as error:
        raise ValueError(
            f"cv must yield pairs of indices of the {n} rows, those to learn from and those to "
            f"judge by, got {cv!r}."
        ) from error
    if not folds:
        raise ValueError(f"cv={cv!r} holds no folds; give a number of them, such as 5.")
    if not all(data.weight[test].any() for _, test in folds):
        raise ValueError("All rows that a fold judges by have weight zero; give other folds.")
    if classifies:
        _check_classes(data, folds)
    return folds


def _checked(groups: Any, n: int) -> Any:
    """Return the group of each row, or say what is wrong with them."""
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(
            f"groups must name the group of each of the {n} rows, got an array of shape {groups.shape}."
        )
    return groups


def _check_classes(data: Data, folds: Folds) -> None:
    """Raise if only one class is left to learn from."""
    seen = data.weight != 0
    if any(np.unique(data.y[a][seen[a]]).size < 2 for a, _ in folds):
        classes, counts = np.unique(data.y[seen], return_counts=True)
        raise ValueError(
            f"Without one of the folds only one class is left to learn from: class "
            f"{classes.tolist()[counts.argmin()]!r} has n_samples={counts.min()}; give more of it "
            f"or another cv."
        )


def _in_any_order(data: Data, splitter: KFold | StratifiedKFold) -> Folds:
    """Return folds that are the same in whatever order the rows come; copies of a row stay together.

    If the rows are sorted, folds of neighbours are judged where no row was seen; and another order would
    choose another model.
    """
    codes = np.unique(data.y, return_inverse=True)[1]
    sets = duplicate_groups(data.X, [codes.astype(float)])
    first = np.unique(sets, return_index=True)[1]
    fewest = np.bincount(codes[first]).min() if isinstance(splitter, StratifiedKFold) else first.size
    if fewest < splitter.n_splits:  # too few different rows
        first = sets = np.arange(codes.size)
    order = first[_order(data.X[first], codes[first])]
    order = order[np.random.default_rng(0).permutation(order.size)]
    held = [np.isin(sets, sets[order[test]]) for _, test in splitter.split(order, codes[order])]
    return [(np.flatnonzero(~each), np.flatnonzero(each)) for each in held]


def _order(X: Any, codes: Index) -> Index:
    """Return an order of different rows that does not hang on theirs, on the columns' or on units.

    By how far they are from the middle; rows as far away, which have something in common, by a
    projection; and equal rows by their targets.
    """
    sparse: bool = issparse(X)
    centred = X if sparse else X - np.mean(X, axis=0, dtype=np.float64)
    square = centred.multiply(centred).tocsr() if sparse else centred**2
    mean = np.asarray(square.mean(axis=0)).ravel()
    distance = square @ np.where(mean > 0, 1 / np.where(mean > 0, mean, 1.0), 0.0)
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    return np.lexsort((codes, X @ direction, np.round(distance, _DIGITS)))
