"""Models as ONNX graphs, for machines without Python."""

from __future__ import annotations

import importlib
from math import prod
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from ..basis import Features
from ..likelihoods import Logistic, Probit
from ..linalg import symmetric_eigen
from ..model.far_variance import Augmentation, PriorResidualVariance
from ..model.kernel_model import KernelModel
from ..posterior import GaussianPosterior
from ..rvm.grid_base import GridRVMBase
from ..sparse.search import SparseBayesSearch
from ._onnx_basis import basis_columns, dense, kernel_columns, kernel_diagonal, zeros
from ._onnx_graph import IR, OPSETS, Graph, Tensor, import_onnx
from ._onnx_pipeline import Table, transform, turn_back, word_columns
from ._onnx_special import expit, log_expit, log_probit, logistic_normal_logit, probit

# Name of the batch dimension, which is free.
_ROWS = "rows"

# Rounding of a latent, in its own units (the noise's deviation of a regression), that may be seen.
_SEEN = 1e-4
# By name a tensor, its type unless it is the graph's number, and its width unless it is a vector.
Results: TypeAlias = dict[str, tuple[Tensor, int | None, int | None]]


def to_onnx(model: Any, *, dtype: str = "float64", std: bool = True) -> Any:
    """Return a fitted model as an ONNX graph that predicts what the model predicts.

    A classifier's graph has the outputs ``label`` and ``probabilities``, integrated over the posterior
    as ``predict_proba`` is; a regressor's ``mean`` (``predict``) and ``std`` (the deviation that
    ``predict_dist`` gives). The one input is ``X``, with as many rows as one likes. Only what was kept
    is in the graph.

    Needs ``pip install "laconism[onnx]"``, and a runtime such as onnxruntime to run it.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor on features or with kernels of :mod:`laconism.kernels`; a search
        among such, of which the best is taken; or a pipeline that ends in one. What has a precomputed
        kernel, a function for a kernel or a class of your own has no graph.
    dtype : {"float64", "float32"}, default="float64"
        Numbers of the graph, of its input and outputs. float32 is half the size and good to about six
        digits. Where weights on kernels are so large, and cancel, that its rounding would be seen (by
        1e-4 in a latent, or in the deviation of the noise), what is between input and outputs is double.
    std : bool, default=True
        Whether a regressor's graph has ``std``; for a device that does not ask, the graph is smaller
        without.

    Returns
    -------
    onnx.ModelProto
        ``onnx.save(graph, "model.onnx")`` writes it to a file.

    Notes
    -----
    A grid model that was fitted on tables takes tables; one that was told its ``grid_shape`` takes flat
    rows. :class:`~laconism.RVMRegressor` widens its ``std`` away from the data, for which the graph needs
    the square of as many numbers as the kernel matrix has rank.

    A pipeline may scale, impute, encode categories and select, each by the usual class of scikit-learn,
    also column by column. If some of its columns are words, the graph has one input of shape
    ``(rows, 1)`` for each column that matters, by the column's name; a word that is missing is empty,
    and one that was never seen is none of the categories. A target that was standardised is turned back.

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
    number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = Graph(np.dtype(np.float64 if _cancels(_descend(model, -1)) else dtype))
    table, inputs = _inputs(graph, _descend(model, 0), np.dtype(dtype))
    outputs = []
    for name, (tensor, kind, width) in _write(model, table, std).items():
        graph.output(tensor if kind else graph.cast(tensor, graph.dtype, np.dtype(dtype)), name)
        shape = [_ROWS] if width is None else [_ROWS, width]
        outputs.append(helper.make_tensor_value_info(name, kind or number, shape))
    used = {name for node in graph.nodes for name in node.input}
    inputs = [each for each in inputs if each.name in used]
    for name in {each.name for each in inputs} & {each.name for each in outputs}:
        raise ValueError(f"to_onnx needs another name for the column {name!r}: an output has it.")
    made = helper.make_graph(graph.nodes, type(model).__name__, inputs, outputs, graph.constants)
    return helper.make_model(
        made,
        producer_name="laconism",
        producer_version=importlib.import_module(__package__.split(".")[0]).__version__,
        opset_imports=[helper.make_opsetid(*each) for each in OPSETS.items()],
        ir_version=IR,
    )


# ---- what is around a model ---------------------------------------------------------------


def _descend(model: Any, step: int) -> Any:
    """Return the first (0) or the last (-1) of all steps, inside of whatever is around them."""
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(model, TransformedTargetRegressor):
            model = getattr(model, "regressor_", model.regressor)
        elif isinstance(model, Pipeline):
            model = model.steps[step][1]
        else:
            return model


def _check(model: Any) -> None:
    """Raise, in a sentence, unless this is a fitted model of ours on features or kernels."""
    if not isinstance(model, KernelModel | SparseBayesSearch):
        name = model.__name__ if isinstance(model, type) else type(model).__name__
        raise TypeError(
            f"to_onnx needs a model of laconism, or a search or a pipeline that ends in one, got {name}."
        )
    if isinstance(model, SparseBayesSearch) or not model.__sklearn_is_fitted__():
        raise NotFittedError(f"to_onnx needs a fitted model: fit the {type(model).__name__} first.")
    if model._precomputed:
        raise ValueError("to_onnx needs the kernel itself: a precomputed one cannot be evaluated.")


def _write(model: Any, table: Table, std: bool) -> Results:
    """Return what a model says of its rows, from inside of whatever is around it."""
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
    return _predictions(model, table.matrix(), std)


def _inputs(graph: Graph, first: Any, dtype: np.dtype[Any]) -> tuple[Table, list[Any]]:
    """Return what goes into the first step, and how it is declared."""
    onnx = import_onnx()
    number = onnx.helper.np_dtype_to_tensor_dtype(dtype)
    if not hasattr(first, "n_features_in_"):
        raise NotFittedError(f"to_onnx needs a fitted model: fit the {type(first).__name__} first.")
    n_features, declare = int(first.n_features_in_), onnx.helper.make_tensor_value_info
    words = word_columns(first)
    if not words:
        shape, X = _sample_shape(first), graph.cast(Tensor(graph, "X"), dtype, graph.dtype)
        declared = declare("X", number, [_ROWS, *shape])
        if len(shape) > 1:
            X = graph.op("Reshape", X, np.array([-1, prod(shape)]))
        return Table(((X, n_features),)), [declared]
    if not hasattr(first, "feature_names_in_"):
        raise ValueError("to_onnx needs names for columns of words: fit the pipeline on a data frame.")
    names = [str(name) for name in first.feature_names_in_]
    kinds = [onnx.TensorProto.STRING if k in words else number for k in range(n_features)]
    declarations = [declare(name, kind, [_ROWS, 1]) for name, kind in zip(names, kinds, strict=True)]
    columns = [Tensor(graph, name) for name in names]
    parts = (c if k in words else graph.cast(c, dtype, graph.dtype) for k, c in enumerate(columns))
    return Table(tuple((part, 1) for part in parts)), declarations


def _sample_shape(model: Any) -> tuple[int, ...]:
    """Return the shape of one sample as the graph takes it."""
    if isinstance(model, GridRVMBase) and model.grid_shape is None and model._sample_shape is not None:
        return tuple(int(size) for size in model._sample_shape)
    return (int(model.n_features_in_),)


# ---- from rows to predictions -------------------------------------------------------------


def _predictions(model: Any, X: Tensor, std: bool) -> Results:
    """Return what a model says of its rows: by name the tensor, its type if special, its width."""
    Phi = basis_columns(model.basis_, X, model.n_features_in_)
    centre = _centre(model)
    away = Phi.away(centre) if centre.any() else Phi
    m, v = _means(model, away, centre), _variances(model, away, centre, X)
    if is_classifier(model):
        t = _moderated(model, m, v)
        classes = _classes(model)
        kind = import_onnx().helper.np_dtype_to_tensor_dtype(classes.dtype)
        return {
            "label": (_label(t, classes), kind, None),
            "probabilities": (_probabilities(model, t), None, classes.size),
        }
    results: Results = {"mean": (m.flat(), None, None)}
    if std:
        v = zeros(X, model.n_features_in_) if v is None else v
        v = _with_far_variance(model, X, Phi, away, v)
        results["std"] = ((v + float(model.noise_variance_)).sqrt().flat(), None, None)
    return results


def _cancels(model: Any) -> bool:
    """Return whether single precision shows in what a model says.

    Kernels that are much alike have large weights of either sign, and the rounding of each kernel stays
    when they cancel. Features are seen from their centre, where they have nothing to cancel.
    """
    basis, sizes = model.basis_, [np.abs(posterior.centre)[None] for posterior in model.posteriors_]
    if isinstance(basis, Features):
        return False
    rows = getattr(getattr(basis, "rest", basis), "centres", None)
    if rows is not None:
        Phi = np.abs(np.asarray(basis.columns(rows), dtype=np.float64))
        sizes = [Phi[:, columns] for columns in model._columns]
    unit = 1.0 if is_classifier(model) else float(np.sqrt(model.noise_variance_))
    summed = max(
        float((size @ np.abs(posterior.mean)).max(initial=0.0))
        for size, posterior in zip(sizes, model.posteriors_, strict=True)
    )
    return summed * float(np.finfo(np.float32).eps) / 2 > _SEEN * unit


def _centre(model: Any) -> np.ndarray[Any, Any]:
    """Return where columns are seen from: about the middle of the data, if intercepts are free."""
    total, times = np.zeros((2, max(model.basis_.n_columns, 1)))
    for posterior, columns in zip(model.posteriors_, model._columns, strict=True):
        total[columns] += posterior.centre
        times[columns] += 1.0
    return np.asarray(total / np.maximum(times, 1.0))


def _means(model: Any, away: Tensor, centre: np.ndarray[Any, Any]) -> Tensor:
    """Return the mean of each latent, one column per output."""
    weights = np.zeros((max(model.basis_.n_columns, 1), len(model.posteriors_)))
    for k, (posterior, columns) in enumerate(zip(model.posteriors_, model._columns, strict=True)):
        weights[columns, k] = posterior.mean
    at_centre = centre @ weights + [float(posterior.intercept) for posterior in model.posteriors_]
    return away @ weights + at_centre


def _variances(model: Any, away: Tensor, centre: np.ndarray[Any, Any], X: Tensor) -> Tensor | None:
    """Return the variance of each latent, one column per output, or None if all are zero."""
    if all(_is_certain(posterior) for posterior in model.posteriors_):
        return None
    columns = [
        _variance(posterior, _part(model, away, k), posterior.centre - centre[model._columns[k]])
        if posterior.mean.size
        else zeros(X, model.n_features_in_) + float(posterior.spread)
        for k, posterior in enumerate(model.posteriors_)
    ]
    return columns[0].beside(*columns[1:]) if len(columns) > 1 else columns[0]


def _is_certain(posterior: GaussianPosterior) -> bool:
    return posterior.spread == 0 and posterior.prior_root is None and not posterior.root.any()


def _part(model: Any, Phi: Tensor, output: int) -> Tensor:
    """Return the columns of one output, in its own order."""
    index = model._columns[output]
    return Phi if np.array_equal(index, np.arange(model.basis_.n_columns)) else Phi.columns(index)


def _variance(posterior: GaussianPosterior, away: Tensor, further: np.ndarray[Any, Any]) -> Tensor:
    """Return the variance of a latent, from its columns but for what is left to its own centre."""
    away = away - further if further.any() else away
    if posterior.prior_root is None:
        qr_compress = away @ posterior.root.T
        return (qr_compress * qr_compress).sum() + float(posterior.spread)
    # The variance is what V leaves and a part of what it takes: squares, of which none cancel.
    directions, left = posterior.directions
    V = away.graph.constant(directions)
    away = away * np.asarray(posterior.prior_root, dtype=np.float64)
    along = away @ V
    rest, along = away - along @ away.graph.op("Transpose", V), along * left
    v: Tensor = (rest * rest).sum() + (along * along).sum() + float(posterior.spread)
    return v


def _with_far_variance(model: Any, X: Tensor, Phi: Tensor, away: Tensor, v: Tensor) -> Tensor:
    """Return the variance of the latent with what the model adds far from its training rows."""
    extra = model._far_variance
    if isinstance(extra, Augmentation):
        return _augmented(model, extra, X, away, v)
    if isinstance(extra, PriorResidualVariance):
        return _with_prior_residual(model, extra, Phi, v)
    return v


def _augmented(model: Any, extra: Augmentation, X: Tensor, away: Tensor, v: Tensor) -> Tensor:
    """Return the variance with one more kernel at each row."""
    posterior, rows = model.posteriors_[0], dense(extra.rows)
    e = kernel_diagonal(extra.kernel, X, model.n_features_in_)
    known = zeros(X, model.n_features_in_) + float(extra.alpha)
    if rows.shape[0]:
        # With c = L^-1 k(P, x) folded into what it meets, one square matrix is left: s = |R c|^2.
        turn = extra.triangle.solve(np.eye(rows.shape[0]))
        values, vectors = symmetric_eigen(extra.excess)
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        root = root[values > np.finfo(np.float64).eps * values[-1]] if values[-1] > 0 else root[:1]
        k = kernel_columns(extra.kernel, X, rows)
        seen = k @ (root @ turn).T
        e, known = e - k @ (turn.T @ extra.middle)[:, None], known + (seen * seen).sum()
        if posterior.mean.size:
            e = e - (_part(model, away, 0) * (k @ (extra.gain @ turn).T)).sum()
    widened: Tensor = v + e * e / known.at_least(float(np.finfo(X.graph.dtype).tiny))
    return widened


def _with_prior_residual(model: Any, extra: PriorResidualVariance, Phi: Tensor, v: Tensor) -> Tensor:
    """Return the variance with the part of the prior's that the kept kernels lack."""
    size = extra.triangle.lower.shape[0]
    if not size:
        return v + float(extra.height)
    reached = _part(model, Phi, 0) @ extra.triangle.solve(np.eye(size)).T
    lacking = (1.0 - (reached * reached).sum()).at_least(0.0)
    return v + Phi.graph.op("Pow", lacking, float(extra.power)) * float(extra.height)


# ---- classes ------------------------------------------------------------------------------


def _likelihood(model: Any) -> type:
    """Return the kind of likelihood that all outputs share."""
    kind = type(model.likelihoods_[0])
    if kind not in (Probit, Logistic):
        raise ValueError(
            f"to_onnx knows no graph for the likelihood {kind.__name__}: use 'probit' or 'logistic'."
        )
    return kind


def _moderated(model: Any, m: Tensor, v: Tensor | None) -> Tensor:
    """Return the latent whose link is the integrated probability."""
    kind = _likelihood(model)
    if v is None:
        return m
    if kind is Probit:
        return m / (v + 1.0).sqrt()
    graph, last = m.graph, np.array([2])
    columns = (graph.op("Unsqueeze", each, last) for each in (m, v))
    return graph.op("Squeeze", logistic_normal_logit(*columns), last)


def _probabilities(model: Any, t: Tensor) -> Tensor:
    kind = _likelihood(model)
    if model.classes_.size == 2:
        link = probit if kind is Probit else expit
        return link((-t).beside(t))
    log_link = log_probit if kind is Probit else log_expit
    score = log_link(t) - float(model.coupling_) * log_link(-t) if model.coupling_ else log_link(t)
    return t.graph.op("Softmax", score, axis=1)


def _label(t: Tensor, classes: np.ndarray[Any, Any]) -> Tensor:
    graph = t.graph
    if classes.size == 2:
        onnx = import_onnx()
        index = graph.op("Cast", t.above(0.0).flat(), to=onnx.TensorProto.INT64)
    else:
        index = graph.op("ArgMax", t, axis=1, keepdims=0)
    return graph.op("Gather", graph.verbatim(classes), index, axis=0)


def _classes(model: Any) -> np.ndarray[Any, Any]:
    """Return the classes as a graph can hold them: words, whole numbers, numbers, yes and no."""
    classes: np.ndarray[Any, Any] = model.classes_
    kind = classes.dtype.kind
    if kind in "US" or (kind == "O" and all(isinstance(each, str) for each in classes)):
        return classes.astype(str).astype(object)
    if kind in "iu":
        return classes.astype(np.int64)
    if kind in "fb":
        return classes
    raise ValueError(f"to_onnx needs classes that are words or numbers, got {classes[0]!r}.")
