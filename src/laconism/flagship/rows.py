"""The distinct rows of the data: duplicates and near duplicates are merged."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._protocols import Index
from ..basis.rows import distinct_rows
from ..judging.duplicates import merge_duplicates, merge_near_duplicates
from ..model.tasks import FitData


class DistinctRows(NamedTuple):
    """The rows that remain when duplicates are merged, and their indices."""

    data: FitData
    kept: Index  # indices of the rows that remain
    leave_whole_rows: bool  # see leaves_whole_rows


def merged(data: FitData) -> DistinctRows:
    """Merge duplicates and near duplicates of rows that agree in their targets."""
    rows = np.arange(data.X.shape[0])
    for merge in (merge_duplicates, merge_near_duplicates):
        kept, X, weight, targets, _ = merge(data.X, data.weight, data.targets)
        data, rows = data._replace(X=X, weight=weight, targets=targets), rows[kept]
    return DistinctRows(data, rows, leaves_whole_rows(data.X))


def leaves_whole_rows(X: Any) -> bool:
    """Whether all duplicates of a row are left out with it, so that none of them predicts its target.

    They are not if equal rows have different targets: then there are few distinct rows, each observed
    many times.
    """
    return bool(distinct_rows(X)[0].size == X.shape[0])
