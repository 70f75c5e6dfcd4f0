"""The columns of a basis as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..basis import Features, KernelBasis, Monomials, PerFeature, WithConstant
from ._onnx_graph import Tensor, zeros
from ._onnx_kernel import Centres, kernel_columns, writer_of


def basis_columns(basis: Any, X: Tensor, n_features: int) -> Tensor:
    """Return the columns of a basis; one column of zeros where it has none."""
    if basis.n_columns == 0:
        return zeros(X, n_features)
    return writer_of(_BASES, basis, "basis")(basis, X, n_features)


def dense(rows: Any) -> Centres:
    """Return rows, which may be sparse, as an array of doubles."""
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def _features(basis: Features, X: Tensor, n_features: int) -> Tensor:
    return X.columns(basis.source)


def _kernel(basis: KernelBasis, X: Tensor, n_features: int) -> Tensor:
    return kernel_columns(basis.kernel, X, dense(basis.centres))


def _per_feature(basis: PerFeature, X: Tensor, n_features: int) -> Tensor:
    away = X.columns(basis.feature).away(basis.value)
    return (away * away * -float(basis.gamma)).exp()


def _monomials(basis: Monomials, X: Tensor, n_features: int) -> Tensor:
    """Multiply as many features as the highest degree; a column of ones makes up for lower ones."""
    X = X.beside(zeros(X, n_features) + 1.0)
    degree = int(basis.powers.sum(axis=1).max())
    factors = np.full((basis.n_columns, degree), n_features)
    for row, power in zip(factors, basis.powers, strict=True):
        used = np.repeat(np.arange(n_features), power)
        row[: used.size] = used
    columns = X.columns(factors[:, 0])
    for factor in factors.T[1:]:
        columns = columns * X.columns(factor)
    return columns


def _with_constant(basis: WithConstant, X: Tensor, n_features: int) -> Tensor:
    if not basis.constant:
        return basis_columns(basis.rest, X, n_features)
    one = zeros(X, n_features) + 1.0
    return one.beside(basis_columns(basis.rest, X, n_features)) if basis.rest.n_columns else one


_BASES: dict[type, Callable[..., Tensor]] = {
    Features: _features,
    KernelBasis: _kernel,
    Monomials: _monomials,
    PerFeature: _per_feature,
    WithConstant: _with_constant,
}
