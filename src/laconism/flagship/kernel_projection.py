"""The projection of a Gaussian process onto few of its kernels: the loss under the prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._protocols import Array, Index
from ..linalg import Triangle, upper_root
from .projection import ROUNDING, choose_compressed
from .reference_features import KernelMap

if TYPE_CHECKING:
    from .reference import Reference


@dataclass(frozen=True)
class PriorPenalty:
    r"""The squared distance of a projection from the dense model under the prior, in nats.

    Columns are kernels, and the dense model is a Gaussian process with weights :math:`u` of precision
    :math:`\alpha` on features. With the features :math:`C` of the centres of the columns it is
    :math:`\tfrac{\alpha}2|C^Tw - u|^2`. Together with the loss at the training rows this is the
    distance in units of the posterior of the dense model. It decides what the training rows do not:
    the latent between them and far from them.
    """

    coordinates: Array  # C
    weights: Array  # u
    precision: float

    def on_columns(self, index: Index) -> Self:
        """Return the penalty on some of the columns."""
        return type(self)(self.coordinates[index], self.weights, self.precision)

    def added_to(self, gram: Array, slope: Array, cross: Array) -> tuple[Array, Array, Array]:
        """Return the normal equations of a projection with the penalty."""
        C, alpha = self.coordinates, self.precision
        return gram + alpha * (C @ C.T), slope + alpha * (C @ self.weights), cross + alpha * C.T


def choose_kernels(
    dense: Array,
    r: Array,
    weights: Array,
    coordinates: Array,
    precision: float,
    *,
    intercept: bool,
    max_columns: int,
    enough: float,
    min_columns: int = 0,
) -> list[Index]:
    r"""Return, for every size, kernels that explain a Gaussian process nearly as well as all kernels.

    As :func:`choose_columns`, with the loss of :class:`PriorPenalty` beside that at the training rows:
    :math:`\tfrac12(C^Tw - u)^TH(C^Tw - u)` with the posterior precision :math:`H` of the dense model.
    ``dense`` has its features at the rows, ``weights`` one column of weights for each output.
    """
    root = prior_root(dense, r, precision, intercept=intercept)
    T, t = root @ coordinates.T, root @ weights
    nothing = np.zeros(T.shape[1])
    return choose_compressed(T, t, nothing, nothing[:, None], ROUNDING, max_columns, enough, min_columns)


def prior_root(dense: Array, r: Array, precision: float, *, intercept: bool) -> Array:
    """Return a root of the posterior precision of the dense model, given its features at the rows."""
    centre = (r @ dense) / r.sum() if intercept else np.zeros(dense.shape[1])
    gram = dense.T @ (r[:, None] * dense) - r.sum() * np.outer(centre, centre)
    gram.flat[:: centre.size + 1] += precision
    triangle = Triangle.exact(gram)
    if triangle is not None:
        return triangle.lower.T
    half = np.sqrt(r)
    root = half[:, None] * (dense - centre)
    return upper_root(np.vstack([root, np.sqrt(precision) * np.eye(dense.shape[1])]))


def prior_penalties(references: Sequence[Reference], basis: Any) -> list[PriorPenalty]:
    """Return the penalty of each output; none unless the kernel is a covariance."""
    features = references[0].feature_map
    if not isinstance(features, KernelMap) or features.rotation is not None:
        return []
    C = features.columns(basis.centres)
    return [
        PriorPenalty(C, each.posterior.mean, 1 / each.weight_variance if each.weight_variance else 0.0)
        for each in references
    ]
