"""The columns of a model: made from its settings, and traced back to input features."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._component import is_name
from .._protocols import Array, Basis, Index
from ..basis import Features, KernelBasis, Monomials, PerFeature, WithConstant
from ..kernels import Polynomial, resolve_kernel
from .validation import check_gamma, resolve_gamma


def kernel_basis(
    kernel: Any, gamma: Any, degree: int, coef0: float, X: Any, weight: Array, rows: Index
) -> Basis:
    """Return the features themselves, or one kernel on each distinct row of positive weight.

    ``rows`` are the indices of ``X`` among all given rows: the columns of a precomputed kernel.
    """
    # Parameters that are not used are checked too, since the user may have forgotten the kernel.
    check_gamma(gamma)
    Polynomial(degree=degree, coef0=coef0).check()
    if is_name(kernel, "precomputed"):
        return Features(rows)
    if kernel is None:
        return Features(np.arange(X.shape[1]))
    named = isinstance(kernel, str) and kernel != "linear"
    width = resolve_gamma(gamma, X, weight) if named else 1.0
    return KernelBasis.on_rows(resolve_kernel(kernel, gamma=width, degree=degree, coef0=coef0), X)


def without_constant(basis: Basis) -> Any:
    """Return the basis without the column of a penalised intercept."""
    return basis.rest if isinstance(basis, WithConstant) else basis


def input_support(basis: Any, source: Index, n_features: int) -> Array:
    """Return which input features the columns of a basis use."""
    if isinstance(basis, Monomials):
        return np.asarray((basis.powers > 0).any(axis=0))
    support = np.zeros(n_features, dtype=bool)
    support[basis.feature if isinstance(basis, PerFeature) else source] = True
    return support
