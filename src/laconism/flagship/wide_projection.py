"""Projections onto features that outnumber the rows, and their cross-validated latents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from .._protocols import Array, Design, Index
from ..judging.ablate import is_on
from ..judging.folds import N_FOLDS, balanced_folds, cross_validated
from ..linalg import Factor, ridge
from ..posterior import GaussianPosterior
from ..solvers import Problem
from .projection import ShrinkagePenalty
from .reference_features import FeatureMap
from .wide import shrinkage

if TYPE_CHECKING:
    from .reference import Reference
    from .references import FittedReferences
    from .tasks import ProjectionTask

# Growth factor of a set in one step; correlated features should not all be added at once.
_GROWTH_FACTOR = 2


# The least precision of a row, as a fraction of the largest.
_MIN_PRECISION_FRACTION = 1e-10


@dataclass(frozen=True)
class LossWeights:
    """What the loss of a projection weighs: the precision of each output's latent at each row.

    On features there is also a penalty for the loss at new rows, which have the fraction ``part`` of the
    total precision.
    """

    precisions: Sequence[Array]
    penalty: ShrinkagePenalty | None = None
    part: float = 0.0

    @classmethod
    def of(
        cls, task: ProjectionTask, references: Sequence[Reference], dense: Problem, n_columns: int
    ) -> Self:
        """Return the weights for references that share their columns, whose problem is ``dense``."""
        share = dense.weight / dense.weight.sum()
        precisions = [dense.weight * task.row_precision(each, share) for each in references]
        tiny = float(np.sqrt(np.finfo(float).tiny))  # where all rows are certain of their labels
        precisions = [
            np.asarray(np.maximum(r, max(_MIN_PRECISION_FRACTION * r.max(initial=0.0), tiny)))
            for r in precisions
        ]
        features = references[0].feature_map
        if not isinstance(features, FeatureMap):
            return cls(precisions)
        # A rotation keeps the lengths and products of the standardised rows.
        Z = dense.design.matvec(np.eye(dense.design.shape[1]))
        part = shrinkage(Z, share, float(dense.weight.sum())) if is_on("shrinkage_penalty") else 0.0
        part = max(part, _MIN_PRECISION_FRACTION)
        scale, rotation = features.over_all_features(n_columns)
        unit = np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 0.0)
        precision = part * float(precisions[0].sum()) * unit**2
        weights = rotation @ references[0].posterior.mean
        return cls(precisions, ShrinkagePenalty(precision, weights, rotation), part)

    @property
    def seen(self) -> list[Array]:
        """The precisions of the training rows, without the fraction of new rows."""
        return [(1 - self.part) * r for r in self.precisions]


@dataclass(frozen=True)
class WideProjection:
    r"""A dense model with more columns than rows, prepared for projections onto any of them.

    If weights :math:`w` replace the weights :math:`u` of the dense model, the loss is
    :math:`\tfrac12(u - w)^T(T^TT + P)(u - w)`, with the weighted and centred training rows :math:`T` and
    the penalty :math:`P` at new rows (:class:`~laconism.flagship.projection.ShrinkagePenalty`). It uses
    products of rows; :class:`~laconism.flagship.projection.Projection` uses products of columns.
    """

    T: Array
    t: Array  # its latent at the rows, weighted and centred
    centre: Array
    level: float  # the latent where the columns are at their centre
    penalty: ShrinkagePenalty
    total: float  # precision of training rows and new rows together

    @classmethod
    def of(
        cls,
        design: Design,
        precision: Array,
        m: Array,
        penalty: ShrinkagePenalty,
        part: float,
        *,
        intercept: bool,
    ) -> Self:
        """Return the model for columns, given precision and mean of the latent at each row.

        New rows have the fraction ``part`` of the total precision.
        """
        r = (1 - part) * precision
        T, t, half, _ = design.compress(r, m)
        centre, level = np.zeros(T.shape[1]), 0.0
        if intercept:
            centre, level = half @ T / float(r.sum()), float(half @ t / r.sum())
            T, t = T - np.outer(half, centre), t - level * half
        return cls(T, t, centre, level, penalty, float(precision.sum()))

    @property
    def varying(self) -> int:
        """The number of columns that are not constant."""
        return int(np.count_nonzero(self.penalty.precision))

    def _divide(self, A: Array, T: Array, index: Index) -> Array:
        r"""Return ``A (T'T + P)^-1`` for some of the columns, through those or through the rows.

        With :math:`B = TP^{-1/2}` it is :math:`P^{-1/2}(I + B^TB)^{-1}P^{-1/2}`, and
        :math:`(I + B^TB)^{-1} = I - B^T(I + BB^T)^{-1}B`.
        """
        unit = 1 / np.sqrt(self.penalty.precision[index])
        A, B = A * unit, T * unit
        if index.size <= B.shape[0]:
            return np.asarray(Factor(np.eye(index.size) + B.T @ B).solve(A.T).T * unit)
        solved = Factor(np.eye(B.shape[0]) + B @ B.T).solve(B @ A.T)
        return np.asarray((A - solved.T @ B) * unit)

    def _project(self, index: Index) -> tuple[Array, Array]:
        """Return the best weights on some columns, and the residual at the rows."""
        if index.size == self.varying:
            return self.penalty.weights[index], np.zeros_like(self.t)
        u, T = self.penalty.weights[index], self.T[:, index]
        rest = self.t - T @ u
        more = self._divide((rest @ T)[None, :], T, index)[0]
        return u + more, rest - T @ more

    def grow(self, index: Index, sizes: Sequence[int]) -> Iterator[tuple[Index, Array]]:
        """Yield sets of these sizes and their weights, each grown from the one before.

        The columns that are added are those with the largest individual gains.
        """
        p, u = self.penalty.precision, self.penalty.weights
        square, constant = np.einsum("ij,ij->j", self.T, self.T) + p, p == 0
        square[constant] = 1.0
        w, rest = self._project(index)
        for wanted in sizes:
            size = min(wanted, self.varying)
            while index.size < size:
                gain = (rest @ self.T + p * u) ** 2 / square
                gain[index], gain[constant] = -1.0, -1.0
                more = min(size, max(index.size + 1, int(_GROWTH_FACTOR * index.size))) - index.size
                index = np.append(index, np.argpartition(-gain, more - 1)[:more])
                w, rest = self._project(index)
            yield index, w

    def onto(
        self,
        index: Index,
        w: Array,
        posterior: GaussianPosterior,
        dense: Design,
        r: Array,
        wanted: float,
    ) -> GaussianPosterior:
        """Return the posterior of the weights on some columns, given their mean.

        ``w`` is the mean of the weights on the columns ``index``, ``posterior`` and ``dense`` are those
        of the dense model, and ``r`` is the precision at each row. What the weights lack of ``wanted``,
        the variance of the latent at a new row, is added to the intercept.
        """
        T, p, centre = self.T[:, index], self.penalty.precision[index], self.centre[index]
        cross = dense.rmatvec(np.sqrt(r)[:, None] * T) + self.penalty.rotation[index].T * p
        root = self._divide(posterior.root_dot(cross), T, index)
        # The covariance of new rows is the shrunk one.
        new = float(((T @ root.T) ** 2).sum() + p @ (root**2).sum(axis=0)) / self.total
        b, known = self.level - float(centre @ w), float(min(index.size, r.size))
        return GaussianPosterior(w, b, centre, max(wanted - new, 0.0), root, None, known)


def left_out_by_size(
    reference: Reference, problem: Problem, fitted: FittedReferences, sizes: Sequence[int]
) -> Array:
    r"""Return the cross-validated means of the latent of one output, one row for each size.

    The features too are chosen without the rows of a fold. Each row has the Gaussian likelihood that
    leave-one-out removes, :math:`r_i = 1/v_i - 1/v_{-i}`, so that labels need no new approximation.
    """
    design, rows = fitted.built.design, fitted.rows
    loss = LossWeights.of(rows.task, [reference], problem, design.shape[1])
    penalty, part, r = loss.penalty, loss.part, loss.precisions[0]
    assert penalty is not None
    times = 1.0 if problem.leave_whole_rows else np.maximum(problem.weight, 1.0)
    own = 1 / reference.v - 1 / reference.left_out_v
    z = (reference.m / reference.v - reference.left_out_m / reference.left_out_v) / own
    variance = np.full(problem.design.shape[1], reference.weight_variance)
    free = problem.intercept

    def predict_without(stay: Index, out: Index) -> Array:
        seen = problem.rows(stay).design
        without = ridge(seen, (own * times)[stay], z[stay], variance, intercept=free)
        share = float(r[stay].sum() / r.sum())
        there = ShrinkagePenalty(
            share * penalty.precision, penalty.rotation @ without.weights, penalty.rotation[:, :0]
        )
        m = seen.matvec(without.weights) + without.intercept
        wide = WideProjection.of(design.rows(stay), r[stay], m, there, part, intercept=free)
        W, b = np.zeros((there.weights.size, len(sizes))), np.full(len(sizes), wide.level)
        for k, (index, w) in enumerate(wide.grow(np.arange(0), sizes)):
            W[index, k] = w
            b[k] -= float(wide.centre[index] @ w)
        return np.asarray(design.rows(out).matvec(W).T + b[:, None])

    folds = balanced_folds(rows.X, problem.y, N_FOLDS)
    return cross_validated(folds, z.size, predict_without, (len(sizes),))
