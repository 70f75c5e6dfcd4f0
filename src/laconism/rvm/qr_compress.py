"""Many rows of a regression, rotated into few with the same likelihood."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._protocols import Array
from ..design import DenseDesign
from ..likelihoods import Gaussian
from ..linalg import Triangle, thin_qr
from ..solvers import Problem
from ..solvers.moments import constant_first

# Columns, with constant and target, up to which the Gram matrix is formed as a whole.
_MAX_GRAM_COLUMNS = 2_000


def qr_compress(problem: Problem) -> Problem:
    r"""Return an equivalent problem of as few rows as its columns need, or the problem itself.

    Rows of :math:`W^{1/2}[1, \Phi, y]` are rotated into the :math:`h = p + 2` directions that they span,
    and these so that the first column is constant again: new rows of weight :math:`\sum_i w_i / h` with
    the same intercept, noise and evidence.
    """
    design, n = problem.design, problem.y.size
    if not isinstance(problem.likelihood, Gaussian) or not isinstance(design, DenseDesign):
        return problem
    h = design.shape[1] + 2
    if h > min(n, _MAX_GRAM_COLUMNS):
        return problem
    gram = design.gram(problem.weight)
    # Targets of a small range, which squares would lose in rounding, stay as they are.
    if n < 2 * h or np.ptp(problem.y) <= 1e-6 * np.abs(problem.y).max():
        return problem
    triangle = _triangle(problem, gram)
    total = float(problem.weight.sum())
    rows = constant_first(triangle) * np.sqrt(h / total)
    weight = np.full(h, total / h)
    few = DenseDesign.knowing(np.ascontiguousarray(rows[:, 1:-1]), weight, gram)
    return replace(problem, design=few, y=rows[:, -1].copy(), weight=weight)


def _triangle(problem: Problem, gram: Array) -> Array:
    """Return the upper triangle ``L'`` with ``L L' = [1, Phi, y]' W [1, Phi, y]``."""
    design, y, weight = problem.design, problem.y, problem.weight
    ends = np.column_stack([np.ones(y.size), y])
    sides, corners = design.rmatvec(weight[:, None] * ends), ends.T @ (weight[:, None] * ends)
    whole = np.empty((gram.shape[0] + 2,) * 2)
    whole[1:-1, 1:-1] = gram
    for k, place in enumerate((0, -1)):
        whole[place, 1:-1] = whole[1:-1, place] = sides[:, k]
        whole[place, [0, -1]] = corners[k]
    # Columns of unit length, whatever their units.
    length = np.sqrt(np.maximum(whole.diagonal(), np.finfo(float).tiny))
    root = Triangle.exact(whole / length[:, None] / length)
    if root is not None:
        return np.asarray(root.lower.T * length)
    rows = np.column_stack([ends[:, 0], design.matvec(np.eye(design.shape[1])), y])
    return thin_qr(np.sqrt(weight)[:, None] * rows)[1]
