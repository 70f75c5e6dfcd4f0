"""The noise of a regression as rows see it that were left out: what the model will miss at new ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.optimize import brentq

from .._protocols import Array, Basis, Index
from ..basis import KernelBasis, WithConstant
from ..basis.rows import distinct_rows
from ..linalg import Factor, as_dense
from ..posterior import GaussianPosterior

# With more observations than this for each parameter that they determine, what is left over at the rows
# themselves is as good. Kernels sit on rows: each knows its own better than any other.
_ROOM, _ROOM_OF_KERNELS = 2.0, 10.0
# Kernels up to which it is looked at what none but a row's own could say: more are either those of
# chosen rows (max_rank), or so alike that there is nothing of the kind.
_MOST = 2_000
# Parts of a kernel below this one of its height are rounding.
_ROUNDING = 1e-10
# The least that others say of a row, as a part of all.
_LEAST = 1e-9


class Own(NamedTuple):
    """Kernels that sit on rows of the data, and what no other kernel could have said there."""

    rows: Index
    columns: Index  # of the posterior
    part: Array

    @classmethod
    def nothing(cls) -> Self:
        """Return no kernels: features are nobody's own."""
        return cls(np.arange(0), np.arange(0), np.zeros(0))

    @classmethod
    def of(cls, basis: Basis, source: Index, X: Any) -> Self:
        """Return those of a posterior whose columns have these sources.

        ``basis`` has all kernels on rows of ``X`` that there were to choose from, or the columns of the
        matrix of similarities of these rows.
        """
        every: Any = basis.rest if isinstance(basis, WithConstant) else basis
        if every.n_columns > _MOST:
            return cls.nothing()
        rows = every.source if isinstance(every, KernelBasis) else np.arange(every.n_columns)
        columns = np.flatnonzero(source >= 0)
        which = np.searchsorted(every.source, source[columns])
        return cls(rows[which], columns, _alone(as_dense(every.columns(X[rows])))[which])


def _alone(K: Array) -> Array:
    r"""Return the part of each kernel at its own row that all the others could not say.

    Interpolated from the other rows by the other kernels a kernel misses its own row by
    :math:`1/(K^{-1})_{ii}`: next to nothing where kernels are wide for the distances between rows, all
    of it where they do not reach each other.
    """
    least = _ROUNDING * max(float(np.abs(K.diagonal()).max(initial=0.0)), np.finfo(float).tiny)
    root = Factor((K + K.T) / (2 * least) + np.eye(K.shape[0])).inverse_root
    return np.asarray(least / np.einsum("ij,ij->j", root, root))


@dataclass(frozen=True)
class PressResiduals:
    """By how much each row is missed by the model without it, and how much of that is known."""

    error: Array
    variance: Array  # of the latent

    @classmethod
    def of(
        cls,
        posterior: GaussianPosterior,
        noise: float,
        own: Own,
        X: Any,
        Phi: Array,
        residual: Array,
        v: Array,
        weight: Array,
    ) -> Self:
        r"""Leave each row out, with its copies and with what only its own kernel could say.

        Without a row of variance :math:`v`, seen with weight :math:`\omega` and missed by
        :math:`\bar r`, a latent moves by :math:`-c\,\omega\bar r/(\sigma^2 - \omega v)`, :math:`c` its
        covariance with the row's (the formula of PRESS). At the row itself :math:`c = v`. But the
        model without the row would not have had its kernel either. The others would have said most of
        that, or little: the row is seen through columns in which the part that is its own is missing.

        Parameters
        ----------
        posterior : GaussianPosterior
        noise : float
            The variance of the noise under which it was found.
        own : Own
        X : array-like of shape (n, d)
        Phi : ndarray of shape (k, k)
            The columns of the posterior at the rows of ``own``.
        residual, v, weight : ndarrays of shape (n,)
            What is left of the targets, and the variances of the latents.
        """
        _, copy = distinct_rows(X)
        times = np.bincount(copy, weight)[copy]
        left = np.maximum(1 - times * v / noise, _LEAST)
        pull = np.bincount(copy, weight * residual)[copy] / (noise * left)
        own_weight, shared, square = np.zeros((3, int(copy.max()) + 1))
        at, column, each = copy[own.rows], own.columns, np.arange(own.rows.size)
        own_weight[at] = own.part * posterior.mean[column]
        covariance = posterior.covariance_dot((Phi - posterior.centre).T)
        shared[at] = own.part * covariance[column, each]
        unit = np.eye(posterior.mean.size)[:, column]
        square[at] = own.part**2 * posterior.covariance_dot(unit)[column, each]
        own_weight, shared, square = own_weight[copy], shared[copy], square[copy]
        c = v - shared
        error = residual + own_weight + c * pull
        variance = v - 2 * shared + square + times * c**2 / (noise * left)
        return cls(error, np.maximum(variance, 0.0))

    def noise(self, least: float, weight: Array) -> float:
        """Return the variance of the noise with which errors are as large as they claim to be.

        That is where the squares of the errors, in units of their variance, are one in the mean; no
        less than ``least``.
        """
        total = float(weight.sum())

        def excess(noise: float) -> float:
            return float(weight @ (self.error**2 / (noise + self.variance))) / total - 1

        most = float(weight @ self.error**2) / total
        if excess(least) <= 0 or most <= least:
            return least
        return float(brentq(excess, least, most, xtol=1e-14 * most, rtol=1e-14))


def is_crowded(n_parameters: float, weight: Array, *, kernels: bool) -> bool:
    """Return whether parameters are so many for the rows that their residuals flatter."""
    return (_ROOM_OF_KERNELS if kernels else _ROOM) * n_parameters > float(weight.sum())
