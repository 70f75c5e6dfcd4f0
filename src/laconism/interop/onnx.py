"""Models as ONNX graphs, for prediction without Python."""

from __future__ import annotations

import importlib
from math import prod
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PolynomialFeatures

from ..model.published import PublishedModel
from ..sparse.search import SparseBayesSearch
from ._onnx_graph import OPSETS, Graph, Tensor, import_onnx, tensor_type
from ._onnx_model import Results, needs_double, predictions
from ._onnx_pipeline import Table, transform, turn_back, word_columns
from ._onnx_rows import Rows

# Name of the batch dimension, which has any length.
_ROWS = "rows"


def to_onnx(model: Any, *, dtype: str = "float64", std: bool = True) -> Any:
    """Return a fitted model as an ONNX graph with the same predictions.

    The graph of a classifier has the outputs ``label`` (``predict``) and ``probabilities``
    (``predict_proba``, integrated over the posterior). That of a regressor has ``mean`` (``predict``)
    and ``std`` (the standard deviation of ``predict_dist``). The input is ``X``, with any number of
    rows. The graph holds only the kept columns.

    Needs ``pip install "laconism[onnx]"``, and a runtime such as onnxruntime to run the graph.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor on features or with kernels of :mod:`laconism.kernels`; a fitted
        search, whose best estimator is used; or a pipeline that ends in one of these. Precomputed
        kernels, functions as kernels and user-defined classes are not supported.
    dtype : {"float64", "float32"}, default="float64"
        Float type of the graph, its input and its outputs. float32 halves the size and is accurate to
        about 1e-4 (see Notes). The graph still computes in double precision if rounding could change a
        latent by more than 1e-4 (for a regressor, in units of the noise's standard deviation), where
        large weights of kernels cancel; for ``PolynomialFeatures``; and for weights or kernel centres
        beyond 1e15 or below 1e-15.
    std : bool, default=True
        Whether the graph of a regressor has the output ``std``; without it the graph is smaller.

    Returns
    -------
    onnx.ModelProto
        ``onnx.save(graph, "model.onnx")`` writes it to a file.

    Notes
    -----
    A grid model that was fitted on tables takes tables; one with a given ``grid_shape`` takes flat rows.
    With ``std`` the graph of an :class:`~laconism.RVMRegressor` holds a square matrix of the size of the
    kernel matrix's rank.

    A graph answers as the model does for rows of any size, however far from the training rows: to about
    1e-9 in double precision and 1e-4 in single precision, as an absolute error of a probability, and as
    an error of a mean or standard deviation relative to its size. The mean's is relative to the largest
    of the terms that it sums. A mean or standard deviation beyond the largest float32 is infinite, and
    for a product of kernels a standard deviation beyond 1e18 may be. In rows that the model refuses (a
    number is missing, infinite or beyond 1e64, or a column of the model is) all outputs are NaN, apart
    from the label, which then says nothing.

    A pipeline may scale, impute, encode categories and select features with the usual classes of
    scikit-learn, also within a ``ColumnTransformer``. If some of its columns are strings, the graph has
    one input of shape ``(rows, 1)`` for each column that is used, with the column's name. Missing
    strings are empty. An unknown category raises no error: a one-hot encoder has zeros for it, or its
    infrequent category. If the target was standardised, predictions are in its original units.

    Examples
    --------
    >>> import numpy as np, onnxruntime
    >>> import laconism
    >>> from laconism.datasets import make_ripley
    >>> X, y = make_ripley(250, random_state=0)
    >>> model = laconism.RVMClassifier(gamma=2.0).fit(X, y)
    >>> graph = laconism.to_onnx(model)
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
    >>> label, probabilities = session.run(None, {"X": X})
    >>> bool(np.allclose(probabilities, model.predict_proba(X), atol=1e-9))
    True
    """
    helper = import_onnx().helper
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype must be 'float64' or 'float32', got {dtype!r}.")
    _check(_descend(model, -1))
    graph = Graph(np.dtype(np.float64 if _in_double(model) else dtype))
    table, inputs = _inputs(graph, _descend(model, 0), np.dtype(dtype))
    outputs = []
    for name, (tensor, kind, width) in _write(model, table, std).items():
        graph.output(tensor if kind else graph.cast(tensor, graph.dtype, np.dtype(dtype)), name)
        shape = [_ROWS] if width is None else [_ROWS, width]
        outputs.append(helper.make_tensor_value_info(name, kind or tensor_type(dtype), shape))
    used = {name for node in graph.nodes for name in node.input}
    inputs = [each for each in inputs if each.name in used]
    for name in {each.name for each in inputs} & {each.name for each in outputs}:
        raise ValueError(f"to_onnx needs another name for the column {name!r}: an output has it.")
    made = helper.make_graph(graph.nodes, type(model).__name__, inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid(*each) for each in OPSETS.items()]
    return helper.make_model(
        made,
        producer_name="laconism",
        producer_version=importlib.import_module(__package__.split(".")[0]).__version__,
        opset_imports=opsets,
        ir_version=helper.find_min_ir_version_for(opsets),
    )


# ---- pipelines and searches around a model ------------------------------------------------


def _descend(model: Any, step: int) -> Any:
    """Return the first (0) or the last (-1) step inside pipelines and searches."""
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(model, TransformedTargetRegressor):
            model = getattr(model, "regressor_", model.regressor)
        elif isinstance(model, Pipeline):
            model = model.steps[step][1]
        else:
            return model


def _in_double(model: Any) -> bool:
    """Return whether a graph computes in double precision whatever the type of its input."""
    if hasattr(model, "get_params"):  # monomials of a pipeline have no unit of their own
        steps = model.get_params(deep=True).values()
        if any(isinstance(step, PolynomialFeatures) for step in steps):
            return True
    return needs_double(_descend(model, -1))


def _check(model: Any) -> None:
    """Raise unless this is a fitted model of laconism on features or kernels."""
    if not isinstance(model, PublishedModel | SparseBayesSearch):
        name = model.__name__ if isinstance(model, type) else type(model).__name__
        raise TypeError(
            f"to_onnx needs a model of laconism, or a search or a pipeline that ends in one, got {name}."
        )
    if isinstance(model, SparseBayesSearch) or not model.__sklearn_is_fitted__():
        raise NotFittedError(f"to_onnx needs a fitted model: fit the {type(model).__name__} first.")
    if model._precomputed:
        raise ValueError("to_onnx needs the kernel itself: a precomputed one cannot be evaluated.")


def _write(model: Any, table: Table, std: bool) -> Results:
    """Return the predictions of a model inside pipelines and searches."""
    if hasattr(model, "best_estimator_"):
        return _write(model.best_estimator_, table, std)
    if isinstance(model, Pipeline):
        *steps, (_, last) = model.steps
        for _, step in steps:
            table = transform(step, table)
        return _write(last, table, std)
    if isinstance(model, TransformedTargetRegressor):
        mean, kind, width = _write(model.regressor_, table, std=False)["mean"]
        return {"mean": (turn_back(model.transformer_, mean), kind, width)}
    return predictions(model, table.matrix(), std)


def _inputs(graph: Graph, first: Any, dtype: np.dtype[Any]) -> tuple[Table, list[Any]]:
    """Return the inputs of the first step, and their declarations."""
    if not hasattr(first, "n_features_in_"):
        raise NotFittedError(f"to_onnx needs a fitted model: fit the {type(first).__name__} first.")
    n_features, words = int(first.n_features_in_), word_columns(first)
    declare, number = import_onnx().helper.make_tensor_value_info, tensor_type(dtype)
    if not words:
        shape, X = _sample_shape(first), graph.cast(Tensor(graph, "X"), dtype, graph.dtype)
        X = graph.op("Reshape", X, np.array([-1, prod(shape)])) if len(shape) > 1 else X
        return Table(((Rows(X), n_features),)), [declare("X", number, [_ROWS, *shape])]
    if not hasattr(first, "feature_names_in_"):
        raise ValueError("to_onnx needs names for columns of words: fit the pipeline on a data frame.")
    names = [str(name) for name in first.feature_names_in_]
    kinds = [tensor_type(object) if k in words else number for k in range(n_features)]
    declarations = [declare(name, kind, [_ROWS, 1]) for name, kind in zip(names, kinds, strict=True)]
    columns = [Tensor(graph, name) for name in names]
    parts = (c if k in words else graph.cast(c, dtype, graph.dtype) for k, c in enumerate(columns))
    return Table(tuple((Rows(part), 1) for part in parts)), declarations


def _sample_shape(model: Any) -> tuple[int, ...]:
    """Return the shape of one sample as the graph takes it."""
    tables = getattr(model, "_takes_grids", False) and model.grid_shape is None
    shape = model._sample_shape if tables else None
    return (int(model.n_features_in_),) if shape is None else tuple(int(size) for size in shape)
