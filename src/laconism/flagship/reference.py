"""The dense reference: one precision for all kernels, as good as a Gaussian process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .._protocols import Array, Index, Kernel, Likelihood
from ..basis import KernelBasis
from ..judging.left_out import leave_one_out
from ..laplace.mode import Mode
from ..laplace.shared_precision import fit_shared
from ..likelihoods import Binary, Gaussian, Student
from ..linalg import Triangle, as_dense, row_blocks, symmetric_eigen
from ..posterior import GaussianPosterior
from ..solvers import Problem

# Directions that together carry less than this part of the prior's variance are left out.
_NEGLIGIBLE = 1e-3
# The part of a row's variance under the prior that may be missing where other rows span it.
_SPANNED = 2e-6
# What is not the first choice has to be a thousand times as likely to be the right one.
CLEAR = float(np.log(1000))


def _root(matrix: Array, n_rows: int) -> Array:
    """Return ``A`` with ``A A'`` this matrix, but for directions that carry next to nothing of it."""
    if 2 * len(matrix) > n_rows:  # then they are many, and whether a few are left out does not matter
        return Triangle.of(matrix).lower
    values, vectors = symmetric_eigen(matrix)
    carried = np.cumsum(np.maximum(values, 0.0))
    kept = carried > _NEGLIGIBLE * carried[-1:].sum()
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


@dataclass(frozen=True)
class KernelMap:
    r"""Coordinates in which independent weights of one variance are the prior of the latent.

    With :math:`k(x, X) \approx c(x)^TC`, :math:`c(x) = L^{-1}k(P, x)` for the rows :math:`P` that span
    the kernel matrix, :math:`c(x)` itself makes the latent a Gaussian process whose covariance is the
    kernel. A *smooth* one is that of weights :math:`w \sim \mathcal N(0, I)` on all kernels, with the
    covariance :math:`c(x)^TCC^Tc(x')`: what many rows share counts for more, what few have for less. Its
    coordinates are :math:`c(x)^TV\Lambda^{1/2}` with :math:`CC^T = V\Lambda V^T`.
    """

    kernel: Kernel
    rows: Any
    triangle: Triangle
    turn: Array | None = None

    @classmethod
    def on(
        cls,
        basis: KernelBasis,
        pivots: Index | None = None,
        *,
        smooth: bool = False,
        rank_tol: float = 0.0,
        max_rank: int = 0,
    ) -> Self:
        """Return the map for the kernels of a basis; without pivots they are found, or all are."""
        kernel, centres = basis.kernel, basis.centres
        if pivots is None and max_rank:
            factors = basis.factors(tol=rank_tol, max_rank=max_rank)
            pivots = None if factors is None else factors.pivots
        rows = centres if pivots is None else centres[pivots]
        triangle = Triangle.of(np.asarray(kernel(rows, rows), dtype=np.float64))
        if not smooth:
            return cls(kernel, rows, triangle)
        C = triangle.solve(np.asarray(kernel(rows, centres), dtype=np.float64))
        return cls(kernel, rows, triangle, _root(C @ C.T, C.shape[1]))

    def weights(self, w: Array) -> Array:
        """Return the weights on the kernels of the spanning rows that are these in the coordinates."""
        return self.triangle.solve_transposed(w if self.turn is None else self.turn @ w)

    def aside(self, X: Any) -> Array:
        """Return the part of each row's variance under the prior that the spanning rows do not have."""
        inside = (self.columns(X) ** 2).sum(axis=1)
        if self.turn is not None:
            return np.zeros(inside.size)
        return np.asarray(np.maximum((1 - _SPANNED) * self.kernel.diag(X) - inside, 0.0))

    def columns(self, X: Any) -> Array:
        """Return the coordinates of each row, a block at a time: all of them are large enough."""
        X = X if hasattr(X, "shape") else np.asarray(X)
        size = self.triangle.lower.shape[0] if self.turn is None else self.turn.shape[1]
        found = np.empty((X.shape[0], size))
        for part in row_blocks(X.shape[0], self.triangle.lower.shape[0]):
            K = np.asarray(self.kernel(self.rows, X[part]), dtype=np.float64)
            c = self.triangle.solve(K).T
            found[part] = c if self.turn is None else c @ self.turn
        return found


@dataclass(frozen=True)
class FeatureMap:
    """Standardised features, turned into as many coordinates as there are rows if those are fewer."""

    centre: Array
    turn: Array | None
    scale: Array
    source: Index | None = None  # the features that it is about, if not all

    @classmethod
    def of(cls, X: Array, weight: Array) -> Self:
        """Return the map for these rows."""
        share = weight / weight.sum()
        centre = share @ X
        spread = np.sqrt(share @ (X - centre) ** 2)
        noise = 8 * np.finfo(X.dtype).eps * np.abs(centre)
        scale = np.where(spread > noise, 1 / np.where(spread > noise, spread, 1.0), 0.0)
        if X.shape[1] <= X.shape[0]:
            return cls(centre, None, scale)
        Z = (X - centre) * scale
        values, U = symmetric_eigen(Z @ Z.T)
        kept = np.flatnonzero(values > 1e-12 * max(values[-1], np.finfo(float).tiny))
        return cls(centre, (Z.T @ U[:, kept]) / np.sqrt(values[kept]), scale)

    def keep(self, index: Index) -> Self:
        """Return the map to some of the standardised features."""
        return type(self)(self.centre[index], None, self.scale[index], index)

    def in_all(self, n_features: int) -> tuple[Array, Array]:
        """Return the scale of each feature, zero for one that it is not about, and how weights turn."""
        index = np.arange(n_features) if self.source is None else self.source
        scale, turn = np.zeros(n_features), np.zeros((n_features, self.width))
        scale[index] = self.scale
        turn[index] = np.diag(self.scale) if self.turn is None else self.scale[:, None] * self.turn
        return scale, turn

    @property
    def width(self) -> int:
        """How many coordinates there are."""
        return self.scale.size if self.turn is None else self.turn.shape[1]

    def standardise(self, X: Any) -> Array:
        """Return the features that it is about, standardised."""
        X = as_dense(X)
        features = X if self.source is None else X[:, self.source]
        return np.asarray((features - self.centre) * self.scale)

    def aside(self, X: Any) -> Array:
        """Return the squared length of each row in the directions that no training row has."""
        Z = self.standardise(X)
        if self.turn is None:
            return np.zeros(Z.shape[0])
        inside = ((Z @ self.turn) ** 2).sum(axis=1)
        return np.asarray(np.maximum((Z**2).sum(axis=1) - inside, 0.0))

    def columns(self, X: Any) -> Array:
        """Return the coordinates of each row."""
        Z = self.standardise(X)
        return Z if self.turn is None else np.asarray(Z @ self.turn)


@dataclass(frozen=True)
class Reference:
    """The model of one output that is projected: its latent anywhere, and how well it predicts."""

    coordinates: KernelMap | FeatureMap
    posterior: GaussianPosterior
    likelihood: Likelihood
    m: Array  # mean and
    v: Array  # variance of the latent at the training rows,
    left_m: Array  # and
    left_v: Array  # the same of each row as if it had not been seen
    multiple: float | None  # the precision, in the units of fit_shared; None for a sparse one
    stretch: float = 1.0  # by which it was made as sure of itself as it should be
    unseen: float = 0.0  # variance of a weight in a direction that no row has

    @classmethod
    def fit(
        cls,
        coordinates: KernelMap | FeatureMap,
        problem: Problem,
        multiple: float,
        near: Array | None = None,
        *,
        moments: bool = False,
    ) -> Self:
        """Fit the problem in these coordinates under a precision for all weights, near a latent."""
        mode = fit_shared(problem, multiple, latent=near, moments=moments)
        return cls.of(coordinates, mode, multiple)

    @classmethod
    def of(cls, coordinates: KernelMap | FeatureMap, mode: Mode, multiple: float | None = None) -> Self:
        """Return the reference with these weights."""
        posterior = GaussianPosterior.from_ridge(mode.posterior)
        v = mode.ridge.latent_variance(mode.problem.design, mode.r)
        unseen = 1 / float(mode.alpha[0]) if mode.alpha.size else 0.0
        left = leave_one_out(mode, v)
        return cls(coordinates, posterior, mode.likelihood, mode.f, v, *left, multiple, unseen=unseen)

    @property
    def underdetermined(self) -> bool:
        """Whether new rows are unlike its own, as they are where features outnumber rows."""
        return isinstance(self.coordinates, FeatureMap) and self.coordinates.turn is not None

    @property
    def predictive_variance(self) -> Array:
        """Variance of the latent at rows like these, but not seen."""
        return self.left_v if self.underdetermined else self.v

    def target_variance(self, share: Array) -> Array:
        """Return the variance of the latent that few columns are to have.

        Of values it is wider than at the rows by as much as at a typical row that was not seen: with
        many features for its rows a process is nearly certain at those, and nowhere else.
        """
        if isinstance(self.likelihood, Binary):
            return self.predictive_variance
        tiny = np.finfo(float).tiny
        wider = np.log(np.maximum(self.left_v, tiny) / np.maximum(self.predictive_variance, tiny))
        return np.asarray(self.predictive_variance * np.exp(share @ wider))

    def at(self, rows: Index) -> Self:
        """Return the reference as if only these rows had been asked for."""
        m, v, left_m, left_v = (values[rows] for values in (self.m, self.v, self.left_m, self.left_v))
        return replace(self, m=m, v=v, left_m=left_m, left_v=left_v)

    def left_out(self, y: Array) -> Array:
        """Return the log probability of each target as if its row had not been seen."""
        return self.likelihood.predictive(y, self.left_m, self.left_v)

    def stretched(self, s: float, shift: float = 0.0) -> Self:
        """Return the reference with the means of its latents multiplied by a number, and shifted."""
        post = self.posterior
        return replace(
            self,
            posterior=replace(post, mean=s * post.mean, intercept=s * post.intercept + shift),
            m=s * self.m + shift,
            left_m=s * self.left_m + shift,
            stretch=s * self.stretch,
        )

    def latent(self, X: Any) -> tuple[Array, Array]:
        """Return mean and variance of the latent at each row."""
        m, v = self.posterior.latent(self.coordinates.columns(X))
        return m, v + self.unseen * self.coordinates.aside(X)


def heavy_tails(reference: Reference, y: Array, weight: Array) -> float:
    """Return the nats by which Student's noise explains the errors at rows left out better.

    They are measured in the deviations that were expected of each, so that only tails tell.
    """
    noise: Any = reference.likelihood
    none = np.zeros_like(y)
    u = (y - reference.left_m) / np.sqrt(reference.left_v + noise.variance)
    heavy, light = (kind().refit(u, none, weight, 0).log_prob(u, none) for kind in (Student, Gaussian))
    return float(weight @ (heavy - light))
