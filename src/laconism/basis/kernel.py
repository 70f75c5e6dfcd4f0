"""Kernels on centres: one column per distinct training row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._protocols import Array, Basis, Factors, Index
from ..kernels import Kernel
from ..magnitude import check_largest
from ._pivots import pivoted_cholesky
from .rows import distinct_rows


@dataclass(frozen=True)
class KernelBasis(Basis):
    r"""Columns :math:`K(x, c_j)` for centres :math:`c_j`."""

    kernel: Kernel
    centres: Any
    source: Index
    rows: Index | None = None  # which centre each training row is

    @classmethod
    def on_rows(cls, kernel: Kernel, X: Any) -> Self:
        """Return one column per distinct row: duplicates have equal columns."""
        source, rows = distinct_rows(X)
        return cls(kernel, X[source], source, rows)

    def columns(self, X: Any) -> Array:
        """Return the kernel matrix between the rows of ``X`` and the centres."""
        if self.n_columns == 0:
            return np.zeros((X.shape[0], 0))
        return self.kernel(X, self.centres)

    def keep(self, active: Index) -> Self:
        """Return the basis of these columns only."""
        return type(self)(self.kernel, self.centres[active], self.source[active])

    def factors(self, *, tol: float, max_rank: int) -> Factors | None:
        """Return the kernel matrix on the training rows as a product of thin matrices."""
        if self.rows is None or not self.kernel.positive:
            return None
        check_largest(self.kernel.diag(self.centres))  # no entry is larger
        n = self.n_columns
        if n > 16 * max_rank:
            # If a sample of four rows per rank exceeds the largest rank, so do all rows.
            sample = np.arange(0, n, n // (4 * max_rank))
            C, pivots, left = self._factor(self.centres[sample], tol, max_rank)
            if left > tol:
                return Factors(C, C, sample[pivots], left)
        C, pivots, left = self._factor(self.centres, tol, max_rank)
        return Factors(C if self.rows.size == n else C[:, self.rows], C, pivots, left)

    def _factor(self, centres: Any, tol: float, max_rank: int) -> tuple[Array, Index, float]:
        whole: Array | None = None
        if centres.shape[0] <= centres.shape[1]:  # then it is no larger than the rows themselves
            whole = np.asarray(self.kernel(centres, centres))

        def rows(index: Index, columns: Index | None) -> Array:
            if whole is not None:
                return whole[index] if columns is None else whole[np.ix_(index, columns)]
            # Transposed, because kernels store distances to few centres by columns.
            return self.kernel(centres if columns is None else centres[columns], centres[index]).T

        diagonal = self.kernel.diag(centres)
        return pivoted_cholesky(rows, diagonal, tol=tol, max_rank=max_rank, dtype=centres.dtype)
