"""Kernels on centres: one column per distinct training row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._protocols import Array, Index, Kernel


@dataclass(frozen=True)
class KernelBasis:
    r"""Columns :math:`K(x, c_j)` for centres :math:`c_j`.

    Examples
    --------
    >>> import numpy as np
    >>> from laconic.basis import KernelBasis
    >>> from laconic.kernels import RBF
    >>> basis = KernelBasis.on_rows(RBF(), np.array([[0.0], [1.0], [0.0]]))
    >>> basis.source
    array([0, 1])
    >>> basis.columns(np.array([[0.0]])).round(3)
    array([[1.   , 0.368]])
    """

    kernel: Kernel
    centres: Any
    source: Index

    @classmethod
    def on_rows(cls, kernel: Kernel, X: Array) -> Self:
        """Return one column per distinct row: twins would only share a weight between them."""
        _, first = np.unique(X, axis=0, return_index=True)
        source = np.sort(first)
        return cls(kernel, X[source], source)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.source.size

    def columns(self, X: Any) -> Array:
        """Return the kernel matrix between the rows of ``X`` and the centres."""
        if self.n_columns == 0:
            return np.zeros((X.shape[0], 0))
        return self.kernel(X, self.centres)

    def keep(self, active: Index) -> Self:
        """Return the basis of these columns only."""
        return type(self)(self.kernel, self.centres[active], self.source[active])
