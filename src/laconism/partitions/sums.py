"""What one partition returns: sums over its rows, for the kept columns or for all candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._protocols import Array, Basis, Index
from ..likelihoods import Binary, Likelihood
from ..linalg import as_dense, row_blocks
from .describe import Encoding
from .parts import Part


@dataclass(frozen=True)
class Columns:
    """Columns of rows, less a centre, which keeps digits where there is an intercept."""

    basis: Any
    centre: Array

    def keep(self, index: Index) -> Columns:
        """Return these columns only."""
        basis: Basis = self.basis.keep(index)
        return Columns(basis, self.centre[index])

    def at(self, X: Any) -> Array:
        """Return the columns at some rows."""
        found = np.asarray(as_dense(self.basis.columns(X)), dtype=np.float64)
        return found - self.centre if self.centre.any() else found

    @property
    def size(self) -> int:
        """The number of columns."""
        return int(self.centre.size)


@dataclass(frozen=True)
class Point:
    """Where the sums of one output are taken: its columns, their weights, intercept and likelihood."""

    index: Index  # which of the columns
    w: Array
    b: float
    likelihood: Likelihood
    output: int

    @property
    def labels(self) -> bool:
        """Whether the targets are labels, whose curvature depends on the weights."""
        return isinstance(self.likelihood, Binary)


def moments_of_part(
    part: Part, encoding: Encoding, columns: Columns, points: Sequence[Point]
) -> list[list[Any]]:
    r"""Return, for each output, its log-likelihood and :math:`[1, \Phi, z]^TR[1, \Phi, z]`.

    For labels the precision :math:`r` is the weight of a row times minus the second derivative of its
    log-likelihood :math:`\ell`, and :math:`rz = rf + \ell'`: the quadratic that touches the
    log-likelihood at the point. For values :math:`r` is the weight of a row, and :math:`z` its target.
    """
    found: list[list[Any]] = [[0.0, np.zeros((p.index.size + 2,) * 2)] for p in points]
    weight = encoding.weights(part)
    for rows in row_blocks(part.y.shape[0], columns.size + 1):
        whole = columns.at(part.X[rows])
        for sums, point in zip(found, points, strict=True):
            y, Phi = encoding.targets(part.y[rows], point.output), _some(whole, point.index)
            r, rz, z2, fit = _working_response(point, y, Phi, weight[rows])
            sums[0] += fit
            _add_products(sums[1], Phi, r, rz, z2)
    return found


def _some(whole: Array, index: Index) -> Array:
    """Return some of the columns, without a copy if they are all."""
    return whole if index.size == whole.shape[1] else whole[:, index]


def _working_response(
    point: Point, y: Array, Phi: Array, weight: Array
) -> tuple[Array, Array, float, float]:
    """Return precision, precision times target, the sum of squares and the log-likelihood."""
    if not point.labels:
        return weight, weight * y, float(weight @ y**2), 0.0
    f = Phi @ point.w + point.b
    log_p, slope, curvature = point.likelihood.evaluate(y, f)
    r = weight * curvature
    return r, r * f + weight * slope, 0.0, float(weight @ log_p)


def _add_products(M: Array, Phi: Array, r: Array, rz: Array, z2: float) -> None:
    """Add the products of the constant, the columns and the target to a matrix, in place."""
    inner = slice(1, -1)
    side, pull = r @ Phi, rz @ Phi
    root = np.sqrt(r)[:, None] * Phi
    M[inner, inner] += root.T @ root  # one matrix and its transpose: BLAS computes half
    M[0, inner] += side
    M[inner, 0] += side
    M[-1, inner] += pull
    M[inner, -1] += pull
    M[0, 0] += r.sum()
    M[0, -1] += rz.sum()
    M[-1, 0] += rz.sum()
    M[-1, -1] += z2


def slopes_of_part(
    part: Part, encoding: Encoding, columns: Columns, points: Sequence[Point], candidates: Columns
) -> list[list[Any]]:
    """Return, for each output, what the columns outside the model would gain.

    These are the slope of the log-likelihood along each candidate, the products of candidates with the
    constant and the kept columns, their squares, and the products of these, rows with their precision.
    """
    found: list[list[Any]] = []
    for point in points:
        p, k = candidates.size, point.index.size
        found.append([np.zeros(p), np.zeros((k + 1, p)), np.zeros(p), np.zeros((k + 1, k + 1))])
    weight = encoding.weights(part)
    for rows in row_blocks(part.y.shape[0], columns.size + candidates.size + 1):
        X = part.X[rows]
        whole, Z = columns.at(X), candidates.at(X)
        for sums, point in zip(found, points, strict=True):
            y, Phi = encoding.targets(part.y[rows], point.output), _some(whole, point.index)
            f = Phi @ point.w + point.b
            _, slope, curvature = point.likelihood.evaluate(y, f)
            push, r = weight[rows] * slope, weight[rows] * curvature
            ones = np.column_stack([np.ones(r.size), Phi])
            weighted = r[:, None] * ones
            sums[0] += push @ Z
            sums[1] += weighted.T @ Z
            sums[2] += r @ Z**2
            sums[3] += weighted.T @ ones
    return found
