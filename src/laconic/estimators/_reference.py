"""The dense reference: one precision for all kernels, as good as a Gaussian process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.optimize import brentq

from .._protocols import Array, Index, Kernel, Likelihood
from ..basis import KernelBasis
from ..linalg import Triangle, symmetric_eigen
from ..posterior import GaussianPosterior
from ..relevance import fit_shared, leave_one_out
from ..solvers import Problem

# Directions that together carry less than this part of the prior's variance are left out.
_NEGLIGIBLE = 1e-3
# How far from one a stretch usually is, in logarithms, and how far it may be.
_USUAL, _STRETCH = 0.3, (0.5, 2.0)
# Half the distance at which its slope is taken.
_STEP = 1e-3


def _carrying(values: Array) -> Index:
    """Return the eigenvalues, ascending, that carry all but a negligible part of the sum."""
    left_out = np.cumsum(np.maximum(values, 0.0))
    return np.flatnonzero(left_out > _NEGLIGIBLE * left_out[-1]) if values.size else np.arange(0)


@dataclass(frozen=True)
class KernelMap:
    r"""Coordinates in which independent weights of one variance are such weights on all kernels.

    With :math:`k(x, X) \approx c(x)^TC`, :math:`c(x) = L^{-1}k(P, x)` for the rows :math:`P` that span
    the kernel matrix, the latent of weights :math:`w \sim \mathcal N(0, I)` on all kernels has the
    covariance :math:`c(x)^TCC^Tc(x')`: the coordinates are :math:`c(x)^TV\Lambda^{1/2}` with
    :math:`CC^T = V\Lambda V^T`.
    """

    kernel: Kernel
    rows: Any
    triangle: Triangle
    turn: Array

    @classmethod
    def on(
        cls,
        basis: KernelBasis,
        pivots: Index | None = None,
        *,
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
        C = triangle.solve(np.asarray(kernel(rows, centres), dtype=np.float64))
        values, vectors = symmetric_eigen(C @ C.T)
        kept = _carrying(values)
        return cls(kernel, rows, triangle, vectors[:, kept] * np.sqrt(values[kept]))

    def weights(self, w: Array) -> Array:
        """Return the weights on the kernels of the spanning rows that are these in the coordinates."""
        return self.triangle.solve_transposed(self.turn @ w)

    def columns(self, X: Any) -> Array:
        """Return the coordinates of each row."""
        c = self.triangle.solve(np.asarray(self.kernel(self.rows, X), dtype=np.float64))
        return np.asarray(c.T @ self.turn)


@dataclass(frozen=True)
class FeatureMap:
    """Standardised features, turned into as many coordinates as there are rows if those are fewer."""

    centre: Array
    turn: Array | None
    scale: Array

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

    def columns(self, X: Any) -> Array:
        """Return the coordinates of each row."""
        Z = (np.asarray(X, dtype=np.float64) - self.centre) * self.scale
        return Z if self.turn is None else np.asarray(Z @ self.turn)


@dataclass(frozen=True)
class Reference:
    """A dense model of one output: what its latent is anywhere, and how well it predicts."""

    coordinates: KernelMap | FeatureMap
    posterior: GaussianPosterior
    likelihood: Likelihood
    m: Array  # mean and
    v: Array  # variance of the latent at the training rows,
    left_m: Array  # and
    left_v: Array  # the same of each row as if it had not been seen
    multiple: float  # the precision, in the units of fit_shared
    stretch: float = 1.0  # by which it was made as sure of itself as it should be

    @classmethod
    def fit(cls, coordinates: KernelMap | FeatureMap, problem: Problem, multiple: float) -> Self:
        """Fit the problem in these coordinates under a precision for all weights."""
        mode = fit_shared(problem, multiple)
        posterior = GaussianPosterior.from_ridge(mode.posterior)
        v = mode.ridge.latent_variance(mode.problem.design, mode.r)
        left = leave_one_out(mode)
        return cls(coordinates, posterior, mode.likelihood, mode.f, v, *left, multiple)

    def stretched(self, s: float) -> Self:
        """Return the reference with all its latents multiplied by a number."""
        post = self.posterior
        root, prior_root = post.root, post.prior_root
        if prior_root is None:
            root = s * root
        else:
            prior_root = s * prior_root
        posterior = replace(
            post,
            mean=s * post.mean,
            intercept=s * post.intercept,
            spread=s * s * post.spread,
            root=root,
            prior_root=prior_root,
        )
        return replace(
            self,
            posterior=posterior,
            m=s * self.m,
            v=s * s * self.v,
            left_m=s * self.left_m,
            left_v=s * s * self.left_v,
            stretch=s * self.stretch,
        )

    def latent(self, X: Any) -> tuple[Array, Array]:
        """Return mean and variance of the latent at each row."""
        return self.posterior.latent(self.coordinates.columns(X))


def best_stretch(problem: Problem, reference: Reference) -> float:
    r"""Return the factor under which the latents of the rows left out predict the labels best.

    Laplace's approximation is too timid: latents times a number a little above one predict better. The
    number is not far from one, :math:`\log s \sim \mathcal N(0, 0.3^2)`, so that few rows do not carry
    it away.
    """
    y, m, v = problem.y, reference.left_m, reference.left_v

    def nats(log_s: float) -> float:
        s = np.exp(log_s)
        fit = problem.weight @ reference.likelihood.predictive(y, s * m, s * s * v)
        return float(fit) - 0.5 * (log_s / _USUAL) ** 2

    def slope(log_s: float) -> float:
        return nats(log_s + _STEP) - nats(log_s - _STEP)

    low, high = np.log(_STRETCH)
    if slope(low) <= 0:
        return float(np.exp(low))
    return float(np.exp(high if slope(high) >= 0 else brentq(slope, low, high, xtol=1e-12)))
