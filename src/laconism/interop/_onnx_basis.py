"""The columns of a basis as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..basis import Features, KernelBasis, Monomials, PerFeature, WithConstant
from ..linalg import as_dense
from ._onnx_graph import zeros
from ._onnx_kernel import growth, kernel_columns, writer_of
from ._onnx_rows import Rows


def basis_columns(basis: Any, X: Rows) -> Rows:
    """Return the columns of a basis; one column of zeros where it has none."""
    if basis.n_columns == 0:
        return Rows(zeros(X.values))
    return writer_of(_BASES, basis, "basis")(basis, X)


def degree_of(basis: Any) -> int:
    """Return the degree of the polynomial in the features as which the columns of a basis grow."""
    if isinstance(basis, WithConstant):
        return degree_of(basis.rest)
    if isinstance(basis, Monomials):
        return int(basis.powers.sum(axis=1).max(initial=1))
    return int(
        growth(basis.kernel).max() if isinstance(basis, KernelBasis) else isinstance(basis, Features)
    )


def _per_feature(basis: PerFeature, X: Rows) -> Rows:
    away = X.plain().columns(basis.feature).away(basis.value)
    return Rows((away * away * -float(basis.gamma)).exp())


def _monomials(basis: Monomials, X: Rows) -> Rows:
    """Multiply as many features as the highest degree; a column of ones makes up for lower ones."""
    X = X.settled()
    values = X.values.beside(zeros(X.values) + X.unit())
    n_features, degree = basis.powers.shape[1], degree_of(basis)
    factors = np.full((basis.n_columns, degree), n_features)
    for row, power in zip(factors, basis.powers, strict=True):
        row[: power.sum()] = np.repeat(np.arange(n_features), power)
    columns = values.columns(factors[:, 0])
    for factor in factors.T[1:]:
        columns = columns * values.columns(factor)
    return Rows(columns, X.root, X.degree * degree)


def within_monomials(powers: np.ndarray[Any, Any], X: Rows, reach: Any) -> Rows:
    """Return rows that are shrunk, in single precision, until no monomial exceeds its reach."""
    graph = X.values.graph
    if graph.dtype != np.float32:
        return X
    size = X.values.abs().at_least(float(np.finfo(np.float32).tiny)).log() + np.log(X.scale)
    size = size if X.root is None else size - X.root.log()
    over = graph.op("ReduceMax", size @ powers.T.astype(float) - np.log(reach), axes=[-1])
    root = (over.at_least(0.0) * (-1.0 / powers.sum(axis=1).max())).exp()
    return replace(X, values=X.values * (root if X.root is None else root / X.root), root=root)


def _with_constant(basis: WithConstant, X: Rows) -> Rows:
    rest = basis_columns(basis.rest, X)
    if not basis.constant:
        return rest
    one, rest = zeros(X.values) + rest.unit(), rest.settled()
    return replace(rest, values=one.beside(rest.values) if basis.rest.n_columns else one)


_BASES: dict[type, Callable[..., Rows]] = {
    Features: lambda basis, X: X.columns(basis.source),
    KernelBasis: lambda basis, X: kernel_columns(basis.kernel, X, as_dense(basis.centres)),
    Monomials: _monomials,
    PerFeature: _per_feature,
    WithConstant: _with_constant,
}
