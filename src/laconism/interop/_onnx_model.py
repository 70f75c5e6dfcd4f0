"""The predictions of a fitted model as ONNX nodes: from rows to latents, and on to the outputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import is_classifier

from ..basis import Features, Monomials
from ..likelihoods import Logistic, Probit
from ..linalg import as_dense, symmetric_eigen
from ..model.far_variance import Augmentation, PriorResidualVariance
from ._onnx_basis import basis_columns, degree_of, within_monomials
from ._onnx_graph import Tensor, tensor_type, zeros
from ._onnx_kernel import growth, kernel_columns, kernel_diagonal
from ._onnx_rows import Rows
from ._onnx_special import expit, log_expit, log_probit, logistic_normal_logit, probit

# Outputs by name: the tensor, its type unless it is the graph's, its width unless it is a vector.
Results: TypeAlias = dict[str, tuple[Tensor, int | None, int | None]]


@dataclass(frozen=True)
class Outputs:
    """Some of the outputs of a model, with the columns that they use."""

    basis: Any
    posteriors: list[Any]
    columns: list[Any]

    @classmethod
    def of(cls, model: Any, which: list[int]) -> Outputs:
        """Return these outputs of a model."""
        columns = [model._columns[k] for k in which]
        used = np.unique(np.concatenate(columns)).astype(np.int64)
        posteriors = [model.posteriors_[k] for k in which]
        places = [np.searchsorted(used, each) for each in columns]
        return cls(model.basis_.keep(used), posteriors, places)

    def reach(self, largest: float = 2.0**20) -> np.ndarray[Any, Any]:
        """Return this number over the largest weight or posterior deviation of each column."""
        sizes = np.full(self.basis.n_columns, float(np.finfo(np.float32).tiny))
        for posterior, columns in zip(self.posteriors, self.columns, strict=True):
            root = posterior.prior_root
            deviation = np.sqrt((posterior.root**2).sum(axis=0)) if root is None else np.abs(root)
            sizes[columns] = np.maximum.reduce([sizes[columns], np.abs(posterior.mean), deviation])
        return np.asarray(largest / sizes)

    @property
    def centre(self) -> np.ndarray[Any, Any]:
        """What is subtracted from the columns: their means, if intercepts are free."""
        total, times = np.zeros((2, max(self.basis.n_columns, 1)))
        for posterior, columns in zip(self.posteriors, self.columns, strict=True):
            total[columns] += posterior.centre
            times[columns] += 1.0
        return np.asarray(total / np.maximum(times, 1.0))


def predictions(model: Any, X: Rows, std: bool) -> Results:
    """Return the outputs of a model: by name the tensor, its type if special, its width."""
    refusal, n_outputs = X.refusal(), len(model.posteriors_)
    if is_classifier(model):
        groups, means, variances = _groups(model, X), [], []
        for which in groups:
            outputs = Outputs.of(model, which)
            _, away, refusal = _columns(model, outputs, X, refusal)
            m, v = _limited(_means(outputs, away), _variances(outputs, away))
            means.append(m)
            variances.append(m * 0.0 if v is None and len(groups) > 1 else v)
        t = _moderated(model, _in_order(means, groups), _in_order(variances, groups))
        classes = _classes(model)
        probabilities = _probabilities(model, t) + refusal
        return {
            "label": (_label(t, classes), tensor_type(classes.dtype), None),
            "probabilities": (probabilities, None, classes.size),
        }
    outputs = Outputs.of(model, [*range(n_outputs)])
    X = _within_reach(model, outputs, X)
    Phi, away, refusal = _columns(model, outputs, X, refusal)
    results: Results = {"mean": ((_means(outputs, away).plain() + refusal).flat(), None, None)}
    if std:
        v, unit = _variances(outputs, away), replace(away, scale=1.0)
        v = zeros(away.values) if v is None else v
        if model._far_variance is not None:
            unit = Rows(v, X.root, X.degree * degree_of(model.basis_))
            v = v if model.basis_.n_columns else v * unit.unit(2)
            v = _with_far_variance(model, X, _part(outputs, Phi, 0), _part(outputs, away, 0), unit, v)
        deviation = replace(unit, values=(v + unit.unit(2) * float(model.noise_variance_)).sqrt())
        results["std"] = ((deviation.plain() + refusal).flat(), None, None)
    return results


def _groups(model: Any, X: Rows) -> list[list[int]]:
    """Return the outputs that are computed together; those of unbounded columns have their own units."""
    every = [*range(len(model.posteriors_))]
    if X.values.graph.dtype != np.float32 or not degree_of(model.basis_):
        return [every]
    if getattr(_rest(model.basis_), "kernel", None) is None:
        return [[k] for k in every]
    constant = [k for k in every if not model._columns[k].size]
    return [group for group in ([k for k in every if k not in constant], constant) if group]


def _in_order(parts: list[Any], groups: list[list[int]]) -> Any:
    """Return the columns of all groups, in the order of the outputs."""
    order = [k for group in groups for k in group]
    joined = parts[0].beside(*parts[1:]) if len(parts) > 1 else parts[0]
    return joined if order == sorted(order) else joined.columns(np.argsort(order))


def _columns(model: Any, outputs: Outputs, X: Rows, refusal: Tensor) -> tuple[Rows, Rows, Tensor]:
    """Return the columns, their distance from the centre, and which rows are refused."""
    Phi, centre = basis_columns(outputs.basis, _within_reach(model, outputs, X)), outputs.centre
    linear = isinstance(_rest(outputs.basis), Features)
    if outputs.basis.n_columns and degree_of(outputs.basis) > (linear and X.root is None):
        refusal = refusal + Phi.refusal()
    away = Phi.away(centre) if centre.any() else Phi
    if linear and outputs.basis.n_columns:
        away = away.within(outputs.reach())
    return Phi, away, refusal


def _rest(basis: Any) -> Any:
    """Return a basis without the constant column."""
    return getattr(basis, "rest", basis)


def _within_reach(model: Any, outputs: Outputs, X: Rows) -> Rows:
    """Return rows that are shrunk where a kernel or a monomial would overflow single precision."""
    basis = _rest(outputs.basis)
    if isinstance(basis, Monomials) and basis.n_columns:
        reach = np.maximum(outputs.reach(), 2 * np.abs(outputs.centre))
        return within_monomials(basis.powers, X, reach[-basis.n_columns :])
    extra = model._far_variance
    kernels = [(getattr(basis, "kernel", None), getattr(basis, "centres", None))]
    kernels += [(extra.kernel, extra.rows)] if isinstance(extra, Augmentation) else []
    grow = [as_dense(rows) for kernel, rows in kernels if kernel is not None and growth(kernel).any()]
    if not grow:
        return X
    reach = np.abs(np.concatenate(grow)).max(axis=0, initial=0.0)
    reach = np.where(reach > 0, reach, reach.max(initial=0.0) or 1.0)
    return X.within(np.where(growth(kernels[-1][0]) > 0, 2 * reach, np.inf))


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
    """Return whether single precision might not hold squares of constants."""
    every = Outputs.of(model, [*range(len(model.posteriors_))])
    constants = [1 / every.reach(1.0), getattr(_rest(model.basis_), "centres", 0.0)]
    if not is_classifier(model):
        constants.append(np.sqrt(model.noise_variance_))
    largest = (float(np.abs(as_dense(each)).max(initial=0.0)) for each in constants)
    return any(each > limit or 1e-30 < each < 1 / limit for each in largest)


def _means(outputs: Outputs, away: Rows) -> Rows:
    """Return the mean of each latent, one column per output."""
    weights = np.zeros((max(outputs.basis.n_columns, 1), len(outputs.posteriors)))
    for k, (posterior, columns) in enumerate(zip(outputs.posteriors, outputs.columns, strict=True)):
        weights[columns, k] = posterior.mean
    intercepts = [float(posterior.intercept) for posterior in outputs.posteriors]
    return away.dot(weights).plus(outputs.centre @ weights + intercepts)


def _variances(outputs: Outputs, away: Rows) -> Tensor | None:
    """Return the variance of each latent, one column per output, or None if all are zero.

    It has the unit of squared columns.
    """
    every = outputs.posteriors
    if all(p.spread == 0 and p.prior_root is None and not p.root.any() for p in every):
        return None
    columns = [
        _variance(p, _part(outputs, away, k), p.centre - outputs.centre[outputs.columns[k]])
        if p.mean.size
        else zeros(away.values) + away.unit(2) * float(p.spread)
        for k, p in enumerate(every)
    ]
    return columns[0].beside(*columns[1:]) if len(columns) > 1 else columns[0]


def _limited(m: Rows, v: Tensor | None, largest: float = 2.0**20) -> tuple[Tensor, Tensor | None]:
    """Return the latents, shrunk so far that the probabilities are the same and squares finite."""
    if m.root is None:
        return m.values, v
    factor = replace(m, values=zeros(m.values) + 1.0).plain()
    if v is None:
        return m.values * factor.at_most(largest**2), None
    deviation = v.sqrt()
    factor = factor.at_most(largest / deviation.at_least(1 / largest))
    deviation = deviation * factor
    return m.values * factor, deviation * deviation


def _part(outputs: Outputs, Phi: Rows, output: int) -> Rows:
    """Return the columns of one output, in its order."""
    index = outputs.columns[output]
    return Phi if np.array_equal(index, np.arange(outputs.basis.n_columns)) else Phi.columns(index)


def _variance(posterior: Any, columns: Rows, further: np.ndarray[Any, Any]) -> Tensor:
    """Return the variance of a latent; ``further`` is the shift from the common centre to its own."""
    away = columns.plus(-further) if further.any() else columns
    spread = columns.unit(2) * float(posterior.spread)
    if posterior.prior_root is None:
        projected = away.dot(posterior.root.T).values
        return (projected * projected).sum() + spread
    # The variance outside and inside the span of V, as sums of squares, which do not cancel.
    directions, left = posterior.directions
    apart = away.times(np.asarray(posterior.prior_root, dtype=np.float64)).settled().values
    if not left.size:  # the data determine nothing
        return (apart * apart).sum() + spread
    V = apart.graph.constant(directions)
    along = apart @ V
    rest, along = apart - along @ apart.graph.op("Transpose", V), along * left
    v: Tensor = (rest * rest).sum() + (along * along).sum() + spread
    return v


def _with_far_variance(model: Any, X: Rows, Phi: Rows, away: Rows, unit: Rows, v: Tensor) -> Tensor:
    """Return the variance of the latent with what the model adds far from its training rows."""
    extra = model._far_variance
    if isinstance(extra, Augmentation):
        return _augmented(model, extra, X, away, unit, v)
    if isinstance(extra, PriorResidualVariance):
        return _with_prior_residual(model, extra, X, Phi, unit, v)
    return v


def _augmented(model: Any, extra: Augmentation, X: Rows, away: Rows, unit: Rows, v: Tensor) -> Tensor:
    """Return the variance with one more kernel at each row."""
    posterior, rows = model.posteriors_[0], as_dense(extra.rows)
    e, tiny = kernel_diagonal(extra.kernel, X, rows.shape[1]).values, np.finfo(v.graph.dtype).tiny
    alpha = min(float(extra.alpha), float(np.finfo(v.graph.dtype).max))
    known = zeros(X.values) + unit.unit(2) * alpha
    if rows.shape[0]:
        # With c = L^-1 k(P, x) multiplied into the constants, one square matrix remains: s = |R c|^2.
        inverse = extra.triangle.solve(np.eye(rows.shape[0]))
        values, vectors = symmetric_eigen(extra.excess)
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        root = root[values > np.finfo(np.float64).eps * values[-1]] if values[-1] > 0 else root[:1]
        k = kernel_columns(extra.kernel, X, rows).values
        seen = k @ (root @ inverse).T
        e = e - (k @ (inverse.T @ extra.middle)[:, None]) * unit.unit()
        known = known + (seen * seen).sum()
        if posterior.mean.size:
            e = e - (away.values * (k @ (extra.gain @ inverse).T)).sum()
    e = e + e * 0.0 if growth(extra.kernel).any() else e  # Python refuses a kernel that overflows
    augmented: Tensor = v + e * e / known.at_least(float(tiny))
    return augmented


def _with_prior_residual(
    model: Any, extra: PriorResidualVariance, X: Rows, Phi: Rows, unit: Rows, v: Tensor
) -> Tensor:
    """Return the variance plus the prior residual variance, which the kept kernels lack."""
    size = extra.triangle.lower.shape[0]
    height = zeros(X.values) + unit.unit(2) * float(extra.height)
    if extra.kernel is not None:
        height = kernel_diagonal(extra.kernel, X, model.n_features_in_).values * (
            float(extra.height) / float(extra.largest)
        )
    if not size:
        return v + height
    explained = Phi.values @ extra.triangle.solve(np.eye(size)).T
    known = (explained * explained).sum()
    if extra.kernel is not None or unit.root is not None:
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


def _moderated(model: Any, m: Tensor, v: Tensor | None) -> Tensor:
    """Return the latent whose link is the integrated probability."""
    kind = _likelihood(model)
    if v is None:
        return m
    if kind is Probit:
        return m / (v + 1.0).sqrt()
    graph, last = m.graph, np.array([2])
    m, v = (graph.op("Unsqueeze", each, last) for each in (m, v))
    return graph.op("Squeeze", logistic_normal_logit(m, v), last)


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
