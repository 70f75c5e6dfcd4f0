"""Features that outnumber rows: projections onto many of them, and what rows left out say of those."""

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

# By how much a set grows at a time: of features that are alike not all are taken at once.
_GROWTH = 1.5


@dataclass(frozen=True)
class WideProjection:
    r"""A dense model of more columns than rows, ready to be projected onto any number of them.

    With other weights :math:`w` than its own, :math:`u`, it misses
    :math:`\tfrac12(u - w)^T(T^TT + P)(u - w)`: at its rows :math:`T`, weighted and centred, and at those
    that are not there (:class:`~laconism.flagship.projection.Elsewhere`). What :class:`Projection` does with the
    products of few columns is done here with those of few rows.
    """

    T: Array
    t: Array  # its latent at the rows, weighted and centred likewise
    centre: Array
    level: float  # and where the columns are at their centre
    elsewhere: ShrinkagePenalty
    total: float  # precision of rows that are there, and of others

    @classmethod
    def of(
        cls,
        design: Design,
        precision: Array,
        m: Array,
        elsewhere: ShrinkagePenalty,
        part: float,
        *,
        intercept: bool,
    ) -> Self:
        """Return it for columns that count with a precision at each row, where the latent is this.

        Rows that are not there count for a part of it.
        """
        r = (1 - part) * precision
        T, t, half, _ = design.compress(r, m)
        centre, level = np.zeros(T.shape[1]), 0.0
        if intercept:
            centre, level = half @ T / float(r.sum()), float(half @ t / r.sum())
            T, t = T - np.outer(half, centre), t - level * half
        return cls(T, t, centre, level, elsewhere, float(precision.sum()))

    @property
    def varying(self) -> int:
        """How many columns there are, but for constant ones."""
        return int(np.count_nonzero(self.elsewhere.precision))

    def _divide(self, A: Array, T: Array, index: Index) -> Array:
        r"""Return ``A (T'T + P)^-1`` for some of the columns, through those or through the rows.

        With :math:`B = TP^{-1/2}` it is :math:`P^{-1/2}(I + B^TB)^{-1}P^{-1/2}`, and
        :math:`(I + B^TB)^{-1} = I - B^T(I + BB^T)^{-1}B`.
        """
        unit = 1 / np.sqrt(self.elsewhere.precision[index])
        A, B = A * unit, T * unit
        if index.size <= B.shape[0]:
            return np.asarray(Factor(np.eye(index.size) + B.T @ B).solve(A.T).T * unit)
        solved = Factor(np.eye(B.shape[0]) + B @ B.T).solve(B @ A.T)
        return np.asarray((A - solved.T @ B) * unit)

    def _project(self, index: Index) -> tuple[Array, Array]:
        """Return the weights on some columns with which least is missed, and what is at the rows."""
        u, T = self.elsewhere.weights[index], self.T[:, index]
        rest = self.t - T @ u
        more = self._divide((rest @ T)[None, :], T, index)[0]
        return u + more, rest - T @ more

    def grow(self, index: Index, sizes: Sequence[int]) -> Iterator[tuple[Index, Array]]:
        """Yield sets of these sizes and their weights, each from the one before.

        It takes in the columns that promise most by themselves.
        """
        p, u = self.elsewhere.precision, self.elsewhere.weights
        whole, out = np.einsum("ij,ij->j", self.T, self.T) + p, p == 0  # constant columns stay out
        whole[out] = 1.0
        w, rest = self._project(index)
        for size in sizes:
            while index.size < size:
                gain = (rest @ self.T + p * u) ** 2 / whole
                gain[index], gain[out] = -1.0, -1.0
                more = min(size, max(index.size + 1, int(_GROWTH * index.size))) - index.size
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
        """Return the posterior of the weights on some columns, whose mean is known.

        Parameters
        ----------
        index, w : ndarrays
        posterior, dense : GaussianPosterior, Design
            Of the dense model, in its coordinates.
        r : ndarray of shape (n,)
            The precisions at its rows.
        wanted : float
            Variance of the latent at a new row: what the weights do not have of it is the intercept's.
        """
        T, p, centre = self.T[:, index], self.elsewhere.precision[index], self.centre[index]
        asked = dense.rmatvec(np.sqrt(r)[:, None] * T) + self.elsewhere.turn[index].T * p
        root = self._divide(posterior.root_dot(asked), T, index)
        # New rows have the covariance that projections are made under.
        new = float(((T @ root.T) ** 2).sum() + p @ (root**2).sum(axis=0)) / self.total
        b, known = self.level - float(centre @ w), float(min(index.size, r.size))
        return GaussianPosterior(w, b, centre, max(wanted - new, 0.0), root, None, known)


def left_out_by_size(
    reference: Reference,
    problem: Problem,
    design: Design,
    r: Array,
    elsewhere: ShrinkagePenalty,
    part: float,
    sizes: Sequence[int],
) -> Array:
    r"""Return the latents of rows left out under the models of these sizes, one row of them for each.

    A tenth of the rows at a time, the features are chosen without them too: those that were chosen with
    them know them. Their own Gaussians are what a row's latent has and does not have without it,
    :math:`r_i = 1/v_i - 1/v_{-i}`, so no labels are matched again.

    Parameters
    ----------
    reference : Reference
        A dense one.
    problem : Problem
        In its coordinates.
    design : Design
        All features.
    r : ndarray of shape (n,)
        Precision with which the latent counts at each row when it is projected.
    elsewhere, part : Elsewhere, float
        What the unseen rows ask of the features, and the part that they count.
    sizes : sequence of int
    """
    times = 1.0 if problem.leave_whole_rows else np.maximum(problem.weight, 1.0)
    own = 1 / reference.v - 1 / reference.left_v
    z = (reference.m / reference.v - reference.left_m / reference.left_v) / own
    variance = np.full(problem.design.shape[1], reference.unseen)
    free = problem.intercept
    Z = problem.design.matvec(np.eye(variance.size))

    def predict_without(stay: Index, out: Index) -> Array:
        seen = problem.rows(stay).design
        without = ridge(seen, (own * times)[stay], z[stay], variance, intercept=free)
        share = float(r[stay].sum() / r.sum())
        there = ShrinkagePenalty(
            share * elsewhere.precision, elsewhere.turn @ without.weights, elsewhere.turn[:, :0]
        )
        m = seen.matvec(without.weights) + without.intercept
        crowd = WideProjection.of(design.rows(stay), r[stay], m, there, part, intercept=free)
        W, b = np.zeros((there.weights.size, len(sizes))), np.full(len(sizes), crowd.level)
        for k, (index, w) in enumerate(crowd.grow(np.arange(0), sizes)):
            W[index, k] = w
            b[k] -= float(crowd.centre[index] @ w)
        return np.asarray(design.rows(out).matvec(W).T + b[:, None])

    return cross_validated(tenths(Z, problem.y), z.size, predict_without, (len(sizes),))
