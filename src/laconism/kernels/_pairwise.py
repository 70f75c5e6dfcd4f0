"""Inner products and squared distances between the rows of two matrices, dense or sparse."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

if TYPE_CHECKING:
    from .._protocols import Array


def as_float(X: Any) -> Any:
    """Return ``X`` as a two-dimensional float array or CSR matrix, unchanged if it is one."""
    sparse: bool = issparse(X)
    A = X.tocsr() if sparse else np.asarray(X)
    if A.ndim != 2:
        raise ValueError(f"A kernel needs two-dimensional matrices, got {A.ndim} dimension(s).")
    return A if A.dtype in (np.float32, np.float64) else A.astype(np.float64)


def as_pair(X: Any, C: Any) -> tuple[Any, Any]:
    """Return both matrices as floats of one type; if they are one object, so are the results."""
    A = as_float(X)
    B = A if C is X else as_float(C)
    if A.shape[1] != B.shape[1]:
        raise ValueError(
            f"X and C must have the same number of features, got {A.shape[1]} and {B.shape[1]}."
        )
    if A.dtype != B.dtype:
        A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
    return A, B


def scale_features(X: Any, theta: Any) -> Any:
    """Return ``sqrt(theta) o x`` for every row x; sparse stays sparse and float32 float32."""
    A = as_float(X)
    if np.shape(theta) != (A.shape[1],):
        raise ValueError(
            f"There must be one scale per feature ({A.shape[1]}), got shape {np.shape(theta)}."
        )
    root = np.sqrt(np.asarray(theta, dtype=np.float64))
    # Very large scales belong to very small features: doubles hold the product.
    A = A.astype(np.float64) if root.max(initial=0.0) > np.finfo(A.dtype).max else A
    root = root.astype(A.dtype)
    sparse: bool = issparse(A)
    return A.multiply(root).tocsr() if sparse else A * root


def scale_pair(X: Any, C: Any, theta: Any) -> tuple[Any, Any]:
    """Scale the features of both matrices; if they are one object, so are the results."""
    A = scale_features(X, theta)
    return A, A if C is X else scale_features(C, theta)


def _largest(A: Any) -> float:
    return max(float(A.max()), -float(A.min()))


def centred(A: Any, B: Any) -> tuple[Any, Any, float]:
    """Return ``(A - s) / unit``, ``(B - s) / unit`` and ``unit``, from which distances are accurate.

    Distances do not depend on the origin s, but their rounding does: without the shift to the mean
    of ``B``, a feature such as a time stamp (1.7e9) loses all its digits. Sparse matrices are not
    shifted, since that would make them dense. ``unit`` is one unless squares would overflow.
    """
    same = A is B
    unit = 1.0
    largest = max(_largest(A), _largest(B))
    # |a - b|^2 <= 4 p largest^2; another factor of four is a margin for intermediate sums.
    if largest > math.sqrt(float(np.finfo(A.dtype).max) / (16 * A.shape[1])):
        # A power of two, so that the division does not round.
        unit = 2.0 ** (math.frexp(largest)[1] - 1)
        A, B = A / unit, B / unit
    if not (issparse(A) or issparse(B)):
        shift = B.mean(axis=0)
        with np.errstate(invalid="ignore"):  # infinite input: the caller's validation reports it
            A, B = A - shift, B if same else B - shift
    return A, A if same else B, unit


def squared_distances(X: Any, C: Any) -> Array:
    """Return ``|x_i - c_j|^2``, never NaN, zero for equal rows, infinite where it overflows."""
    A, B = as_pair(X, C)
    if 0 in (A.shape[0], B.shape[0]):
        return np.zeros((A.shape[0], B.shape[0]), dtype=A.dtype)
    A, B, unit = centred(A, B)
    dtype = A.dtype
    # |a|^2 + |b|^2 - 2 a.b in double precision, in place. A fit evaluates a kernel hundreds of times,
    # often for few columns: validating the matrices again would cost more than the product.
    A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
    few = B.shape[0] <= 64 < A.shape[0]  # laid out by columns: short rows are slow to work on
    if few:
        A, B = B, A
    norms, others = row_norms(A, squared=True), row_norms(B, squared=True)
    if not (np.isfinite(norms).all() and np.isfinite(others).all()):
        raise ValueError("A kernel needs finite numbers, got NaN or infinity.")
    sq = _expanded(A, B, norms, others)
    _zero_equal_rows(sq, norms)
    sq = sq.astype(dtype, copy=False)
    if unit != 1.0:
        with np.errstate(over="ignore"):
            sq *= unit  # twice, since zero times an infinite unit^2 would be NaN
            sq *= unit
    return sq.T if few else sq


def _expanded(A: Any, B: Any, a: Array, b: Array) -> Array:
    """Return ``a_i + b_j - 2 A_i . B_j`` for the squared lengths a and b of the rows."""
    if issparse(A) or issparse(B):
        sq: Array = np.ascontiguousarray(safe_sparse_dot(A, -2 * B.T, dense_output=True))
        sq += a[:, None]
        sq += b
        return sq
    # One product of (-2 A, a, 1) and (B, 1, b) saves two passes over the matrix.
    left = np.column_stack([-2 * A, a, np.ones_like(a)])
    return np.asarray(left @ np.column_stack([B, np.ones_like(b), b]).T)


def _zero_equal_rows(sq: Array, norms: Array) -> None:
    """Set to zero, in place, distances below eight units in the last place of |x|^2, its rounding."""
    flat, rounding = sq.ravel(), 8 * np.finfo(np.float64).eps  # a view: the matrix is contiguous
    # Almost no entry is below the largest bound; only those are compared with the bound of their pair.
    near = np.flatnonzero(flat < rounding * norms.max())
    flat[near[flat[near] < rounding * norms[near // sq.shape[1]]]] = 0.0


def dot_products(X: Any, C: Any) -> Array:
    """Return ``x_i . c_j`` as a dense matrix."""
    A, B = as_pair(X, C)
    with np.errstate(over="ignore", invalid="ignore"):
        s: Array = safe_sparse_dot(A, B.T, dense_output=True)
    return s


def squared_norms(X: Any) -> Array:
    """Return ``|x_i|^2``."""
    with np.errstate(over="ignore"):
        s: Array = row_norms(as_float(X), squared=True)
    return s


def representable(value: float, like: Array) -> float:
    """Return the positive ``value``, clipped to the range of the float type of ``like``.

    A factor of 0 or infinity, as float32 would round it, times an infinite or zero distance is NaN.
    """
    info = np.finfo(like.dtype)
    return min(max(float(value), float(info.tiny)), float(info.max))


def finite(values: Array, owner: object, remedy: str) -> Array:
    """Return ``values``, or raise if the kernel has overflowed."""
    if not np.isfinite(values).all():
        raise ValueError(f"{type(owner).__name__}: the kernel overflows; {remedy}.")
    return values
