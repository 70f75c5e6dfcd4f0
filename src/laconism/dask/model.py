"""What the estimators for Dask collections share: fit, lazy predictions and score."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar, Self

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask import delayed
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._component import is_count, is_name
from ..model.threads import one_blas_thread
from ..model.validation import all_or_nothing
from ..partitions.describe import describe
from ..partitions.parts import Part, Pass
from ..partitions.sample import Sample, draw_sample
from ..partitions.start import PartitionedRows
from .cluster import DaskPartitions, current_client
from .collections import as_parts
from .frames import FrameEncoder


class DaskModel(BaseEstimator):  # type: ignore[misc]
    """A local estimator that is fitted to partitions on a cluster.

    A subclass names the local estimator and the function that fits it to partitions; its parameters are
    those of the local estimator, ``client`` and ``sample_rows``.
    """

    client: Any
    sample_rows: Any
    _twin: ClassVar[type]
    _fit_partitions: ClassVar[Callable[..., None]]
    _auto_rows: ClassVar[int]

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "_twin" in vars(cls):
            cls.__init__ = _init_like(cls._twin)  # type: ignore[method-assign]

    # ---- fit ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to all partitions.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_features), or dask dataframe
            Chunks may be dense or scipy-sparse, of single or double precision, of unknown size. The
            categories of a dataframe must be known; each of them becomes a column.
        y : dask array or series of shape (n_samples,)
        sample_weight : dask array or series of shape (n_samples,), default=None
            Weight 2 is equivalent to repeating a row, weight 0 to omitting it.

        Returns
        -------
        self
        """
        most = self._n_sample_rows()
        params = self._twin_params()
        callbacks = params.get("callbacks")
        collections = as_parts(X, y, sample_weight)
        partitions = DaskPartitions(current_client(self.client), collections.parts, _reporter(callbacks))
        local = self._twin(**{**params, "callbacks": None} if "callbacks" in params else params)
        classifies = local._task.classifies
        description = describe(
            partitions, classifies=classifies, class_weight=params.get("class_weight")
        )
        partitions.persist_if_small(description.bytes)
        sample = draw_sample(partitions, description, most)
        if "class_weight" in params:  # the weights of the sample have it
            local.set_params(class_weight=None)
        rows = PartitionedRows(partitions, description)
        _fit_local(local, sample, rows, type(self)._fit_partitions)
        local.set_params(**params)
        if collections.encoder is not None:
            local.feature_names_in_ = np.array(collections.encoder.names, dtype=object)
        self.local_, self._encoder = local, collections.encoder
        return self

    def _n_sample_rows(self) -> int:
        if is_name(self.sample_rows, "auto"):
            return self._auto_rows
        if not is_count(self.sample_rows):
            raise ValueError(
                f"sample_rows must be 'auto' or a positive whole number, got {self.sample_rows!r}."
            )
        return int(self.sample_rows)

    def _twin_params(self) -> dict[str, Any]:
        params = self.get_params(deep=False)
        return {name: value for name, value in params.items() if name not in ("client", "sample_rows")}

    def to_local(self) -> Any:
        """Return the ordinary estimator, which needs no cluster.

        Its ``relevance_`` counts the rows of the sample. If the model was fitted to a dataframe with
        categories, it predicts from :func:`~laconism.dask.encode_categories` of such a dataframe.

        Returns
        -------
        a fitted local estimator
        """
        check_is_fitted(self, "local_")
        return deepcopy(self.local_)

    # ---- predict --------------------------------------------------------------------------

    def _lazily(self, method: str, X: Any, n_columns: int, dtype: Any, names: Any = None) -> Any:
        """Return the predictions of each partition, in the same partitions, not yet computed.

        ``n_columns`` is zero for one number a row.
        """
        check_is_fitted(self, "local_")
        model, encoder = delayed(self.local_), self._encoder
        if isinstance(X, dd.DataFrame):
            meta = _frame_of(np.zeros((0, n_columns) if n_columns else 0, dtype=dtype), None, names)
            return X.map_partitions(_predict_frame, model, method, encoder, names, meta=meta)
        if not isinstance(X, da.Array):
            raise TypeError(
                f"X must be a Dask array or dataframe, got {type(X).__name__}; for data in memory use "
                f"to_local()."
            )
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        if not n_columns:
            meta = np.empty(0, dtype=dtype)
            return X.map_blocks(_predict_block, model, method, drop_axis=1, dtype=dtype, meta=meta)
        chunks = (X.chunks[0], (n_columns,))
        meta = np.empty((0, 0), dtype=dtype)
        return X.map_blocks(_predict_block, model, method, chunks=chunks, dtype=dtype, meta=meta)

    def _mean_of_parts(self, X: Any, y: Any, sample_weight: Any, score: Callable[..., Any]) -> Any:
        """Return the sums that a score needs, over all partitions."""
        check_is_fitted(self, "local_")
        collections = as_parts(X, y, sample_weight)
        partitions = DaskPartitions(current_client(self.client), collections.parts)
        return partitions.total("score", score, self.local_)

    # ---- the contract ---------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name.endswith("_") and not name.startswith("_") and "local_" in self.__dict__:
            return getattr(self.__dict__["local_"], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {**super().__getstate__()}
        return {**state, "client": None}

    def __sklearn_clone__(self) -> Self:
        return type(self)(**{**self.get_params(deep=False)})

    def __sklearn_is_fitted__(self) -> bool:
        return "local_" in self.__dict__

    def _repr_html_(self) -> str:
        return f"<pre>{self!r}</pre>"


def _init_like(twin: Any) -> Any:
    """Return an initialiser with the parameters of a local estimator, ``client`` and ``sample_rows``."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    known = inspect.signature(twin.__init__).parameters.values()
    extra = [
        inspect.Parameter("client", keyword, default=None),
        inspect.Parameter("sample_rows", keyword, default="auto"),
    ]
    signature = inspect.Signature([*known, *extra])

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    init.__signature__ = signature  # type: ignore[attr-defined]
    init.__name__ = "__init__"
    return init


def _fit_local(
    local: Any, sample: Sample, rows: PartitionedRows, fit_partitions: Callable[..., None]
) -> None:
    """Fit a local estimator to a sample, and then to all rows if there are more."""
    partitions = rows.partitions
    with all_or_nothing(local), one_blas_thread():
        data = local._fit_data(sample.X, sample.y, sample.weight)
        if rows.description.rows <= sample.y.size:
            local._fit_rows(data)
        else:
            fit_partitions(local, data, rows)
        local.history_ = list(partitions.passes)
        sent = max(each.bytes for each in partitions.passes)
        note = (
            f" {len(partitions.passes)} passes over {partitions.n_parts} partitions of "
            f"{rows.description.rows} rows, at most {sent} bytes a pass; columns from "
            f"{sample.y.size} rows."
        )
        local.status_ = type(local.status_)(
            local.status_.converged, local.status_.message + note, local.status_.stopped
        )


def _reporter(callbacks: Any) -> Callable[[Pass], object] | None:
    """Return the function that tells callbacks of each pass."""
    if callbacks is None:
        return None
    each = callbacks if isinstance(callbacks, list | tuple) else [callbacks]

    def report(record: Pass) -> None:
        for callback in each:
            callback(record)

    return report


def _predict_block(X: Any, model: Any, method: str) -> Any:
    """Return the predictions of one block of rows."""
    return _predictions(model, method, X)


def _predict_frame(
    frame: pd.DataFrame, model: Any, method: str, encoder: FrameEncoder | None, names: Any
) -> Any:
    """Return the predictions of one partition of a dataframe, with its index."""
    X = frame.to_numpy() if encoder is None else encoder.encode(frame)
    return _frame_of(_predictions(model, method, X), frame.index, names)


def _frame_of(values: Any, index: Any, names: Any) -> Any:
    if values.ndim == 1:
        return pd.Series(values, index=index)
    return pd.DataFrame(values, columns=names, index=index)


def _predictions(model: Any, method: str, X: Any) -> Any:
    """Return the predictions of rows as an array; those of no rows are empty."""
    empty = X.shape[0] == 0
    if empty:
        X = np.zeros((1, model.n_features_in_))
    names = model.__dict__.pop("feature_names_in_", None)
    try:
        found = getattr(model, method)(X)
    finally:
        if names is not None:
            model.feature_names_in_ = names
    found = np.column_stack(found) if isinstance(found, tuple) else found
    return found[:0] if empty else found


def accuracy_sums(part: Part, model: Any) -> list[Any]:
    """Return the weights of the rows whose class is right, and of all rows."""
    right = _predictions(model, "predict", part.X) == part.y
    return [float(part.weight @ right), float(part.weight.sum())]


def squares_sums(part: Part, model: Any) -> list[Any]:
    """Return the sums of squares that R2 needs."""
    y, w = np.asarray(part.y, dtype=np.float64), part.weight
    error = y - _predictions(model, "predict", part.X)
    return [float(w @ error**2), float(w @ y**2), float(w @ y), float(w.sum())]
