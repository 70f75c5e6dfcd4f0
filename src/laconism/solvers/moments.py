"""Many rows of a least-squares problem, summarised by sums and rotated into few rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._protocols import Array, Index
from ..design import DenseDesign
from ..likelihoods import Likelihood
from ..linalg import Triangle, symmetric_eigen
from ..priors import Prior
from .problem import Problem


@dataclass(frozen=True)
class Moments:
    r"""The sums :math:`[1, \Phi, z]^TR[1, \Phi, z]` over rows with precisions :math:`R`.

    They determine every least-squares problem on the columns. Sums over parts of the rows add up.
    """

    matrix: Array  # the constant first, the target last

    @property
    def total(self) -> float:
        """The sum of the precisions."""
        return float(self.matrix[0, 0])

    def keep(self, columns: Index) -> Moments:
        """Return the sums of these columns only."""
        index = np.concatenate([[0], columns + 1, [self.matrix.shape[0] - 1]])
        return Moments(self.matrix[np.ix_(index, index)])

    def problem(
        self, likelihood: Likelihood, prior: Prior, *, intercept: bool, kernels: bool = False
    ) -> Problem:
        """Return an equivalent problem with two rows more than columns."""
        h = self.matrix.shape[0]
        rows = np.sqrt(h / self.total) * constant_first(self._root())
        design = DenseDesign(np.ascontiguousarray(rows[:, 1:-1]))
        weight = np.full(h, self.total / h)
        return Problem(design, rows[:, -1].copy(), likelihood, prior, weight, intercept, kernels)

    def _root(self) -> Array:
        """Return a root, columns of unit length whatever their units."""
        length = np.sqrt(np.maximum(self.matrix.diagonal(), np.finfo(float).tiny))
        scaled = self.matrix / length[:, None] / length
        root = Triangle.exact(scaled)
        if root is not None:
            return np.asarray(root.lower.T * length)
        values, vectors = symmetric_eigen(scaled)
        return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * length)


def constant_first(root: Array) -> Array:
    """Return the rows of a root, reflected so that the first column is constant and positive."""
    h, first = root.shape[0], root[:, 0]
    sign = -1.0 if first.sum() > 0 else 1.0
    normal = first - sign * np.linalg.norm(first) / np.sqrt(h)
    normal = normal * (np.sqrt(2) / np.linalg.norm(normal))
    return np.asarray(sign * (root - np.outer(normal, normal @ root)))
