"""Kernels of one feature each: an ordinary table becomes a grid of features by rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from .._protocols import Array, Factors, Index
from .kernel import distinct_rows


@dataclass(frozen=True)
class PerFeature:
    r"""Columns :math:`\exp(-\gamma(x_i - c_{ji})^2)` for features :math:`i` and centres :math:`j`.

    Eq. (26) of the gridRVM paper: on the grid of features by centres a noisy feature is one slice, and
    can be switched off as a whole.

    Examples
    --------
    >>> import numpy as np
    >>> from laconic.basis import PerFeature
    >>> basis = PerFeature.on_rows(1.0, np.array([[0.0, 0.0], [1.0, 2.0]]))
    >>> basis.columns(np.array([[0.0, 2.0]])).round(3)
    array([[1.   , 0.368, 0.018, 1.   ]])
    """

    gamma: float
    feature: Index
    value: Array
    source: Index

    @classmethod
    def on_rows(cls, gamma: float, X: Any) -> Self:
        """Return one column per feature and distinct row, those of one feature next to each other."""
        X = X[distinct_rows(X)[0]]
        sparse: bool = issparse(X)
        X = np.asarray(X.toarray() if sparse else X, dtype=np.float64)
        n, d = X.shape
        return cls(gamma, np.repeat(np.arange(d), n), X.T.ravel(), np.arange(n * d))

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.source.size

    def columns(self, X: Any) -> Array:
        """Return the matrix of columns."""
        sparse: bool = issparse(X)
        X = np.asarray(X.toarray() if sparse else X, dtype=np.float64)
        away = X[:, self.feature]
        away -= self.value
        np.square(away, out=away)
        away *= -self.gamma
        return np.asarray(np.exp(away, out=away))

    def keep(self, active: Index) -> Self:
        """Return the basis of these columns only."""
        return type(self)(self.gamma, self.feature[active], self.value[active], self.source[active])

    def factors(self, *, tol: float, max_rank: int) -> Factors | None:
        """Return None: the columns are not one kernel matrix."""
        return None
