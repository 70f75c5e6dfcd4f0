"""The columns of a basis as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..basis import Features, KernelBasis, Monomials, PerFeature, WithConstant
from ..linalg import as_dense
from ._onnx_graph import Tensor, zeros
from ._onnx_kernel import kernel_columns, writer_of


def basis_columns(basis: Any, X: Tensor) -> Tensor:
    """Return the columns of a basis; one column of zeros where it has none."""
    if basis.n_columns == 0:
        return zeros(X)
    return writer_of(_BASES, basis, "basis")(basis, X)


def _per_feature(basis: PerFeature, X: Tensor) -> Tensor:
    away = X.columns(basis.feature).away(basis.value)
    return (away * away * -float(basis.gamma)).exp()


def _monomials(basis: Monomials, X: Tensor) -> Tensor:
    """Multiply as many features as the highest degree; a column of ones makes up for lower ones."""
    X = X.beside(zeros(X) + 1.0)
    n_features = basis.powers.shape[1]
    factors = np.full((basis.n_columns, int(basis.powers.sum(axis=1).max())), n_features)
    for row, power in zip(factors, basis.powers, strict=True):
        row[: power.sum()] = np.repeat(np.arange(n_features), power)
    columns = X.columns(factors[:, 0])
    for factor in factors.T[1:]:
        columns = columns * X.columns(factor)
    return columns


def _with_constant(basis: WithConstant, X: Tensor) -> Tensor:
    if not basis.constant:
        return basis_columns(basis.rest, X)
    one = zeros(X) + 1.0
    return one.beside(basis_columns(basis.rest, X)) if basis.rest.n_columns else one


_BASES: dict[type, Callable[..., Tensor]] = {
    Features: lambda basis, X: X.columns(basis.source),
    KernelBasis: lambda basis, X: kernel_columns(basis.kernel, X, as_dense(basis.centres)),
    Monomials: _monomials,
    PerFeature: _per_feature,
    WithConstant: _with_constant,
}
