"""Left-out predictions by formula: leave-one-out, PRESS residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from .._protocols import Array, Basis, Index
from ..basis import KernelBasis, WithConstant
from ..basis.rows import distinct_rows
from ..linalg import Factor, as_dense
from ..posterior import GaussianPosterior

if TYPE_CHECKING:
    from ..laplace.mode import Mode

# Observations per effective parameter above which residuals need no leave-one-out correction.
_MIN_ROWS_PER_FEATURE_WEIGHT = 2.0
# The same for kernels, which fit their centre better than other rows.
_MIN_ROWS_PER_KERNEL_WEIGHT = 10.0
# The part of a kernel that no other kernel explains needs a factorisation of all kernels. With more
# kernels than this they are nearly dependent, or on a subset of the rows, and the part is negligible.
_MAX_KERNELS = 2_000
# A part below this fraction of the kernel's height is rounding.
_KERNEL_ROUNDING = 1e-10
# Lower bound of the share of a row's latent that other rows determine, against division by zero.
_MIN_SHARE_OF_OTHERS = 1e-9
# The same in the leave-one-out formula.
_MIN_LEFT_OUT_SHARE = 1e-10


def leave_one_out(mode: Mode, v: Array | None = None) -> tuple[Array, Array]:
    r"""Return mean and variance of each row's latent as if the row had not been seen.

    The Gaussian of the row itself, of precision :math:`r_i` and target :math:`z_i`, is divided out of
    the posterior: :math:`1/v_{-i} = 1/v_i - r_i`, :math:`m_{-i}/v_{-i} = m_i/v_i - r_i z_i`. Exact for
    Gaussian noise, and close for Laplace's approximation. Of a row with a weight above one, one
    observation is left out; all of them if the problem has ``leave_whole_rows``.

    ``v`` has the variances :math:`v_i`, if they are known already.
    """
    v = mode.ridge.latent_variance(mode.problem.design, mode.r) if v is None else v
    times = 1.0 if mode.problem.leave_whole_rows else np.maximum(mode.problem.weight, 1.0)
    r = mode.r / times
    return divide_out(mode.f, v, r, r * mode.target)


def divide_out(m: Array, v: Array, r: Array, rz: Array) -> tuple[Array, Array]:
    """Return mean and variance of latents without Gaussians of precision ``r`` and target ``rz / r``."""
    share = np.maximum(1 - v * r, _MIN_LEFT_OUT_SHARE)
    return (m - v * rz) / share, v / share


class OwnKernelPart(NamedTuple):
    """Kernels on rows of the data, and the part of each that no other kernel explains at its row."""

    rows: Index
    columns: Index  # of the posterior
    part: Array

    @classmethod
    def nothing(cls) -> Self:
        """Return the parts for a model without kernels: there are none."""
        return cls(np.arange(0), np.arange(0), np.zeros(0))

    @classmethod
    def of(cls, basis: Basis, source: Index, X: Any) -> Self:
        """Return the parts for a posterior whose columns have these sources.

        ``basis`` has all candidate kernels on rows of ``X``, or the columns of a precomputed matrix.
        """
        every: Any = basis.rest if isinstance(basis, WithConstant) else basis
        if every.n_columns > _MAX_KERNELS:
            return cls.nothing()
        rows = every.source if isinstance(every, KernelBasis) else np.arange(every.n_columns)
        columns = np.flatnonzero(source >= 0)
        order = np.argsort(every.source)
        which = order[np.searchsorted(every.source, source[columns], sorter=order)]
        return cls(rows[which], columns, _own_part(as_dense(every.columns(X[rows])))[which])


def _own_part(K: Array) -> Array:
    r"""Return the part of each kernel at its own row that the other kernels do not explain.

    Interpolated from the other rows by the other kernels, a kernel has the error
    :math:`1/(K^{-1})_{ii}` at its own row. It is nearly zero if kernels are wide compared with the
    distances between rows, and the whole kernel if kernels do not overlap.
    """
    least = _KERNEL_ROUNDING * max(float(np.abs(K.diagonal()).max(initial=0.0)), np.finfo(float).tiny)
    root = Factor((K + K.T) / (2 * least) + np.eye(K.shape[0])).inverse_root
    return np.asarray(least / np.einsum("ij,ij->j", root, root))


@dataclass(frozen=True)
class PressResiduals:
    """Residual of each row under the model without it, and the variance of its latent there."""

    error: Array
    variance: Array  # of the latent

    @classmethod
    def of(
        cls,
        posterior: GaussianPosterior,
        noise: float,
        own: OwnKernelPart,
        X: Any,
        Phi: Array,
        residual: Array,
        v: Array,
        weight: Array,
    ) -> Self:
        r"""Leave each row out, with its duplicates and with the part that belongs to its own kernel.

        Without a row whose latent has variance :math:`v`, weight :math:`\omega` and residual
        :math:`\bar r`, another latent moves by :math:`-c\,\omega\bar r/(\sigma^2 - \omega v)`, with
        :math:`c` their covariance (the formula of PRESS). At the row itself :math:`c = v`. A model
        without the row would not have had its kernel either, so the columns are evaluated at the row
        without the part that only this kernel explains.

        ``noise`` is the variance at which the posterior was found, ``Phi`` the columns of the posterior
        at the rows of ``own``; ``residual``, ``v`` and ``weight`` are those of each row.
        """
        _, copy = distinct_rows(X)
        times = np.bincount(copy, weight)[copy]
        left = np.maximum(1 - times * v / noise, _MIN_SHARE_OF_OTHERS)
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


def has_few_rows(n_parameters: float, weight: Array, *, kernels: bool) -> bool:
    """Return whether there are too few rows per parameter for residuals to estimate the noise."""
    rows = _MIN_ROWS_PER_KERNEL_WEIGHT if kernels else _MIN_ROWS_PER_FEATURE_WEIGHT
    return rows * n_parameters > float(weight.sum())
