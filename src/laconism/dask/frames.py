"""Dataframes as matrices: categories become columns of zeros and ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from .._protocols import Array


@dataclass(frozen=True)
class FrameEncoder:
    """The columns of a dataframe and their categories, and the matrix that they become."""

    columns: tuple[str, ...]
    categories: Mapping[str, tuple[Any, ...]]

    @classmethod
    def of(cls, frame: Any) -> Self:
        """Return the encoder of a dataframe of pandas or Dask; categories must be known."""
        categories = {}
        for name, dtype in frame.dtypes.items():
            if isinstance(dtype, pd.CategoricalDtype):
                if not getattr(frame[name].cat, "known", True):
                    raise ValueError(
                        f"Column {name!r} has unknown categories; call X.categorize() first, which "
                        f"finds them in one pass."
                    )
                categories[name] = tuple(frame[name].cat.categories)
            elif dtype.kind not in "biuf" and not pd.api.types.is_numeric_dtype(dtype):
                raise ValueError(
                    f"Column {name!r} has the type {dtype}, which is no number; drop it, or call "
                    f"X.categorize(columns=[{name!r}]) if it has few values."
                )
        return cls(tuple(frame.columns), categories)

    @property
    def names(self) -> list[str]:
        """The names of the columns of the matrix."""
        found = []
        for name in self.columns:
            if name in self.categories:
                found += [f"{name}={value}" for value in self.categories[name]]
            else:
                found.append(str(name))
        return found

    def encode(self, frame: pd.DataFrame) -> Array:
        """Return the matrix of some rows; a missing category is a row of zeros."""
        if tuple(frame.columns) != self.columns:
            raise ValueError(
                f"The columns are {list(frame.columns)}, but the model was fitted to "
                f"{list(self.columns)}; give the same columns in the same order."
            )
        found = []
        for name in self.columns:
            values = frame[name]
            if name not in self.categories:
                found.append(values.to_numpy(dtype=np.float64, na_value=np.nan)[:, None])
                continue
            known = self.categories[name]
            codes = pd.Categorical(values, categories=list(known)).codes
            found.append((codes[:, None] == np.arange(len(known))).astype(np.float64))
        return np.hstack(found) if found else np.zeros((len(frame), 0))


def encode_categories(frame: Any) -> Any:
    """Return a dataframe in which every category is a column of zeros and ones.

    These are the columns that a model which was fitted to the dataframe has, so that ``to_local()`` can
    predict from them.

    Parameters
    ----------
    frame : pandas.DataFrame or dask.dataframe.DataFrame

    Returns
    -------
    a dataframe of the same kind
    """
    encoder = FrameEncoder.of(frame)
    if isinstance(frame, pd.DataFrame):
        return _encoded(frame, encoder)
    return frame.map_partitions(_encoded, encoder, meta=_encoded(frame._meta, encoder))


def _encoded(frame: pd.DataFrame, encoder: FrameEncoder) -> pd.DataFrame:
    return pd.DataFrame(encoder.encode(frame), columns=encoder.names, index=frame.index)
