"""The predictions of a fitted model as ONNX nodes: from rows to latents, and on to the outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import is_classifier

from ..basis import Features, Monomials
from ..likelihoods import Logistic, Probit
from ..linalg import as_dense, symmetric_eigen
from ..model.far_variance import Augmentation, PriorResidualVariance
from ..posterior import GaussianPosterior
from ._onnx_basis import basis_columns, degree_of
from ._onnx_graph import Tensor, tensor_type, zeros
from ._onnx_kernel import growth, kernel_columns, kernel_diagonal
from ._onnx_rows import Rows
from ._onnx_special import expit, log_expit, log_probit, logistic_normal_logit, probit

# In single precision rows are shrunk where a feature times its weight is larger than this; its cube can
# be squared.
_REACH = 2.0**20
# Outputs by name: the tensor, its type unless it is the graph's, its width unless it is a vector.
Results: TypeAlias = dict[str, tuple[Tensor, int | None, int | None]]


def predictions(model: Any, X: Rows, std: bool) -> Results:
    """Return the outputs of a model: by name the tensor, its type if special, its width."""
    refusal, X = X.refusal(), _within_reach(model, X)
    Phi = basis_columns(model.basis_, X)
    if degree_of(model.basis_) > (X.root is None and isinstance(_rest(model.basis_), Features)):
        refusal = refusal + Phi.refusal()
    centre = _centre(model)
    away = Phi.away(centre) if centre.any() else Phi
    if isinstance(_rest(model.basis_), Features) and model.basis_.n_columns:
        away = away.within(_REACH / _sizes(model))
    m, v = _means(model, away, centre), _variances(model, away, centre)
    if is_classifier(model):
        t = _moderated(model, m, v)
        classes = _classes(model)
        probabilities = _probabilities(model, t) + refusal
        return {
            "label": (_label(t, classes), tensor_type(classes.dtype), None),
            "probabilities": (probabilities, None, classes.size),
        }
    results: Results = {"mean": ((m.plain() + refusal).flat(), None, None)}
    if std:
        v = _with_far_variance(model, X, Phi, away, zeros(X.values) if v is None else v)
        deviation = replace(m, values=(v + m.unit(2) * float(model.noise_variance_)).sqrt())
        results["std"] = ((deviation.plain() + refusal).flat(), None, None)
    return results


def _rest(basis: Any) -> Any:
    """Return a basis without the constant column."""
    return getattr(basis, "rest", basis)


def _sizes(model: Any) -> np.ndarray[Any, Any]:
    """Return the largest weight or posterior deviation of each column."""
    sizes = np.full(model.basis_.n_columns, np.finfo(np.float32).tiny, dtype=np.float64)
    for posterior, columns in zip(model.posteriors_, model._columns, strict=True):
        root = posterior.prior_root
        deviation = np.sqrt((posterior.root**2).sum(axis=0)) if root is None else np.abs(root)
        sizes[columns] = np.maximum.reduce([sizes[columns], np.abs(posterior.mean), deviation])
    return sizes


def _within_reach(model: Any, X: Rows) -> Rows:
    """Return rows that are shrunk where a kernel or a monomial would overflow single precision."""
    basis = _rest(model.basis_)
    if isinstance(basis, Monomials) and basis.n_columns:
        # A product of powers of (reach / size)^(1 / degree) is at most reach / size.
        degrees = basis.powers.sum(axis=1)[:, None]
        sizes = np.maximum(_REACH / _sizes(model), 2 * np.abs(_centre(model)))[-len(degrees) :, None]
        return X.within(np.where(basis.powers > 0, sizes ** (1 / degrees), np.inf).min(axis=0))
    extra = model._far_variance
    kernels = [(getattr(basis, "kernel", None), getattr(basis, "centres", None))]
    kernels += [(extra.kernel, extra.rows)] if isinstance(extra, Augmentation) else []
    grow = [as_dense(rows) for kernel, rows in kernels if kernel is not None and growth(kernel)]
    reach = np.abs(np.concatenate(grow)).max(axis=0, initial=0.0) if grow else np.zeros(1)
    return X.within(2 * np.where(reach > 0, reach, reach.max())) if reach.any() else X


def needs_double(model: Any, max_rounding: float = 1e-4) -> bool:
    """Return whether single precision might round a latent by more than this.

    For a regression that is in units of the noise's deviation. Highly correlated kernels have large
    weights of either sign, and their rounding remains when they cancel. Centred features do not cancel.
    """
    basis, sizes = model.basis_, [np.abs(posterior.centre)[None] for posterior in model.posteriors_]
    if _is_extreme(model):
        return True
    if isinstance(basis, Features):
        return False
    rows = getattr(_rest(basis), "centres", None)
    if rows is not None:
        Phi = np.abs(np.asarray(basis.columns(rows), dtype=np.float64))
        sizes = [Phi[:, columns] for columns in model._columns]
    unit = 1.0 if is_classifier(model) else float(np.sqrt(model.noise_variance_))
    summed = max(
        float((size @ np.abs(posterior.mean)).max(initial=0.0))
        for size, posterior in zip(sizes, model.posteriors_, strict=True)
    )
    return summed * float(np.finfo(np.float32).eps) / 2 > max_rounding * unit


def _is_extreme(model: Any, limit: float = 1e15) -> bool:
    """Return whether squares of the constants of a model might leave the range of single precision."""
    constants = [_sizes(model), getattr(_rest(model.basis_), "centres", 0.0)]
    if not is_classifier(model):
        constants.append(np.sqrt(model.noise_variance_))
    largest = (float(np.abs(as_dense(each)).max(initial=0.0)) for each in constants)
    return any(each > limit or 1e-30 < each < 1 / limit for each in largest)


def _centre(model: Any) -> np.ndarray[Any, Any]:
    """Return what is subtracted from the columns: their means, if intercepts are free."""
    total, times = np.zeros((2, max(model.basis_.n_columns, 1)))
    for posterior, columns in zip(model.posteriors_, model._columns, strict=True):
        total[columns] += posterior.centre
        times[columns] += 1.0
    return np.asarray(total / np.maximum(times, 1.0))


def _means(model: Any, away: Rows, centre: np.ndarray[Any, Any]) -> Rows:
    """Return the mean of each latent, one column per output."""
    weights = np.zeros((max(model.basis_.n_columns, 1), len(model.posteriors_)))
    for k, (posterior, columns) in enumerate(zip(model.posteriors_, model._columns, strict=True)):
        weights[columns, k] = posterior.mean
    at_centre = centre @ weights + [float(posterior.intercept) for posterior in model.posteriors_]
    return away.dot(weights).plus(at_centre)


def _variances(model: Any, away: Rows, centre: np.ndarray[Any, Any]) -> Tensor | None:
    """Return the variance of each latent, one column per output, or None if all are zero.

    It has the unit of squared columns.
    """
    if all(p.spread == 0 and p.prior_root is None and not p.root.any() for p in model.posteriors_):
        return None
    columns = [
        _variance(posterior, _part(model, away, k), posterior.centre - centre[model._columns[k]])
        if posterior.mean.size
        else zeros(away.values) + away.unit(2) * float(posterior.spread)
        for k, posterior in enumerate(model.posteriors_)
    ]
    return columns[0].beside(*columns[1:]) if len(columns) > 1 else columns[0]


def _part(model: Any, Phi: Rows, output: int) -> Rows:
    """Return the columns of one output, in its order."""
    index = model._columns[output]
    return Phi if np.array_equal(index, np.arange(model.basis_.n_columns)) else Phi.columns(index)


def _variance(posterior: GaussianPosterior, columns: Rows, further: np.ndarray[Any, Any]) -> Tensor:
    """Return the variance of a latent; ``further`` is the shift from the common centre to its own."""
    away = (columns.plus(-further) if further.any() else columns).values
    spread = columns.unit(2) * float(posterior.spread)
    if posterior.prior_root is None:
        projected = away @ posterior.root.T
        return (projected * projected).sum() + spread
    # The variance outside and inside the span of V, as sums of squares, which do not cancel.
    directions, left = posterior.directions
    away = away * np.asarray(posterior.prior_root, dtype=np.float64)
    if not left.size:  # the data determine nothing
        return (away * away).sum() + spread
    V = away.graph.constant(directions)
    along = away @ V
    rest, along = away - along @ away.graph.op("Transpose", V), along * left
    v: Tensor = (rest * rest).sum() + (along * along).sum() + spread
    return v


def _with_far_variance(model: Any, X: Rows, Phi: Rows, away: Rows, v: Tensor) -> Tensor:
    """Return the variance of the latent with what the model adds far from its training rows."""
    extra = model._far_variance
    if isinstance(extra, Augmentation):
        return _augmented(model, extra, X, away, v)
    if isinstance(extra, PriorResidualVariance):
        return _with_prior_residual(model, extra, X, Phi, v)
    return v


def _augmented(model: Any, extra: Augmentation, X: Rows, away: Rows, v: Tensor) -> Tensor:
    """Return the variance with one more kernel at each row."""
    posterior, rows = model.posteriors_[0], as_dense(extra.rows)
    e, tiny = kernel_diagonal(extra.kernel, X, rows.shape[1]).values, np.finfo(v.graph.dtype).tiny
    alpha = min(float(extra.alpha), float(np.finfo(v.graph.dtype).max))
    known = zeros(X.values) + away.unit(2) * alpha
    if rows.shape[0]:
        # With c = L^-1 k(P, x) multiplied into the constants, one square matrix remains: s = |R c|^2.
        inverse = extra.triangle.solve(np.eye(rows.shape[0]))
        values, vectors = symmetric_eigen(extra.excess)
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        root = root[values > np.finfo(np.float64).eps * values[-1]] if values[-1] > 0 else root[:1]
        k = kernel_columns(extra.kernel, X, rows).values
        seen = k @ (root @ inverse).T
        e = e - (k @ (inverse.T @ extra.middle)[:, None]) * away.unit()
        known = known + (seen * seen).sum()
        if posterior.mean.size:
            e = e - (_part(model, away, 0).values * (k @ (extra.gain @ inverse).T)).sum()
    augmented: Tensor = v + e * e / known.at_least(float(tiny))
    return augmented


def _with_prior_residual(
    model: Any, extra: PriorResidualVariance, X: Rows, Phi: Rows, v: Tensor
) -> Tensor:
    """Return the variance plus the prior residual variance, which the kept kernels lack."""
    size = extra.triangle.lower.shape[0]
    height = zeros(X.values) + Phi.unit(2) * float(extra.height)
    if extra.kernel is not None:
        height = kernel_diagonal(extra.kernel, X, model.n_features_in_).values * (
            float(extra.height) / float(extra.largest)
        )
    if not size:
        return v + height
    explained = _part(model, Phi, 0).values @ extra.triangle.solve(np.eye(size)).T
    known = (explained * explained).sum()
    if extra.kernel is not None or Phi.root is not None:
        tiny = float(np.finfo(v.graph.dtype).tiny)
        known = known * float(extra.height) / height.at_least(tiny)
    return v + v.graph.op("Pow", (1.0 - known).at_least(0.0), float(extra.power)) * height


# ---- classes ------------------------------------------------------------------------------


def _likelihood(model: Any) -> type:
    """Return the kind of likelihood that all outputs share."""
    kind = type(model.likelihoods_[0])
    if kind not in (Probit, Logistic):
        raise ValueError(
            f"to_onnx knows no graph for the likelihood {kind.__name__}: use 'probit' or 'logistic'."
        )
    return kind


def _moderated(model: Any, latent: Rows, v: Tensor | None) -> Tensor:
    """Return the latent whose link is the integrated probability, bounded if its square may overflow."""
    kind, m = _likelihood(model), latent.values
    graph, last = m.graph, np.array([2])
    largest, tiny = _REACH**3, float(np.finfo(graph.dtype).tiny)
    if v is None:
        t = latent.plain()
    elif kind is Probit:
        v = v + latent.unit(2)
        t = m / (v if latent.root is None else v.at_least(tiny)).sqrt()
    else:
        if latent.root is not None:
            # The probability depends on the ratio of mean and deviation only, if that is this large.
            deviation = v.sqrt()
            one = replace(latent, values=zeros(m) + 1.0)
            factor = one.plain().at_most(_REACH / deviation.at_least(tiny))
            m, deviation = m * factor, deviation * factor
            v = deviation * deviation
        m, v = (graph.op("Unsqueeze", each, last) for each in (m, v))
        t = graph.op("Squeeze", logistic_normal_logit(m, v), last)
    return t if latent.root is None else t.at_least(-largest).at_most(largest)


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
        index = graph.op("Cast", t.above(0.0).flat(), to=tensor_type(np.int64))
    else:
        index = graph.op("ArgMax", t, axis=1, keepdims=0)
    return graph.op("Gather", graph.verbatim(classes), index, axis=0)


def _classes(model: Any) -> np.ndarray[Any, Any]:
    """Return the classes as a graph can hold them: strings, integers, floats or booleans."""
    classes: np.ndarray[Any, Any] = model.classes_
    kind = classes.dtype.kind
    if kind in "US" or (kind == "O" and all(isinstance(each, str) for each in classes)):
        return classes.astype(str).astype(object)
    if kind in "iu":
        return classes.astype(np.int64)
    if kind in "fb":
        return classes
    raise ValueError(f"to_onnx needs classes that are words or numbers, got {classes[0]!r}.")
