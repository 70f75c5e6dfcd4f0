"""The reference of one output: the dense model that is projected onto few columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from .._protocols import Array, Index
from ..judging.left_out import divide_out, leave_one_out
from ..laplace.mode import Mode, find_mode
from ..likelihoods import Binary, Likelihood
from ..posterior import GaussianPosterior
from .reference_features import FeatureMap, KernelMap

if TYPE_CHECKING:
    from ..solvers import Problem

# Mean and variance of the latent at each row.
Latent: TypeAlias = tuple[Array, Array]


@dataclass(frozen=True)
class Reference:
    """The model of one output that is projected: its latent at any row, and its left-out latents."""

    feature_map: KernelMap | FeatureMap
    posterior: GaussianPosterior
    likelihood: Likelihood
    m: Array  # mean of the latent at the training rows
    v: Array  # its variance
    left_out_m: Array  # mean of the latent of each row, predicted without that row
    left_out_v: Array  # its variance
    relative_precision: float | None  # in the units of fit_shared; None for a sparse reference
    mean_scale: float = 1.0  # the factor of the mean that calibrates left-out probabilities
    weight_variance: float = 0.0  # prior variance of a weight

    @classmethod
    def of(
        cls, feature_map: KernelMap | FeatureMap, mode: Mode, relative_precision: float | None = None
    ) -> Self:
        """Return the reference with the weights of a mode."""
        v = mode.ridge.latent_variance(mode.problem.design, mode.r)
        left_out_m, left_out_v = leave_one_out(mode, v)
        return cls(
            feature_map,
            GaussianPosterior.from_ridge(mode.posterior),
            mode.likelihood,
            mode.f,
            v,
            left_out_m,
            left_out_v,
            relative_precision,
            weight_variance=1 / float(mode.alpha[0]) if mode.alpha.size else 0.0,
        )

    @property
    def underdetermined(self) -> bool:
        """Whether features outnumber rows, so that new rows leave the span of the training rows."""
        return isinstance(self.feature_map, FeatureMap) and self.feature_map.rotation is not None

    @property
    def predictive_variance(self) -> Array:
        """Variance of the latent at new rows like the training rows."""
        return self.left_out_v if self.underdetermined else self.v

    def target_variance(self, share: Array) -> Array:
        """Return the variance of the latent that a projection should have.

        In regression it is the variance at the training rows, times the geometric mean of the ratio of
        left-out to training variance: if rows are few for the features, the latent is nearly certain at
        the training rows and nowhere else.
        """
        if isinstance(self.likelihood, Binary):
            return self.predictive_variance
        tiny = np.finfo(float).tiny
        ratio = np.maximum(self.left_out_v, tiny) / np.maximum(self.predictive_variance, tiny)
        return np.asarray(self.predictive_variance * np.exp(share @ np.log(ratio)))

    def at_rows(self, rows: Index) -> Self:
        """Return the reference with latents at some of the training rows only."""
        return replace(
            self,
            m=self.m[rows],
            v=self.v[rows],
            left_out_m=self.left_out_m[rows],
            left_out_v=self.left_out_v[rows],
        )

    def on_rows(self, problem: Problem) -> Self:
        """Return the reference with its latents at the rows of a problem, with and without each row."""
        m, v = self.posterior.latent(problem.design.matvec(np.eye(problem.design.shape[1])))
        _, slope, curvature = self.likelihood.evaluate(problem.y, m)
        left_out_m, left_out_v = divide_out(m, v, curvature, curvature * m + slope)
        return replace(self, m=m, v=v, left_out_m=left_out_m, left_out_v=left_out_v)

    def fitted_to(self, problem: Problem, gain: float = 1e-6) -> Self:
        """Return the reference under the same prior and noise, fitted to the rows of a problem.

        Its means have the scale of this one. The search for its mode ends with a step that gains less
        than ``gain`` nats.
        """
        post, scale, variance = self.posterior, self.mean_scale, self.weight_variance
        alpha = np.full(post.mean.size, 1 / variance if variance else 1.0)
        b = post.intercept / scale if problem.intercept else 0.0
        mode = find_mode(problem, alpha, self.likelihood, post.mean / scale, b, gain)
        return type(self).of(self.feature_map, mode, self.relative_precision).with_mean_scale(scale)

    def left_out_log_density(self, y: Array) -> Array:
        """Return the log probability of each target, predicted without its row."""
        return self.likelihood.predictive(y, self.left_out_m, self.left_out_v)

    def with_mean_scale(self, s: float, shift: float = 0.0) -> Self:
        """Return the reference with the means of its latents multiplied by ``s`` and shifted."""
        post = self.posterior
        return replace(
            self,
            posterior=replace(post, mean=s * post.mean, intercept=s * post.intercept + shift),
            m=s * self.m + shift,
            left_out_m=s * self.left_out_m + shift,
            mean_scale=s * self.mean_scale,
        )

    def latent(self, X: Any) -> Latent:
        """Return mean and variance of the latent at each row."""
        m, v = self.posterior.latent(self.feature_map.columns(X))
        return m, v + self.weight_variance * self.feature_map.outside_variance(X)
