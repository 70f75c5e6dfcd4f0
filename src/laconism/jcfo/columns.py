"""The columns of a joint model: kernels of scaled features, of each class if they have their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._protocols import Array, Index
from ..basis import KernelBasis, WithConstant
from ..kernels import Scaled
from ..model.bases import without_constant
from .prepare import PreparedData


@dataclass(frozen=True)
class SideBySide:
    """The columns of several bases, one basis after the other."""

    bases: Sequence[Any]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return sum(basis.n_columns for basis in self.bases)

    @property
    def source(self) -> Index:
        """The training row of each column; classes may use one row twice."""
        return np.concatenate([basis.source for basis in self.bases])

    @property
    def centres(self) -> Array:
        """The centres, one after the other."""
        return np.concatenate([without_constant(basis).centres for basis in self.bases])

    def columns(self, X: Any) -> Array:
        """Return the kernels between the rows of ``X`` and the centres of each class."""
        return np.hstack([basis.columns(X) for basis in self.bases])

    def keep(self, active: Index) -> Self:
        """Return the basis of these columns only."""
        firsts, parts = np.cumsum([0, *(basis.n_columns for basis in self.bases)]), []
        for basis, first, end in zip(self.bases, firsts, firsts[1:], strict=False):
            parts.append(basis.keep(active[(active >= first) & (active < end)] - first))
        return type(self)(parts)


def joint_columns(
    model: Any, prepared: PreparedData, scales: Array
) -> tuple[list[Scaled], list[KernelBasis], Any]:
    """Return kernel and columns for each problem, given a row of scales each, and all columns.

    Among all columns are those of penalised intercepts.
    """
    # Distances do not depend on the origin.
    origin = prepared.origin if model.standardize and model.kernel != "rbf" else None
    inner = prepared.problems[0].kernel
    kernels = [Scaled(inner, each * prepared.unit**2, origin) for each in scales]
    centres = prepared.X[prepared.centres]
    bases = [KernelBasis(kernel, centres, prepared.centres) for kernel in kernels]
    columns: list[Any] = [
        WithConstant(basis) if problem.constant else basis
        for basis, problem in zip(bases, prepared.problems, strict=True)
    ]
    return kernels, bases, columns[0] if len(columns) == 1 else SideBySide(columns)
