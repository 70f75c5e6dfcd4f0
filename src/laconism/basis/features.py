"""The features themselves, or monomials of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import PolynomialFeatures

from .._protocols import Array, Basis, Index


@dataclass(frozen=True)
class Features(Basis):
    """A subset of the features, or of the columns of a precomputed kernel matrix."""

    source: Index

    def columns(self, X: Any) -> Any:
        """Return these columns of ``X``; sparse ones stay sparse."""
        everything = self.source.size == X.shape[1] and (np.diff(self.source) == 1).all()
        return X if everything else X[:, self.source]

    def keep(self, active: Index) -> Self:
        """Return the basis of these columns only."""
        return type(self)(self.source[active])


@dataclass(frozen=True)
class Monomials(Basis):
    r"""Products of powers of the features, the "nonlinear classifiers" of Figueiredo and Jain (2001).

    Degree 2 gives :math:`x_i`, :math:`x_i^2` and :math:`x_i x_j`.
    """

    powers: NDArray[np.int64]
    source: Index

    @classmethod
    def of_degree(cls, degree: int, n_features: int) -> Self:
        """Return all monomials up to this degree, without the constant."""
        expansion = PolynomialFeatures(degree, include_bias=False).fit(np.zeros((1, n_features)))
        return cls(expansion.powers_, np.arange(expansion.powers_.shape[0]))

    def columns(self, X: Any) -> Array:
        """Return the matrix of monomials."""
        out = np.ones((X.shape[0], self.n_columns))
        with np.errstate(over="ignore"):  # reported by the estimator
            for column, power in zip(out.T, self.powers, strict=True):
                for feature in np.flatnonzero(power):
                    column *= X[:, feature] ** power[feature]
        return out

    def keep(self, active: Index) -> Self:
        """Return the basis of these columns only."""
        return type(self)(self.powers[active], self.source[active])
