"""The sparse model closest to a dense one, in nats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from .._protocols import Array, Design, Index
from ..linalg import Triangle, steadied, upper_root
from ..posterior import GaussianPosterior

# A column whose square, but for what the chosen ones explain, is below this part of it is one of them:
# the rest is rounding, of products more. The less noise there is, the smaller the parts that matter.
_IN_SPAN, _IN_SPAN_OF_PRODUCTS = 1e-13, 1e-9
# Gains that differ by less than this part are the same, but for rounding.
_TIE = 1e-6
# Raised by this part of itself the Gram matrix of columns that nearly repeat each other can be inverted.
_JITTER = 1e-13
# With so many rows for each column, and so many more, a problem is worth being made smaller first.
_TALL, _FEW_ROWS = 4, 2000
# Prior precision of a projected weight, as a part of what the rows say of it: next to nothing, but two
# columns that repeat each other then share what they have.
_STEADY = 1e-13


@dataclass(frozen=True)
class ShrinkagePenalty:
    r"""What rows that are not there would say: the weight of each column matters by itself.

    Where columns outnumber rows, a few of them agree with anything at the rows, and with nothing beyond.
    There the columns' covariance is not that of the rows but one that was shrunk towards the diagonal:
    to what is missed at the rows comes :math:`\tfrac12\sum_j p_j(u_j - w_j)^2`, with the weight
    :math:`u_j` that the dense model has on the column.
    """

    precision: Array  # p,
    weights: Array  # u, and
    turn: Array  # how u follows from the weights in the dense model's coordinates

    def of(self, index: Index) -> Self:
        """Return what concerns these columns."""
        return type(self)(self.precision[index], self.weights[index], self.turn[index])

    def missed(self, index: Index, w: Array) -> float:
        """Return what these weights on some of the columns miss."""
        missing = self.weights.copy()
        missing[index] -= w
        return 0.5 * float(self.precision @ missing**2)


def best_columns(
    design: Design,
    r: Array,
    z: Array,
    *,
    intercept: bool,
    most: int,
    enough: float,
    least: int = 0,
    elsewhere: ShrinkagePenalty | None = None,
) -> list[Index]:
    r"""Return, for every size, few columns that explain a target nearly as well as all.

    The target :math:`z` has the precision :math:`r`, so what a set misses,
    :math:`\tfrac12\min_w\sum r_i(z_i - b - \phi_i^Tw)^2`, is in nats: to second order the
    Kullback-Leibler divergence between the model that has the latent :math:`z` and the best one on the
    set. Columns are added one by one where they explain most, more of them than will be needed, and then
    taken away where they are missed least: neighbours that were only on the way go first. Of every size
    the better of the two sets is taken.

    All of that happens in the compressed problem, of as many rows as the design has rank. Of several
    targets what is missed adds up: under one precision they share all but a column of every product.

    Parameters
    ----------
    design : Design
    r : ndarray of shape (n,)
        Precision of the target.
    z : ndarray of shape (n,) or (n, n_targets)
        Its value; several targets share their columns.
    intercept : bool
        Whether there is a free intercept.
    most : int
        Columns to add, at the most.
    enough : float
        Nats below which there is nothing left to add,
    least : int, default=0
        once there are so many columns.
    elsewhere : Elsewhere, optional
        What a set misses beyond the rows.

    Returns
    -------
    list of ndarrays
        The columns of the model of 0, 1, 2, ... of them.
    """
    T, t, in_span = _compressed(design, r, z.reshape(r.size, -1), intercept)
    p: Array = np.zeros(T.shape[1])
    u: Array = p[:, None]
    if elsewhere is not None:
        p, u = elsewhere.precision, elsewhere.weights[:, None]
    chosen, up = _forward(T, t, p, u, min(most, T.shape[1]), enough, least, in_span)
    T, p, u = T[:, chosen], p[chosen], u[chosen]
    sets, down = _backward(T.T @ T + np.diag(p), T.T @ t + p[:, None] * u, up[0], chosen)
    return [chosen[:k] if up[k] <= down[k] else sets[k] for k in range(chosen.size + 1)]


def _compressed(design: Design, r: Array, z: Array, intercept: bool) -> tuple[Array, Array, float]:
    """Return columns and targets without what a free intercept explains, on as few rows as can be.

    With them comes the part of a column's square that is rounding.

    Rows by the thousand are seen once, for their products. The triangular root of these loses what the
    square root of the machine's precision is of a column; a column of which no more is left is none that
    would be chosen.
    """
    n, p = design.shape
    if min(n, design.height) <= _TALL * p + _FEW_ROWS:
        T, t, one, _ = design.compress(r, z)
        if intercept:
            total = float(one @ one)
            T, t = T - np.outer(one, (one @ T) / total), t - np.outer(one, (one @ t) / total)
        return T, t, _IN_SPAN
    total = float(r.sum())
    z = z - r @ z / total if intercept else z
    gram, slope = design.gram(r), design.rmatvec((r * z.T).T)
    if intercept:
        centre = design.rmatvec(r)
        gram = gram - np.outer(centre, centre) / total
    root = Triangle.of(gram)
    t = root.solve(slope)
    beyond = np.sqrt(np.maximum(r @ z**2 - (t**2).sum(axis=0), 0.0))  # what no column explains
    T = np.vstack([root.lower.T, np.zeros((z.shape[1], p))])
    return T, np.vstack([t, np.diag(beyond)]), _IN_SPAN_OF_PRODUCTS


def _forward(
    T: Array, t: Array, p: Array, u: Array, most: int, enough: float, least: int, in_span: float
) -> tuple[Index, list[float]]:
    """Return columns in the order in which each explains most, and what is left after each.

    Beside the rows of ``T`` each column has one of its own, with the square root of ``p`` in it and that
    times ``u`` as its target. Such a row is only needed once its column is chosen.
    """
    rows = T.shape[0]
    whole = np.einsum("ij,ij->j", T, T) + p
    left, slope = whole.copy(), T.T @ t + p[:, None] * u
    owned = 0.5 * float((p @ u**2).sum())  # by the rows of columns that were not chosen
    more = most if p.any() else 0
    residual = np.vstack([t, np.zeros((more, t.shape[1]))])
    basis = np.zeros((rows + more, 0))
    chosen: list[int] = []
    lost = [0.5 * float((residual**2).sum()) + owned]
    most = most if more else min(most, rows)
    while len(chosen) < most and (lost[-1] > enough or len(chosen) < least):
        fits = left > in_span * whole
        gain = np.where(fits, (slope**2).sum(axis=1) / np.where(fits, left, 1.0), 0.0)
        if not gain.any():
            break
        # The last columns of a span all complete it: of equals the one that is least like the others.
        best = int(np.argmax(np.where(gain >= (1 - _TIE) * gain.max(), left, -1.0)))
        column = np.append(T[:, best], np.zeros(more))
        if more:
            own = rows + len(chosen)
            column[own] = np.sqrt(p[best])
            residual[own] = column[own] * u[best]
            owned -= 0.5 * float((residual[own] ** 2).sum())
        direction = column - basis @ (basis.T @ column)
        direction = direction - basis @ (basis.T @ direction)  # twice is enough
        direction = direction / np.linalg.norm(direction)
        basis = np.column_stack([basis, direction])
        shared, part = direction[:rows] @ T, direction @ residual
        left, slope = left - shared**2, slope - np.outer(shared, part)
        residual = residual - np.outer(direction, part)
        chosen.append(best)
        left[chosen] = 0.0
        lost.append(0.5 * float((residual**2).sum()) + max(owned, 0.0))
    return np.array(chosen, dtype=np.intp), lost


def _backward(gram: Array, slope: Array, whole: float, chosen: Index) -> tuple[list[Index], list[float]]:
    """Return the sets that stay when the column that is missed least goes, and what each misses."""
    inside = np.arange(chosen.size)
    path, lost = [], []
    while inside.size:
        unit, factor = steadied(gram[np.ix_(inside, inside)], _JITTER)
        inverse = factor.solve(np.eye(inside.size))
        pull = unit[:, None] * slope[inside]
        weights = inverse @ pull
        path.append(chosen[inside])
        lost.append(whole - 0.5 * float((weights * pull).sum()))
        missed = (weights**2).sum(axis=1) / np.diag(inverse)
        inside = np.delete(inside, int(np.argmin(missed)))
    return [*path, chosen[inside]][::-1], [*lost, whole][::-1]


@dataclass(frozen=True)
class Projection:
    r"""The posterior of a dense model, ready to be projected onto any few of some columns.

    The latent of the dense model, :math:`f = Zu` with :math:`u \sim \mathcal N(\bar u, S)`, is projected
    linearly, :math:`w = (\Phi^TR\Phi)^{-1}\Phi^TRf`: so are its mean and its covariance, and whatever
    set is asked for, all that is needed are :math:`\Phi^TR\Phi`, :math:`\Phi^TR\bar f` and
    :math:`\Phi^TRZSZ^TR\Phi` of the columns together.
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
        elsewhere: ShrinkagePenalty | None = None,
    ) -> Self:
        """Gather what is needed.

        Parameters
        ----------
        Phi : ndarray of shape (n, k)
            The columns.
        r, m : ndarrays of shape (n,)
            Precision with which the latent counts at each row, and its mean.
        dense, posterior : Design, GaussianPosterior
            Columns and weights of the dense model.
        intercept : bool
            Whether there is a free intercept.
        elsewhere : Elsewhere, optional
            What is asked of the weights on these columns beyond the rows.
        """
        total = float(r.sum())
        centre, level, spread = np.zeros(Phi.shape[1]), 0.0, posterior.spread
        if intercept:
            centre, level = r @ Phi / total, float(r @ m) / total
            aside = dense.rmatvec(r) / total - posterior.centre
            spread += float(aside @ posterior.covariance_dot(aside[:, None])[:, 0])
        weighted = r[:, None] * (Phi - centre)
        gram, slope = weighted.T @ (Phi - centre), weighted.T @ (m - level)
        cross = dense.rmatvec(weighted)
        if elsewhere is not None:
            gram = gram + np.diag(elsewhere.precision)
            slope = slope + elsewhere.precision * elsewhere.weights
            cross = cross + elsewhere.turn.T * elsewhere.precision
        return cls(gram, slope, upper_root(posterior.root_dot(cross)), centre, level, spread)

    def onto(self, index: Index) -> GaussianPosterior:
        """Return the posterior of the weights on these of the columns."""
        unit, factor = steadied(self.gram[np.ix_(index, index)], _STEADY)
        w = unit * factor.solve(unit * self.slope[index])
        # Weights of columns that are much alike cancel: the root of their covariance, not its square.
        half = unit[:, None] * factor.solve(unit[:, None] * self.root[:, index].T)
        root = np.zeros((index.size, index.size))
        root[: half.shape[1]] = upper_root(half.T)
        b = self.level - float(self.centre[index] @ w)
        return GaussianPosterior(w, b, self.centre[index], self.spread, root, None, float(index.size))
