"""A constant column in front of a basis: the papers' intercept, penalised like any weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, hstack

from .._protocols import Basis, Factors, Index
from ..linalg import is_sparse


@dataclass(frozen=True)
class WithConstant(Basis):
    """The constant column followed by another basis; its source is -1."""

    rest: Basis
    constant: bool = True

    @property
    def source(self) -> Index:  # type: ignore[override]
        """Where each column comes from; -1 for the constant."""
        return np.concatenate([np.full(int(self.constant), -1), self.rest.source])

    def columns(self, X: Any) -> Any:
        """Return the matrix of columns."""
        rest: Any = self.rest.columns(X)
        constant = np.ones((rest.shape[0], int(self.constant)))
        if is_sparse(rest):
            return hstack([csr_array(constant), rest], format="csr")
        return np.hstack([constant, rest])

    def keep(self, active: Index) -> Self:
        """Return the basis of these columns only."""
        first = int(self.constant)
        constant = self.constant and 0 in active
        return type(self)(self.rest.keep(active[active >= first] - first), constant)

    def factors(self, *, tol: float, max_rank: int) -> Factors | None:
        """Return the factors of the other basis, with the constant as one more."""
        rest = self.rest.factors(tol=tol, max_rank=max_rank)
        if rest is None or not self.constant:
            return rest
        C = np.zeros((rest.C.shape[0] + 1, rest.C.shape[1] + 1), dtype=rest.C.dtype)
        C[0, 0], C[1:, 1:] = 1.0, rest.C
        G = np.vstack([np.ones((1, rest.G.shape[1]), dtype=rest.G.dtype), rest.G])
        return Factors(G, C, np.append(0, rest.pivots + 1), rest.left)
