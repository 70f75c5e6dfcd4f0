"""The projection of a dense model onto few columns: which ones, and the posterior of their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dger

from .._protocols import Array, Design, Index
from ..linalg import Factor, Triangle, steadied, thin_qr, upper_root
from ..posterior import GaussianPosterior

# A column is in the span of the chosen ones if less than this fraction of its square is outside. It is
# added to a Gram matrix, relative to its diagonal, so that nearly equal columns share their weight.
ROUNDING = 1e-13
# The same if only products of columns are known, which have half the digits.
_SPAN_TOLERANCE_OF_PRODUCTS = 1e-9
# Gains that differ by less than this fraction are ties up to rounding.
_TIE_FRACTION = 1e-6
# Of more columns the inverse of a Gram matrix is downdated this many times before it is computed anew.
_MAX_EXACT_COLUMNS = 100
_DOWNDATES = 16
# A problem is reduced to its products if it has more than this many rows per column, ...
_TALL_ROWS_PER_COLUMN = 4
# ... and this many more.
_TALL_EXTRA_ROWS = 2000


class Penalty(Protocol):
    """A loss of a projection beside that at the training rows."""

    def on_columns(self, index: Index) -> Self:
        """Return the penalty on some of the columns."""

    def added_to(self, gram: Array, slope: Array, cross: Array) -> tuple[Array, Array, Array]:
        """Return the normal equations of a projection with the penalty."""


@dataclass(frozen=True)
class ShrinkagePenalty:
    r"""The loss of a projection at new rows, where the covariance of columns is shrunk to its diagonal.

    If columns outnumber rows, a few of them can fit any latent at the training rows. So the covariance
    of the columns at new rows is estimated by shrinking that of the training rows towards its diagonal.
    This adds :math:`\tfrac12\sum_j p_j(u_j - w_j)^2` to the loss, with the weight :math:`u_j` of the
    dense model on column :math:`j`.
    """

    precision: Array  # p
    weights: Array  # u
    rotation: Array  # u is this times the weights on the features of the dense model

    def on_columns(self, index: Index) -> Self:
        """Return the penalty on some of the columns."""
        return type(self)(self.precision[index], self.weights[index], self.rotation[index])

    def added_to(self, gram: Array, slope: Array, cross: Array) -> tuple[Array, Array, Array]:
        """Return the normal equations of a projection with the penalty."""
        p = self.precision
        return gram + np.diag(p), slope + p * self.weights, cross + self.rotation.T * p

    def loss(self, index: Index, w: Array) -> float:
        """Return the loss of a model with these weights on some of the columns."""
        missing = self.weights.copy()
        missing[index] -= w
        return 0.5 * float(self.precision @ missing**2)


def choose_columns(
    design: Design,
    r: Array,
    z: Array,
    *,
    intercept: bool,
    max_columns: int,
    enough: float,
    min_columns: int = 0,
    penalty: ShrinkagePenalty | None = None,
) -> list[Index]:
    r"""Return, for every size, columns that explain a target nearly as well as all columns.

    The target :math:`z` has the precision :math:`r`, so the loss of a set of columns,
    :math:`\tfrac12\min_w\sum r_i(z_i - b - \phi_i^Tw)^2`, is in nats: to second order the
    Kullback-Leibler divergence between the model with the latent :math:`z` and the best one on the set.
    Columns are added by forward selection, more than will be needed, and then removed by backward
    elimination. For every size the better of the two sets is taken.

    Both work on the compressed problem, whose number of rows is the rank of the design. The losses of
    several targets are summed.

    ``z`` has one column for each of several targets that share their columns. At most ``max_columns``
    are added, at least ``min_columns``, and none once the loss is below ``enough`` nats. ``penalty`` is
    the loss at new rows. Returned are the columns of the models with 0, 1, 2, ... columns.
    """
    T, t, in_span = _compressed(design, r, z.reshape(r.size, -1), intercept)
    p: Array = np.zeros(T.shape[1])
    u: Array = p[:, None]
    if penalty is not None:
        p, u = penalty.precision, penalty.weights[:, None]
    return choose_compressed(T, t, p, u, in_span, max_columns, enough, min_columns)


def choose_compressed(
    T: Array, t: Array, p: Array, u: Array, in_span: float, most: int, enough: float, least: int
) -> list[Index]:
    """Return the columns of every size for a compressed problem."""
    chosen, up = _forward(T, t, p, u, min(most, T.shape[1]), enough, least, in_span)
    half = np.sqrt(p[chosen, None])
    Q, root = thin_qr(np.vstack([T[:, chosen], np.diag(half[:, 0])]))
    targets = np.vstack([t, np.broadcast_to(half * u[chosen], (chosen.size, t.shape[1]))])
    sets, down = _backward(root, Q.T @ targets, up[0], chosen)
    return [chosen[:k] if up[k] <= down[k] else sets[k] for k in range(chosen.size + 1)]


def _compressed(design: Design, r: Array, z: Array, intercept: bool) -> tuple[Array, Array, float]:
    """Return columns and targets orthogonal to a free intercept, compressed, and the span tolerance.

    A tall problem is reduced to its products. Their triangular root has half the digits, which is enough
    to choose columns.
    """
    n, p = design.shape
    if min(n, design.height) <= _TALL_ROWS_PER_COLUMN * p + _TALL_EXTRA_ROWS:
        T, t, one, _ = design.compress(r, z)
        if intercept:
            total = float(one @ one)
            T, t = T - np.outer(one, (one @ T) / total), t - np.outer(one, (one @ t) / total)
        return T, t, ROUNDING
    total = float(r.sum())
    z = z - r @ z / total if intercept else z
    gram, slope = design.gram(r), design.rmatvec((r * z.T).T)
    if intercept:
        centre = design.rmatvec(r)
        gram = gram - np.outer(centre, centre) / total
    root = Triangle.of(gram)
    t = root.solve(slope)
    unexplained = np.sqrt(np.maximum(r @ z**2 - (t**2).sum(axis=0), 0.0))
    T = np.vstack([root.lower.T, np.zeros((z.shape[1], p))])
    return T, np.vstack([t, np.diag(unexplained)]), _SPAN_TOLERANCE_OF_PRODUCTS


def _forward(
    T: Array, t: Array, p: Array, u: Array, most: int, enough: float, least: int, in_span: float
) -> tuple[Index, list[float]]:
    """Return columns in the order of forward selection, and the loss after each.

    A penalty adds a row for each column, with the square root of ``p`` in that column and the same times
    ``u`` as its target. The row is needed only once its column is chosen.
    """
    rows = T.shape[0]
    whole = np.einsum("ij,ij->j", T, T) + p
    left, slope = whole.copy(), T.T @ t + p[:, None] * u
    owned = 0.5 * float((p @ u**2).sum())  # the loss of the penalty rows of columns that are not chosen
    more = most if p.any() else 0
    residual = np.vstack([t, np.zeros((more, t.shape[1]))])
    chosen: list[int] = []
    lost = [0.5 * float((residual**2).sum()) + owned]
    most = most if more else min(most, rows)
    directions = np.empty((most, rows + more))
    while len(chosen) < most and (lost[-1] > enough or len(chosen) < least):
        fits = left > in_span * whole
        gain = np.where(fits, (slope**2).sum(axis=1) / np.where(fits, left, 1.0), 0.0)
        if not gain.any():
            break
        # Any of the last columns completes the span: of ties, the one farthest from the span is taken.
        # The gain of a column near the span has few digits.
        doubt = _TIE_FRACTION + np.where(fits, ROUNDING * whole / np.where(fits, left, 1.0), 0.0)
        ties = fits & ((1 + doubt) * gain >= ((1 - doubt) * gain).max())
        best = int(np.argmax(np.where(ties, left, -1.0)))
        column = np.append(T[:, best], np.zeros(more))
        if more:
            own = rows + len(chosen)
            column[own] = np.sqrt(p[best])
            residual[own] = column[own] * u[best]
            owned -= 0.5 * float((residual[own] ** 2).sum())
        basis = directions[: len(chosen)]
        direction = column - (basis @ column) @ basis
        direction = direction - (basis @ direction) @ basis  # Gram-Schmidt needs a second pass
        direction = direction / np.linalg.norm(direction)
        directions[len(chosen)] = direction
        shared, part = direction[:rows] @ T, direction @ residual
        left, slope = left - shared**2, slope - np.outer(shared, part)
        residual = residual - np.outer(direction, part)
        chosen.append(best)
        left[chosen] = 0.0
        lost.append(0.5 * float((residual**2).sum()) + max(owned, 0.0))
    return np.array(chosen, dtype=np.intp), lost


def _backward(root: Array, t: Array, whole: float, chosen: Index) -> tuple[list[Index], list[float]]:
    """Return the sets of backward elimination, and the loss of each.

    Columns and targets are given in as many coordinates as there are columns. Their products would have
    half the digits, too few for nearly equal columns. The inverse of the products is downdated when a
    column is removed, and computed anew from time to time, since rounding errors add up.
    """
    inside = chosen
    path: list[Index] = []
    lost: list[float] = []
    while inside.size:
        Q, root = thin_qr(root)
        half = solve_triangular(root, np.eye(inside.size), check_finite=False)
        t = Q.T @ t
        inverse, weights, slope = np.asfortranarray(half @ half.T), half @ t, root.T @ t
        alive = np.ones(inside.size, dtype=bool)
        for step in range(1 if inside.size <= _MAX_EXACT_COLUMNS else _DOWNDATES):
            if step and np.diag(inverse).min() <= 0:
                break  # rounding; it is computed anew
            path.append(inside[alive])
            lost.append(whole - 0.5 * float((weights * slope).sum()))
            missed = np.where(alive, (weights**2).sum(axis=1), np.inf) / np.diag(inverse)
            # Of ties up to rounding the last is removed, so that rounding does not decide.
            out = int(np.flatnonzero(missed <= (1 + _TIE_FRACTION) * missed.min())[-1])
            column = inverse[:, out].copy()
            inverse = dger(-1 / column[out], column, column, a=inverse, overwrite_a=1)
            inverse[out, out] = 1.0  # the rest of its row and column is zero
            alive[out], slope[out] = False, 0.0
            weights = inverse @ slope
        inside, root = inside[alive], root[:, alive]
    return [*path, inside][::-1], [*lost, whole][::-1]


@dataclass(frozen=True)
class Projection:
    r"""The posterior of a dense model, prepared for projections onto subsets of some columns.

    The latent of the dense model, :math:`f = Zu` with :math:`u \sim \mathcal N(\bar u, S)`, is projected
    linearly, :math:`w = (\Phi^TR\Phi)^{-1}\Phi^TRf`, and with it its mean and its covariance. For any
    set of columns this needs :math:`\Phi^TR\Phi`, :math:`\Phi^TR\bar f` and :math:`\Phi^TRZSZ^TR\Phi`.
    """

    gram: Array
    slope: Array
    root: Array  # H with H'H the last of them
    centre: Array
    level: float
    spread: float

    @classmethod
    def of(
        cls,
        Phi: Array,
        r: Array,
        m: Array,
        dense: Design,
        posterior: GaussianPosterior,
        *,
        intercept: bool,
        penalty: Penalty | None = None,
    ) -> Self:
        """Return the projection onto subsets of these columns.

        ``r`` and ``m`` are precision and mean of the latent at each row, ``dense`` and ``posterior``
        columns and weights of the dense model, ``penalty`` the loss at new rows on these columns.
        """
        total = float(r.sum())
        centre, level, spread = np.zeros(Phi.shape[1]), 0.0, posterior.spread
        if intercept:
            centre, level = r @ Phi / total, float(r @ m) / total
            away = dense.rmatvec(r) / total - posterior.centre
            spread += float(away @ posterior.covariance_dot(away[:, None])[:, 0])
        weighted = r[:, None] * (Phi - centre)
        gram: Array = weighted.T @ (Phi - centre)
        slope: Array = weighted.T @ (m - level)
        cross = dense.rmatvec(weighted)
        if penalty is not None:
            gram, slope, cross = penalty.added_to(gram, slope, cross)
        return cls(gram, slope, upper_root(posterior.root_dot(cross)), centre, level, spread)

    def weights(self, index: Index) -> tuple[Array, float]:
        """Return the mean of the weights on a subset of the columns, and that of the intercept."""
        unit, factor = self._factor(index)
        return self._mean(index, unit, factor)

    def onto(self, index: Index) -> GaussianPosterior:
        """Return the posterior of the weights on a subset of the columns."""
        unit, factor = self._factor(index)
        w, b = self._mean(index, unit, factor)
        # Weights of nearly equal columns cancel, so the root of their covariance is kept.
        half = unit[:, None] * factor.solve(unit[:, None] * self.root[:, index].T)
        root = np.zeros((index.size, index.size))
        root[: half.shape[1]] = upper_root(half.T)
        return GaussianPosterior(w, b, self.centre[index], self.spread, root, None, float(index.size))

    def _factor(self, index: Index) -> tuple[Array, Factor]:
        return steadied(self.gram[np.ix_(index, index)], ROUNDING)

    def _mean(self, index: Index, unit: Array, factor: Factor) -> tuple[Array, float]:
        w = unit * factor.solve(unit * self.slope[index])
        return w, self.level - float(self.centre[index] @ w)
