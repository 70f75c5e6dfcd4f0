"""What a joint model is asked: the kernel of scaled features, its derivatives, and the targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .._protocols import Array, Index, Likelihood
from ..kernels import Stationary
from ..kernels._pairwise import dot_products, squared_distances
from ..likelihoods import Gaussian
from ..linalg import row_blocks
from .weights import Weights, best_weights

# Step of the complex-step derivative: its square is lost, so the derivative is exact.
_COMPLEX = 1e-30


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

    def _scaled(self, theta: Array, centres: Array) -> tuple[Array, Array]:
        used = np.flatnonzero(theta)  # the others might as well not exist, but one must
        used = used if used.size else np.arange(1)
        root = np.sqrt(theta[used])
        return self.X[:, used] * root, centres[:, used] * root

    def columns(self, theta: Array, kept: Index | None = None) -> Array:
        """Return the design matrix under these scales, or some columns of it."""
        constant = self.constant and (kept is None or 0 in kept)
        C = self.centres if kept is None else self.centres[self.kernels(kept)]
        if not C.shape[0]:
            return np.ones((self.X.shape[0], int(constant)))
        K = np.asarray(self.kernel(*self._scaled(theta, C)))
        return np.column_stack([np.ones(K.shape[0]), K]) if constant else K

    def kernels(self, kept: Index) -> Index:
        """Return which centres these columns have, the constant left out."""
        return kept[kept > 0] - 1 if self.constant else kept

    def slope(self, theta: Array, outputs: Sequence[Weights]) -> Array:
        """Return the gradient in the scales at fixed weights: eq. (18) of [JCFO]."""
        gradient = np.full(theta.size, self.scale_rate)
        for output in outputs:
            gradient -= self.pull(theta, output.w, self.weight * output.slope)
        return gradient

    def pull(self, theta: Array, w: Array, g: Array) -> Array:
        """Return ``sum_ij g_i w_j dK_ij / dtheta_k`` by matrix products, in blocks of features."""
        w = w[int(self.constant) :]
        which, gradient = np.flatnonzero(w), np.zeros(theta.size)
        if not which.size:
            return gradient
        C = self.centres[which]
        S = self.kernel.profile_slope(self._inner(theta, C)) * (g[:, None] * w[which])
        for features in row_blocks(theta.size, self.X.shape[0]):
            A, B = self.X[:, features], C[:, features]
            part = np.einsum("ik,ik->k", A, S @ B)
            if self._distances:  # (x - c)^2, expanded so that no n x m x p array appears
                part = S.sum(axis=1) @ A**2 + S.sum(axis=0) @ B**2 - 2 * part
            gradient[features] = part
        return gradient

    def derivatives(self, theta: Array, which: Index) -> tuple[Array, Array]:
        """Return first and second derivative of the profile at each row and these centres."""
        t = self._inner(theta, self.centres[which])
        first = self.kernel.profile_slope(t)
        second = np.imag(self.kernel.profile_slope(t + 1j * _COMPLEX)) / _COMPLEX
        return np.asarray(first), np.asarray(second)

    def statistics(self, which: Index, features: Index) -> Iterator[Array]:
        """Yield ``s_ijk`` of these features, one centre j after the other."""
        A = self.X[:, features]
        for centre in self.centres[np.ix_(which, features)]:
            yield (A - centre) ** 2 if self._distances else A * centre

    def _inner(self, theta: Array, centres: Array) -> Array:
        pair = self._scaled(theta, centres)
        return squared_distances(*pair) if self._distances else dot_products(*pair)

    @property
    def _distances(self) -> bool:
        return isinstance(self.kernel, Stationary)

    @cached_property
    def learns_noise(self) -> bool:
        """Whether the noise of a regression is to be found too."""
        return isinstance(self.likelihood, Gaussian) and self.likelihood.estimate

    def residual(self, theta: Array, outputs: Sequence[Weights]) -> float:
        """Return the largest violation of the conditions of optimality, in units of the rates."""
        Phi = self.columns(theta)
        slope = self.slope(theta, outputs) / self.scale_rate
        worst = float(np.where(theta > 0, np.abs(slope), np.maximum(-slope, 0.0)).max())
        for output in outputs:
            g = Phi.T @ (self.weight * output.slope)
            worst = max(worst, output.violation(self, g))
        return worst

    def joint(self, theta: Array, outputs: list[Weights]) -> Joint:
        """Return where the search stands with these scales and weights."""
        value = self.scale_rate * float(theta.sum()) + sum(output.value for output in outputs)
        return Joint(theta, outputs, value)


@dataclass
class Joint:
    """Where the search stands: scales, the weights of every output, and the objective."""

    theta: Array
    outputs: list[Weights]
    value: float
    evaluations: int = 0
    values: list[float] = field(default_factory=list)
    converged: bool = False
    residual: float = np.inf
    stopped: bool = False  # by a callback

    @property
    def empty(self) -> bool:
        """Whether it has found nothing to say."""
        return not any(output.w.any() for output in self.outputs) or not self.theta.any()


def project(
    question: JointProblem, theta: Array, warm: Sequence[Weights] | None = None, tol: float = 1e-8
) -> Joint:
    """Return the best weights for these scales, and ``phi(theta)``."""
    Phi = question.columns(theta)
    outputs = [
        best_weights(question, Phi, y, None if warm is None else warm[k], tol)
        for k, y in enumerate(question.targets)
    ]
    return question.joint(theta, outputs)


Callback = Callable[[Joint], object]


def descend(
    value_and_slope: Callable[[Array], tuple[float, Array]],
    start: Array,
    options: dict[str, Any],
    callback: Callable[[Any], None] | None = None,
) -> tuple[Array, bool]:
    """Minimise over numbers that are not negative; zeros come out exact.

    L-BFGS-B may miss its bounds by a rounding, and a scale of -5e-32 has no root.
    """
    anything: Any = minimize  # its overloads do not know a function that returns both
    found = anything(
        lambda x: value_and_slope(np.maximum(x, 0.0)),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * start.size,
        callback=callback,
        options=options,
    )
    # A line search that finds nothing lower has reached the last digit.
    return np.maximum(found.x, 0.0), bool(found.success) or "ABNORMAL" in str(found.message)
