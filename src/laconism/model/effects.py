"""Effects of features: the parts of a latent under a centred additive kernel, and their variances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from .._protocols import Array, Basis, Index
from ..basis import KernelBasis
from ..kernels import Additive
from ..posterior import GaussianPosterior
from .bases import without_constant


class Effect(NamedTuple):
    """A set of features, and the variance of the latent that it explains beyond its subsets.

    ``share`` is its Sobol index, its share of the variance of the latent. ``names`` is ``None`` if the
    model was fitted without names of features. Where sets are too many, the effect without features is
    the sum of those that are not listed.
    """

    features: tuple[int, ...]
    names: tuple[str, ...] | None
    variance: float
    share: float


@dataclass(frozen=True)
class AdditiveLatent:
    r"""A latent as a constant and a sum of effects, :math:`b + \sum_S f_S(x_S)`.

    With weights :math:`a_j` of a centred additive kernel on rows :math:`c_j`,
    :math:`f_S(x_S) = \sum_j a_j K_S(x, c_j)`. Under the normal distribution of the inputs by which the
    kernel is centred, effects have mean zero and are uncorrelated, so that their variances add up to
    that of the latent (Sobol 2001; Lu, Boukouvalas and Hensman 2022).
    """

    kernel: Additive
    centres: Any
    posterior: GaussianPosterior
    weights: Index  # which weights are those of the kernels; another one is that of a constant column

    @property
    def constant(self) -> float:
        """The mean of the latent."""
        return self.posterior.intercept + float(np.delete(self.posterior.mean, self.weights).sum())

    def effect(self, X: Any, features: Sequence[int]) -> tuple[Array, Array]:
        """Return mean and standard deviation of an effect at each row, given the kept kernels."""
        Phi = np.zeros((X.shape[0], self.posterior.mean.size))
        if self.centres.shape[0]:
            Phi[:, self.weights] = self.kernel.effect(X, self.centres, features)
        v = (self.posterior.root_dot(Phi.T) ** 2).sum(axis=0)
        return Phi @ self.posterior.mean, np.sqrt(v)

    def effects(self, names: Sequence[str] | None = None) -> list[Effect]:
        """Return the effects of the mean latent that are not zero, the largest variance first."""
        found = self._variances()
        total = sum(found.values())
        return [
            Effect(
                features,
                None if names is None else tuple(str(names[j]) for j in features),
                variance,
                variance / total,
            )
            for features, variance in sorted(found.items(), key=lambda item: -item[1])
            if variance > np.sqrt(np.finfo(float).eps) * total  # less is rounding
        ]

    def _variances(self, max_products: int = 100_000_000) -> dict[tuple[int, ...], float]:
        """Return the variance of the effect of each set of features.

        Sets of one order are not told apart if their products over all pairs of kernels are more
        numbers than ``max_products``.
        """
        a, kernel = self.posterior.mean[self.weights], self.kernel
        if not a.any():
            return {}
        one = clone(kernel).set_params(order=1, variances=None)
        used = [term.feature for term in kernel.terms(self.centres.shape[1])]
        products = {j: one.effect_products(self.centres, [j]) for j in used}
        A, found = np.outer(a, a), dict[tuple[int, ...], float]()
        for order, height in enumerate(kernel.order_variances() ** 2, start=1):
            if comb(len(used), order) * a.size**2 <= max_products or order == 1:
                each = _explained(A, products, used, order)
                found |= {features: float(height) * value for features, value in each}
            else:
                together = float(np.vdot(A, _summed(products.values(), order)))
                found[()] = found.get((), 0.0) + float(height) * together
        return found


def additive_latents(
    basis: Basis, columns: Sequence[Index], posteriors: Sequence[GaussianPosterior]
) -> list[AdditiveLatent]:
    """Return the latent of each output; none unless the columns are of a centred additive kernel."""
    kept = without_constant(basis)
    kernel = kept.kernel if isinstance(kept, KernelBasis) else None
    if not isinstance(kernel, Additive) or kernel.mean is None:
        return []
    found = []
    for index, posterior in zip(columns, posteriors, strict=True):
        weights = np.flatnonzero(basis.source[index] >= 0)
        place = index[weights] - (basis.n_columns - kept.n_columns)
        found.append(AdditiveLatent(kernel, kept.centres[place], posterior, weights))
    return found


def _explained(
    A: Array, products: dict[int, Array], features: Sequence[int], order: int
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield all sets of this order, with the sum over ``A`` times the product of their matrices."""
    for place, j in enumerate(features):
        if order == 1:
            yield (j,), float(np.vdot(A, products[j]))
        else:
            for others, value in _explained(A * products[j], products, features[place + 1 :], order - 1):
                yield (j, *others), value


def _summed(products: Any, order: int) -> Array:
    """Return the sum over all sets of this order of the product of their matrices."""
    sums: list[Any] = [1.0, *[0.0] * order]
    for each in products:
        for o in range(order, 0, -1):
            sums[o] = sums[o] + each * sums[o - 1]
    return np.asarray(sums[order])
