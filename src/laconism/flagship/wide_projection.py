"""Projections onto features that outnumber the rows, and their cross-validated latents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from .._protocols import Array, Design, Index
from ..judging.folds import tenths
from ..judging.left_out import cross_validated
from ..linalg import Factor, ridge
from ..posterior import GaussianPosterior
from ..solvers import Problem
from .projection import ShrinkagePenalty
from .reference import Reference
from .reference_features import FeatureMap
from .wide import shrinkage

# Growth factor of a set in one step; correlated features should not all be added at once.
_GROWTH_FACTOR = 1.5


def shrinkage_penalty(
    reference: Reference, problem: Problem, r: Array, n_features: int, *, labels: bool
) -> tuple[ShrinkagePenalty | None, float]:
    """Return the penalty for the loss at new rows, and the shrinkage, its fraction of the total loss.

    Dense references with more features than rows have a penalty. So have sparse references of labels,
    which may have nearly as many features as rows.

    Parameters
    ----------
    reference : Reference
    problem : Problem
        The problem on its features.
    r : ndarray of shape (n,)
        Precision of the latent at each row.
    n_features : int
        Number of all features.
    labels : bool
        Whether the targets are labels.
    """
    features = reference.feature_map
    if not isinstance(features, FeatureMap):
        return None, 0.0
    sparse_labels = features.source is not None and labels
    if features.rotation is None and not sparse_labels:
        return None, 0.0
    total = float(problem.weight.sum())
    # A rotation keeps the lengths and products of the standardised rows.
    Z = problem.design.matvec(np.eye(problem.design.shape[1]))
    fraction = shrinkage(Z, problem.weight / total, total)
    scale, rotation = features.over_all_features(n_features)
    unit = np.where(scale > 0, 1 / np.where(scale > 0, scale, 1.0), 0.0)
    precision = fraction * float(r.sum()) * unit**2
    return ShrinkagePenalty(precision, rotation @ reference.posterior.mean, rotation), fraction


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
        for size in sizes:
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

        Parameters
        ----------
        index, w : ndarrays
            The columns, and the mean of their weights.
        posterior, dense : GaussianPosterior, Design
            Posterior and design of the dense model.
        r : ndarray of shape (n,)
            Precision at each row.
        wanted : float
            Variance of the latent at a new row; what the weights lack of it is added to the intercept.
        """
        T, p, centre = self.T[:, index], self.penalty.precision[index], self.centre[index]
        cross = dense.rmatvec(np.sqrt(r)[:, None] * T) + self.penalty.rotation[index].T * p
        root = self._divide(posterior.root_dot(cross), T, index)
        # The covariance of new rows is the shrunk one.
        new = float(((T @ root.T) ** 2).sum() + p @ (root**2).sum(axis=0)) / self.total
        b, known = self.level - float(centre @ w), float(min(index.size, r.size))
        return GaussianPosterior(w, b, centre, max(wanted - new, 0.0), root, None, known)


def left_out_by_size(
    reference: Reference,
    problem: Problem,
    design: Design,
    r: Array,
    penalty: ShrinkagePenalty,
    part: float,
    sizes: Sequence[int],
) -> Array:
    r"""Return the cross-validated latents of the models of these sizes, one row for each size.

    The features too are chosen without the rows of a fold. Each row has the Gaussian likelihood that
    leave-one-out removes, :math:`r_i = 1/v_i - 1/v_{-i}`, so that labels need no new moment matching.

    Parameters
    ----------
    reference : Reference
        A dense reference.
    problem : Problem
        The problem on its features.
    design : Design
        All features.
    r : ndarray of shape (n,)
        Precision of the latent at each row in the projection.
    penalty, part : ShrinkagePenalty, float
        The penalty for the loss at new rows, and its fraction of the total loss.
    sizes : sequence of int
        Numbers of features.
    """
    times = 1.0 if problem.leave_whole_rows else np.maximum(problem.weight, 1.0)
    own = 1 / reference.v - 1 / reference.left_out_v
    z = (reference.m / reference.v - reference.left_out_m / reference.left_out_v) / own
    variance = np.full(problem.design.shape[1], reference.weight_variance)
    free = problem.intercept
    Z = problem.design.matvec(np.eye(variance.size))

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

    return cross_validated(tenths(Z, problem.y), z.size, predict_without, (len(sizes),))
