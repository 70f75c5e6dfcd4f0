"""Kernels of one feature each: the columns form a grid of features by rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._protocols import Array, Basis, Factors, Index
from ..linalg import as_dense
from ._pivots import pivoted_cholesky
from .rows import distinct_rows


@dataclass(frozen=True)
class PerFeature(Basis):
    r"""Columns :math:`\exp(-\gamma(x_i - c_{ji})^2)` for features :math:`i` and centres :math:`j`.

    Eq. (26) of the gridRVM paper. On the grid of features by centres each feature is one slice, so an
    irrelevant feature can be removed as a whole.
    """

    gamma: float
    feature: Index
    value: Array
    source: Index
    rows: Index | None = None  # which centre each training row is

    @classmethod
    def on_rows(cls, gamma: float, X: Any) -> Self:
        """Return one column per feature and distinct row, ordered by feature."""
        first, rows = distinct_rows(X)
        X = as_dense(X[first])
        n, d = X.shape
        return cls(gamma, np.repeat(np.arange(d), n), X.T.ravel(), np.arange(n * d), rows)

    def columns(self, X: Any) -> Array:
        """Return the matrix of columns."""
        away = as_dense(X)[:, self.feature]
        away -= self.value
        np.square(away, out=away)
        away *= -self.gamma
        return np.asarray(np.exp(away, out=away))

    def keep(self, active: Index) -> Self:
        """Return the basis of these columns only."""
        return type(self)(self.gamma, self.feature[active], self.value[active], self.source[active])

    def factors(self, *, tol: float, max_rank: int) -> Factors | None:
        """Return the columns as a product of thin matrices, or None if these are not thin.

        The kernels of one feature are functions of one variable, so a few of them span the others for
        any number of rows. All columns are :math:`G^TC`, with the factors of the features stacked in
        ``G`` and block diagonal in ``C``.
        """
        if self.rows is None:
            return None
        n = int(self.rows.max(initial=-1)) + 1
        tables = self.value.reshape(-1, n)
        parts, pivots, missed, height = [], [], 0.0, 0
        for feature, value in enumerate(tables):
            G, chosen, left = self._factor(value, tol)
            parts.append(G)
            pivots.append(feature * n + chosen)
            missed, height = max(missed, left), height + len(G)
            if height >= min(max_rank, self.rows.size // 2):  # no longer thin
                return None
        C, start = np.zeros((height, self.n_columns)), 0
        for feature, G in enumerate(parts):
            C[start : start + len(G), feature * n : (feature + 1) * n] = G
            start += len(G)
        return Factors(np.concatenate(parts)[:, self.rows], C, np.concatenate(pivots), missed)

    def _factor(self, value: Array, tol: float) -> tuple[Array, Index, float]:
        """Return the kernel matrix of one feature as ``G' G``, with the pivots."""

        def rows(index: Index, columns: Index | None) -> Array:
            away = np.subtract.outer(value[index], value if columns is None else value[columns])
            return np.asarray(np.exp(-self.gamma * away**2))

        return pivoted_cholesky(rows, np.ones(value.size), tol=tol, max_rank=value.size)
