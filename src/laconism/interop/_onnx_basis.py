"""The columns of a basis as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable
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
        return Rows(zeros(X.values), X.root, X.degree * degree_of(basis))
    return writer_of(_BASES, basis, "basis")(basis, X)


def degree_of(basis: Any) -> int:
    """Return the degree of the polynomial in the features as which the columns of a basis grow."""
    if isinstance(basis, WithConstant):
        return degree_of(basis.rest)
    if isinstance(basis, Monomials):
        return int(basis.powers.sum(axis=1).max(initial=1))
    return growth(basis.kernel) if isinstance(basis, KernelBasis) else int(isinstance(basis, Features))


def _per_feature(basis: PerFeature, X: Rows) -> Rows:
    away = X.plain().columns(basis.feature).away(basis.value)
    return Rows((away * away * -float(basis.gamma)).exp())


def _monomials(basis: Monomials, X: Rows) -> Rows:
    """Multiply as many features as the highest degree; a column of ones makes up for lower ones."""
    values = X.values.beside(zeros(X.values) + X.unit())
    n_features, degree = basis.powers.shape[1], degree_of(basis)
    factors = np.full((basis.n_columns, degree), n_features)
    for row, power in zip(factors, basis.powers, strict=True):
        row[: power.sum()] = np.repeat(np.arange(n_features), power)
    columns = values.columns(factors[:, 0])
    for factor in factors.T[1:]:
        columns = columns * values.columns(factor)
    return Rows(columns, X.root, X.degree * degree)


def _with_constant(basis: WithConstant, X: Rows) -> Rows:
    rest = basis_columns(basis.rest, X)
    if not basis.constant:
        return rest
    one = rest.scaled(1.0) + zeros(X.values)
    return Rows(one.beside(rest.values) if basis.rest.n_columns else one, rest.root, rest.degree)


_BASES: dict[type, Callable[..., Rows]] = {
    Features: lambda basis, X: X.columns(basis.source),
    KernelBasis: lambda basis, X: kernel_columns(basis.kernel, X, as_dense(basis.centres)),
    Monomials: _monomials,
    PerFeature: _per_feature,
    WithConstant: _with_constant,
}
