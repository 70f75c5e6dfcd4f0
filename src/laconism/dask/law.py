"""The law of estimators for Dask collections, as a check that anyone can run."""

from __future__ import annotations

import pickle
from typing import Any

import dask.array as da
import numpy as np
from sklearn.base import clone, is_classifier

from .._protocols import Array

# Rows of the data of a check.
_N_ROWS = 3_000


def check_dask_estimator(estimator: Any, client: Any) -> None:
    """Raise ``AssertionError`` if an estimator breaks the law; see :mod:`laconism.testing`."""
    X, y = _data(is_classifier(estimator))
    model = clone(estimator).set_params(client=client, sample_rows=_N_ROWS // 5)
    _demand(clone(model).client is client, model, "a clone must have the same client")
    even, uneven = _collections(X, y, [_N_ROWS // 3] * 3), _collections(X, y, _uneven())
    first, second = (clone(model).fit(*data) for data in (even, even))
    _same(model, _numbers(first, X), _numbers(second, X), 0.0, "fits of the same data")
    _check_predictions(first, even[0], X)
    other = clone(model).set_params(sample_rows=_N_ROWS).fit(*uneven)
    whole = clone(model).set_params(sample_rows=_N_ROWS).fit(*even)
    _same(model, _numbers(other, X), _numbers(whole, X), 1e-6, "other partitions")
    restored = pickle.loads(pickle.dumps(first))
    _demand(restored.client is None, model, "a pickled model must have no client")
    _same(model, _numbers(restored, X), _numbers(first, X), 0.0, "a pickled model")
    _check_passes(first, len(even[0].chunks[0]))
    _check_faults(first, X, y, client)


def _data(labels: bool) -> tuple[Array, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_N_ROWS, 4))
    f = 1.5 * X[:, 0] - X[:, 1] + 0.7 * rng.normal(size=_N_ROWS)
    return X, np.where(f > 0, "yes", "no") if labels else f


def _uneven() -> list[int]:
    """Return sizes of partitions of which some are empty."""
    return [0, 1, 700, 0, 1_299, 1_000]


def _collections(X: Array, y: Any, sizes: list[int]) -> tuple[Any, Any]:
    chunks = (tuple(sizes),)
    return da.from_array(X, chunks=(*chunks, X.shape[1])), da.from_array(y, chunks=chunks)


def _numbers(model: Any, X: Array) -> Array:
    local = model.to_local()
    if is_classifier(model):
        return np.asarray(local.predict_proba(X))
    return np.column_stack(local.predict_dist(X))


def _check_predictions(model: Any, lazy: Any, X: Array) -> None:
    """Check that predictions are lazy, in the same partitions and equal to those of the local model."""
    method = "predict_proba" if is_classifier(model) else "predict_dist"
    pairs = [("predict", model.predict(lazy), model.to_local().predict(X))]
    found, local = getattr(model, method)(lazy), getattr(model.to_local(), method)(X)
    for values, expected in zip(
        *((found, local) if isinstance(found, tuple) else ([found], [local])), strict=True
    ):
        pairs.append((method, values, expected))
    for name, values, expected in pairs:
        _demand(isinstance(values, da.Array), model, f"{name} must return a Dask array")
        _demand(values.chunks[0] == lazy.chunks[0], model, f"{name} must keep the partitions")
        _demand(values.dtype == expected.dtype, model, f"{name} must know its type")
        _demand(_agree(values.compute(), expected), model, f"{name} must equal that of to_local()")


def _agree(found: Any, expected: Any) -> bool:
    """Whether predictions agree; the size of a block may change the last digits of numbers."""
    if expected.dtype.kind != "f":
        return bool(np.array_equal(found, expected))
    return bool(np.allclose(found, expected, rtol=1e-9, atol=1e-12))


def _check_passes(model: Any, n_parts: int) -> None:
    """Check that the history has every pass, and that no pass moved the rows."""
    kinds = [each.kind for each in model.history_]
    _demand(kinds[:2] == ["describe", "sample"], model, "history_ must begin with describe and sample")
    _demand(
        f"{len(kinds)} passes over {n_parts} partitions" in str(model.status_),
        model,
        "status_ must say how many passes",
    )


def _check_faults(model: Any, X: Array, y: Any, client: Any) -> None:
    """Check that faulty data are refused by name, and change nothing."""
    before = _numbers(model, X)
    bad = X.copy()
    bad[1_500, 2] = np.nan
    sizes = [1_000] * 3
    _refuses(model, *_collections(bad, y, sizes), "Partition 1")
    one = np.full(_N_ROWS, "yes") if is_classifier(model) else np.full(_N_ROWS, np.inf)
    _refuses(model, *_collections(X, one, sizes), "one class" if is_classifier(model) else "Partition 0")
    try:
        model.fit(X, y)
    except TypeError:
        pass
    else:
        raise AssertionError(f"{model!r}: arrays in memory must be refused")
    _same(model, _numbers(model, X), before, 0.0, "a model after a fit that failed")


def _refuses(model: Any, X: Any, y: Any, sentence: str) -> None:
    try:
        model.fit(X, y)
    except ValueError as error:
        _demand(sentence in str(error), model, f"the error must say {sentence!r}, got {error}")
        return
    raise AssertionError(f"{model!r}: data that need {sentence!r} were not refused")


def _same(model: Any, found: Array, expected: Array, tol: float, what: str) -> None:
    moved = float(np.abs(found - expected).max())
    _demand(moved <= tol, model, f"{what} moved the predictions by {moved:.1e}")


def _demand(holds: bool, model: Any, sentence: str) -> None:
    if not holds:
        raise AssertionError(f"{model!r}: {sentence}.")
