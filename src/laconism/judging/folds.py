"""Folds: those that a user gives, and balanced ones in any order; predictions of fits without a fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)

from .._protocols import Array, Index
from ..linalg import as_dense
from .duplicates import duplicate_groups
from .rows import row_keys
from .trials import Data

Folds = list[tuple[Index, Index]]

# Number of folds where a reference of the flagship is refitted.
N_FOLDS = 10


def draw_folds(cv: Any, data: Data, groups: Any, classifies: bool) -> Folds:
    """Return the training and test rows of each fold, or raise.

    ``cv`` is as in scikit-learn; None is 5 balanced folds. Rows of a group are left out together.
    """
    splitter = check_cv(cv, data.y, classifier=classifies)
    counted = isinstance(splitter, KFold | StratifiedKFold)
    # Rows of weight zero are in no fold, except in folds that the user gives by index.
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
            codes = np.unique(drawn.y, return_inverse=True)[1].astype(np.float64)
            every = np.arange(n)
            left_out = balanced_folds(drawn.X, codes, splitter.n_splits)
            folds = [(np.setdiff1d(every, out), out) for out in left_out]
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
    """Return the group of each row, or raise if their number is wrong."""
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(
            f"groups must name the group of each of the {n} rows, got an array of shape {groups.shape}."
        )
    return groups


def _check_classes(data: Data, folds: Folds) -> None:
    """Raise if the training rows of a fold have only one class."""
    seen = data.weight != 0
    if any(np.unique(data.y[a][seen[a]]).size < 2 for a, _ in folds):
        classes, counts = np.unique(data.y[seen], return_counts=True)
        raise ValueError(
            f"Without one of the folds only one class is left to learn from: class "
            f"{classes.tolist()[counts.argmin()]!r} has n_samples={counts.min()}; give more of it "
            f"or another cv."
        )


def balanced_folds(X: Any, y: Array, n_folds: int) -> list[Index]:
    """Return the left-out rows of each fold: similar targets in all folds, duplicates together.

    Sorted rows are dealt to the folds in turn, so that no order of rows or columns matters. Duplicates
    are not kept together where there are few different rows.
    """
    sets = duplicate_groups(X, [y])
    if np.unique(sets).size < 2 * n_folds:  # too few different rows
        sets = np.arange(y.size)
    count = np.bincount(sets)
    keys = [np.bincount(sets, key) / count for key in (*row_keys(X, y), y)]
    fold = np.empty(count.size, dtype=np.intp)
    fold[np.lexsort(keys)] = np.arange(count.size) % n_folds
    return [np.flatnonzero(fold[sets] == k) for k in range(min(n_folds, count.size))]


def cross_validated(
    folds: Iterable[Index],
    n_rows: int,
    predict_without: Callable[[Index, Index], Any],
    shape: tuple[int, ...] = (),
) -> Array:
    """Return predictions of every row by a model that was fitted without the row's fold.

    Given the rows that stay and those that are left out, ``predict_without`` returns an array of shape
    ``(*shape, n_left_out)``. Rows that are in no fold have zero.
    """
    left = np.zeros((*shape, n_rows))
    every = np.arange(n_rows)
    for out in folds:
        left[..., out] = predict_without(np.setdiff1d(every, out), out)
    return left


def latents_without_parts(
    X: Any,
    targets: Sequence[Array],
    predict_without: Callable[[Index, Index], Any],
    n_parts: int = 5,
) -> Array:
    """Return left-out latents, mean and variance of each output, of fits without each part of the rows.

    The parts have similar targets. This is for fits without a leave-one-out formula.
    """
    codes = np.unique(np.stack(targets), axis=1, return_inverse=True)[1].astype(float)
    parts = balanced_folds(as_dense(X), codes, n_parts)
    return cross_validated(parts, codes.size, predict_without, (len(targets), 2))
