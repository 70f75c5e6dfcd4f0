"""The joint problem: targets, the kernel of scaled features with its derivatives, and the objective.

    F(w, theta) = -sum_i weight_i log p(y_i | f_i) + weight_rate |w|_1 + scale_rate sum(theta)

With Gaussian noise of standard deviation ``s`` the first penalty is ``weight_rate |w|_1 / s``, so that
the noise can be estimated with the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._protocols import Array, Index
from ..kernels._pairwise import dot_products, squared_distances
from ..likelihoods import Likelihood, Noise
from ..linalg import row_blocks

# The smallest noise variance, as a part of the target's variance: a polynomial of many features
# interpolates any data, and then the data do not determine the noise.
_MIN_NOISE_SHARE = 1e-4


@dataclass(frozen=True)
class OutputWeights:
    """Weights and intercept of one output, with the log-likelihood's derivatives at its latent."""

    w: Array
    b: float
    f: Array
    likelihood: Likelihood
    slope: Array  # of the log-likelihood in f
    curvature: Array  # minus its second derivative
    value: float  # minus the log posterior


@dataclass(frozen=True)
class JointState:
    """One point of the search: scales, the weights of every output, and the objective."""

    theta: Array
    outputs: list[OutputWeights]
    value: float
    values: Sequence[float] = ()  # the objective after each iteration
    converged: bool = False
    violation: float = np.inf  # of the optimality conditions, in units of the rates
    stopped: bool = False  # by a callback

    @property
    def empty(self) -> bool:
        """Whether no kernel or no feature is left."""
        return not any(output.w.any() for output in self.outputs) or not self.theta.any()


StateCallback = Callable[[JointState], object]


@dataclass(frozen=True)
class JointProblem:
    """Targets of one or more outputs that share the scales of the features.

    With ``s_ijk = (x_ik - c_jk)^2`` or ``x_ik c_jk`` all kernels are ``profile(sum_k theta_k s_ijk)``.
    """

    kernel: Any  # Stationary or DotProduct
    X: Array
    centres: Array
    targets: Sequence[Array]
    likelihood: Likelihood
    weight: Array
    weight_rate: float
    scale_rate: float
    intercept: bool  # free, not penalised
    constant: bool = False  # a penalised intercept: a column of ones in front

    @property
    def n_columns(self) -> int:
        """Number of columns of the design, the constant included."""
        return int(self.centres.shape[0]) + int(self.constant)

    @property
    def on_distances(self) -> bool:
        """Whether the kernel is one of distances, not of inner products."""
        return bool(self.kernel.of_distances)

    @property
    def estimates_noise(self) -> bool:
        """Whether the noise of a regression is estimated too."""
        return isinstance(self.likelihood, Noise) and self.likelihood.estimate

    def columns(self, theta: Array, kept: Index | None = None) -> Array:
        """Return the design matrix under these scales, or some columns of it."""
        constant = self.constant and (kept is None or 0 in kept)
        C = self.centres if kept is None else self.centres[self.centres_of(kept)]
        if not C.shape[0]:
            return np.ones((self.X.shape[0], int(constant)))
        K = np.asarray(self.kernel(*self._scaled(theta, C)))
        return np.column_stack([np.ones(K.shape[0]), K]) if constant else K

    def centres_of(self, kept: Index) -> Index:
        """Return which centres these columns have; the constant has none."""
        return kept[kept > 0] - 1 if self.constant else kept

    def profile_derivatives(self, theta: Array, which: Index) -> tuple[Array, Array]:
        """Return first and second derivative of the profile at each row and these centres."""
        t = self._profile_argument(theta, self.centres[which])
        first = self.kernel.profile_slope(t)
        step = 1e-30  # of a complex-step derivative: exact, since its square is below rounding
        second = np.imag(self.kernel.profile_slope(t + 1j * step)) / step
        return np.asarray(first), np.asarray(second)

    def feature_terms(self, which: Index, features: Index) -> Iterator[Array]:
        """Yield ``s_ijk`` of these features, one centre j after the other."""
        A = self.X[:, features]
        for centre in self.centres[np.ix_(which, features)]:
            yield (A - centre) ** 2 if self.on_distances else A * centre

    def _scaled(self, theta: Array, centres: Array) -> tuple[Array, Array]:
        used = np.flatnonzero(theta)
        used = used if used.size else np.arange(1)  # kernels need at least one feature
        root = np.sqrt(theta[used])
        return self.X[:, used] * root, centres[:, used] * root

    def _profile_argument(self, theta: Array, centres: Array) -> Array:
        pair = self._scaled(theta, centres)
        return squared_distances(*pair) if self.on_distances else dot_products(*pair)

    def latent_rate(self, likelihood: Likelihood) -> float:
        """Return the price of a weight in the units of the latent."""
        if isinstance(likelihood, Noise):
            return float(self.weight_rate / np.sqrt(likelihood.noise))
        return float(self.weight_rate)

    def output_at(self, y: Array, w: Array, b: float, f: Array, likelihood: Likelihood) -> OutputWeights:
        """Return one output's objective and its derivatives at these weights."""
        log_p, slope, curvature = likelihood.evaluate(y, f)
        penalty = self.latent_rate(likelihood) * float(np.abs(w).sum())
        return OutputWeights(w, b, f, likelihood, slope, curvature, penalty - float(self.weight @ log_p))

    def state(self, theta: Array, outputs: list[OutputWeights]) -> JointState:
        """Return the point of the search at these scales and weights."""
        value = self.scale_rate * float(theta.sum()) + sum(output.value for output in outputs)
        return JointState(theta, outputs, value)

    def scale_gradient(self, theta: Array, outputs: Sequence[OutputWeights]) -> Array:
        """Return the gradient in the scales at fixed weights: eq. (18) of [JCFO]."""
        gradient = np.full(theta.size, self.scale_rate)
        for output in outputs:
            gradient -= self.latent_scale_gradient(theta, output.w, self.weight * output.slope)
        return gradient

    def latent_scale_gradient(self, theta: Array, w: Array, g: Array) -> Array:
        """Return ``sum_ij g_i w_j dK_ij / dtheta_k`` by matrix products, in blocks of features."""
        w = w[int(self.constant) :]
        which, gradient = np.flatnonzero(w), np.zeros(theta.size)
        if not which.size:
            return gradient
        C = self.centres[which]
        S = self.kernel.profile_slope(self._profile_argument(theta, C)) * (g[:, None] * w[which])
        for block in row_blocks(theta.size, self.X.shape[0]):
            A, B = self.X[:, block], C[:, block]
            part = np.einsum("ik,ik->k", A, S @ B)
            if self.on_distances:  # (x - c)^2, expanded so that no n x m x p array appears
                part = S.sum(axis=1) @ A**2 + S.sum(axis=0) @ B**2 - 2 * part
            gradient[block] = part
        return gradient

    def min_noise(self, y: Array) -> float:
        """Return the smallest noise variance that is allowed."""
        share = self.weight / self.weight.sum()
        return float(_MIN_NOISE_SHARE * (share @ (y - share @ y) ** 2))

    def with_variance(self, likelihood: Any, noise: float, y: Array) -> Likelihood:
        """Return the Gaussian likelihood with another noise variance, or the smallest allowed."""
        noise = max(noise, self.min_noise(y))
        return type(likelihood)(noise, likelihood.estimate, likelihood.floor)  # type: ignore[no-any-return]

    def violation(self, theta: Array, outputs: Sequence[OutputWeights]) -> float:
        """Return the largest violation of the optimality conditions.

        Each in units of its rate, or of the standard error of its slope where that is larger: with
        much data the rate is nothing beside the rounding of the slope.
        """
        Phi = self.columns(theta)
        squares = Phi**2
        slope = self.scale_gradient(theta, outputs)
        unit = np.maximum(self.scale_rate, self._scale_errors(theta, outputs))
        worst = float((np.where(theta > 0, np.abs(slope), np.maximum(-slope, 0.0)) / unit).max())
        for output in outputs:
            g = Phi.T @ (self.weight * output.slope)
            worst = max(worst, self.weight_violation(output, g, squares))
        return worst

    def weight_violation(self, output: OutputWeights, g: Array, squares: Array) -> float:
        """Return the violation of one output's weights and intercept.

        ``g`` is the log-likelihood's derivative in each weight, ``squares`` those of the design.
        """
        rate, r = self.latent_rate(output.likelihood), self.weight * output.curvature
        at_zero = np.maximum(np.abs(g) - rate, 0.0)
        off = np.where(output.w != 0, np.abs(g - rate * np.sign(output.w)), at_zero)
        worst = float((off / np.maximum(rate, np.sqrt(r @ squares))).max(initial=0.0))
        if self.intercept:
            information = max(float(r.sum()), np.finfo(float).tiny)
            worst = max(worst, abs(float(self.weight @ output.slope)) / np.sqrt(information))
        return worst

    def _scale_errors(self, theta: Array, outputs: Sequence[OutputWeights]) -> Array:
        """Return the standard error of the slope in each scale, weights held."""
        information = np.zeros(theta.size)
        for output in outputs:
            w = output.w[int(self.constant) :]
            which, r = np.flatnonzero(w), self.weight * output.curvature
            C = self.centres[which]
            S = self.kernel.profile_slope(self._profile_argument(theta, C)) * w[which]
            for block in row_blocks(theta.size, self.X.shape[0]):
                A, B = self.X[:, block], C[:, block]
                J = A * (S @ B)
                if self.on_distances:
                    J = S.sum(axis=1)[:, None] * A**2 + S @ B**2 - 2 * J
                information[block] += r @ J**2
        return np.sqrt(information)
