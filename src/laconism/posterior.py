"""The Gaussian posterior of the kept weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from ._protocols import Array, Index, Seed
from .linalg import Ridge, symmetric_eigen


@dataclass(frozen=True)
class GaussianPosterior:
    r"""Gaussian approximation to the posterior of weights and intercept.

    The latent at a row :math:`\phi` is :math:`b + \phi^T w` with variance
    :math:`\mathrm{spread} + (\phi - c)^T\Sigma(\phi - c)`: a free intercept is independent of the
    weights at the weighted centre :math:`c` of the data.

    :math:`\Sigma` is kept in one of two forms. With fewer columns than rows it is :math:`B^T B`
    (``prior_root is None``). Otherwise it is :math:`D(I - W W^T)D`, where ``root`` holds :math:`W`,
    which spans the directions that the data determine.
    """

    mean: Array
    intercept: float
    centre: Array
    spread: float
    root: Array
    prior_root: Array | None
    effective: float  # number of parameters that the data determine, tr(G Sigma)

    @classmethod
    def from_ridge(cls, answer: Ridge) -> Self:
        """Return the posterior whose mode and curvature are this ridge problem's."""
        common = (answer.weights, answer.intercept, answer.centre, answer.spread)
        if answer.dual is None:
            root = answer.factor.inverse_root * answer.root
            return cls(*common, root, None, answer.n_well_determined)
        # W W' = T'(I + T T')^-1 T.
        return cls(*common, answer.factor.whiten(answer.dual).T, answer.root, answer.n_well_determined)

    def in_order(self, order: Index) -> Self:
        """Return the posterior of the same weights in another order."""
        of_columns = self.prior_root is None
        return replace(
            self,
            mean=self.mean[order],
            centre=self.centre[order],
            root=self.root[:, order] if of_columns else self.root[order],
            prior_root=None if self.prior_root is None else self.prior_root[order],
        )

    def shift(self, offset: Array) -> Self:
        """Return the posterior for columns that were centred by ``offset`` when it was found."""
        intercept = self.intercept - float(offset @ self.mean)
        return replace(self, intercept=intercept, centre=self.centre + offset)

    def latent(self, Phi: Array) -> tuple[Array, Array]:
        """Return mean and variance of the latent at each row of ``Phi``."""
        m = Phi @ self.mean + self.intercept
        away = Phi - self.centre
        if self.prior_root is None:
            v = ((away @ self.root.T) ** 2).sum(axis=1)
        else:
            away = away * self.prior_root
            v = (away**2).sum(axis=1) - ((away @ self.root) ** 2).sum(axis=1)
        return m, np.maximum(v, 0.0) + self.spread

    def as_wide_as(self, other: Array, v: Array, r: Array) -> tuple[Self, Array]:
        """Return the posterior with its latent variances fitted to given ones.

        Its variances ``v`` at the rows are multiplied by a number of at least one, and a number is
        added, by least squares to ``other`` with the weights ``r``. The new ones are returned too.
        """
        share = r / r.sum()
        mean, wanted = float(share @ v), float(share @ other)
        square = float(share @ (v - mean) ** 2)
        factor = float(share @ ((v - mean) * (other - wanted))) / max(square, np.finfo(float).tiny)
        factor = max(factor, 1.0) if mean * factor <= wanted else max(wanted / max(mean, 1e-300), 1.0)
        more = max(wanted - factor * mean, 0.0)
        wider = self.times(factor)
        return replace(wider, spread=wider.spread + more), factor * v + more

    def times(self, factor: float) -> Self:
        """Return the posterior with the covariance multiplied by a number."""
        spread, s = factor * self.spread, float(np.sqrt(factor))
        if self.prior_root is None:
            return replace(self, root=s * self.root, spread=spread)
        return replace(self, prior_root=s * self.prior_root, spread=spread)

    def root_dot(self, A: Array) -> Array:
        """Return ``H`` with ``H'H = A' Sigma A``, without the loss of digits of forming Sigma."""
        if self.prior_root is None:
            return np.asarray(self.root @ A)
        scaled, (V, left) = self.prior_root[:, None] * A, self.directions
        return np.asarray(scaled - V @ ((1 - left)[:, None] * (V.T @ scaled)))

    @cached_property
    def directions(self) -> tuple[Array, Array]:
        """``V``, orthonormal, and ``left``: ``I - V (1 - left) V'`` is the root of ``I - W W'``.

        ``left`` is the posterior deviation along ``V`` relative to the prior's.
        """
        well_determined, U = symmetric_eigen(self.root.T @ self.root)
        determined = well_determined > 64 * np.finfo(float).eps  # the others are rounding
        V = self.root @ (U[:, determined] / np.sqrt(well_determined[determined]))
        return V, np.sqrt(np.maximum(1 - well_determined[determined], 0.0))

    def covariance_dot(self, A: Array) -> Array:
        """Return the covariance of the weights times a matrix."""
        if self.prior_root is None:
            return np.asarray(self.root.T @ (self.root @ A))
        scaled = self.prior_root[:, None] * A
        return np.asarray(self.prior_root[:, None] * (scaled - self.root @ (self.root.T @ scaled)))

    def sample(self, n_samples: int, random_state: Seed = None) -> tuple[Array, Array]:
        """Draw weights of shape (n_samples, k) and intercepts of shape (n_samples,)."""
        rng = np.random.default_rng(random_state)
        directions = self.mean.size if self.prior_root is not None else self.root.shape[0]
        e = rng.normal(size=(n_samples, directions))
        if self.prior_root is None:
            deviation = e @ self.root
        else:
            V, left = self.directions
            deviation = (e - ((e @ V) * (1 - left)) @ V.T) * self.prior_root
        at_centre = np.sqrt(self.spread) * rng.normal(size=n_samples)
        return self.mean + deviation, self.intercept + at_centre - deviation @ self.centre
