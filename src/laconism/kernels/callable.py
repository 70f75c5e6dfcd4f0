"""A user's function as a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._component import require
from .._protocols import Array
from ..linalg import is_sparse
from .base import Kernel


class FunctionKernel(Kernel):
    """A function of two matrices as a kernel, ``K = function(X, C)``.

    Parameters
    ----------
    function : callable
        Takes matrices of shapes (n, p) and (m, p) and returns a finite one of shape (n, m). It need
        not be positive semi-definite. For this reason the kernel matrix is never factored: a fit
        holds all of it in memory.

    Examples
    --------
    >>> from sklearn.metrics.pairwise import laplacian_kernel
    >>> from laconism.kernels import FunctionKernel
    >>> FunctionKernel(laplacian_kernel)([[0.0], [1.0]], [[0.0]]).round(3)
    array([[1.   ],
           [0.368]])
    """

    positive = False  # it is not known to be positive semi-definite

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    def check(self) -> None:
        """Raise ``ValueError`` unless ``function`` can be called."""
        require(callable(self.function), self, "function must be callable", self.function)

    def __call__(self, X: Any, C: Any) -> Array:
        """Return ``function(X, C)``, checked for shape and finiteness."""
        X = X if is_sparse(X) else np.asarray(X)
        C = C if is_sparse(C) else np.asarray(C)
        returned = self.function(X, C)
        K = returned.toarray() if is_sparse(returned) else np.asarray(returned)
        shape = (X.shape[0], C.shape[0])
        require(K.shape == shape, self, f"function must return shape {shape}", K.shape)
        require(K.dtype.kind in "fiub", self, "function must return real numbers", K.dtype)
        if not np.isfinite(K).all():
            raise ValueError("FunctionKernel: function returned a value that is not finite.")
        return K if K.dtype in (np.float32, np.float64) else K.astype(np.float64)

    def diag(self, X: Any) -> Array:
        """Return the diagonal, from small blocks of rows: few calls, and no large matrix."""
        X = X.tocsr() if is_sparse(X) else np.asarray(X)
        blocks = [X[start : start + 64] for start in range(0, X.shape[0], 64)]
        return np.concatenate([np.diagonal(self(block, block)) for block in blocks])

    def scale_gradient(self, X: Any, C: Any, theta: Any, W: Any) -> Array:
        """Raise ``TypeError``: the function has no known derivative."""
        raise TypeError(
            "FunctionKernel: a plain function has no derivative with respect to feature scales, "
            "so use a kernel of laconism.kernels such as RBF()."
        )
