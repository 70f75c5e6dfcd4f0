"""A column of ones in front: the papers' intercept, penalised like any weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._protocols import Array, Basis, Index


@dataclass(frozen=True)
class WithConstant:
    """The constant column followed by another basis; its source is -1.

    Examples
    --------
    >>> import numpy as np
    >>> from laconic.basis import Features, WithConstant
    >>> WithConstant(Features(np.arange(2))).columns(np.array([[5.0, 7.0]]))
    array([[1., 5., 7.]])
    """

    rest: Basis
    constant: bool = True

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.constant) + self.rest.n_columns

    @property
    def source(self) -> Index:
        """Where each column comes from; -1 for the constant."""
        return np.concatenate([np.full(int(self.constant), -1), self.rest.source])

    def columns(self, X: Any) -> Array:
        """Return the matrix of columns."""
        rest = self.rest.columns(X)
        return np.hstack([np.ones((rest.shape[0], int(self.constant))), rest])

    def keep(self, active: Index) -> Self:
        """Return the basis of these columns only."""
        first = int(self.constant)
        constant = self.constant and 0 in active
        return type(self)(self.rest.keep(active[active >= first] - first), constant)
