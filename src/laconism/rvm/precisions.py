"""The precisions of a grid of weights: one gamma variable per slice of each mode."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import prod
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from scipy.special import digamma, gammaln

from .._protocols import Array, Index

Combine: TypeAlias = Literal["product", "sum"]
Modes: TypeAlias = tuple[Array, ...]

# Largest factor by which one update of the fixed-point form changes a precision.
MAX_UPDATE_FACTOR = 10.0
# A column or slice whose data determine fewer parameters than this is pruned if its precision still
# grows.
MIN_WELL_DETERMINED = 1e-3


def _spread(values: Modes) -> list[Array]:
    """Return the values of each mode, one per slice, as arrays that broadcast over the grid."""
    return list(np.ix_(*values))


def over_slices(grid: Array, mode: int) -> Array:
    """Return the sum over everything but this mode."""
    return np.asarray(grid.sum(axis=tuple(k for k in range(grid.ndim) if k != mode)))


def _rates(shape: Any, mean: Any, largest: float = 1e300) -> Array:
    """Return the rates of gamma distributions, given shapes and means; tiny means have the largest."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.asarray(np.minimum(np.divide(shape, mean), largest))


@dataclass(frozen=True)
class Precisions:
    r"""Gamma posteriors :math:`q(\alpha_i) = \mathcal G(a_i, b_i)`, eqs. (15), (16) of [GRID].

    The precision of the weight at :math:`(i, j, \dots)` is the product (eq. (2)) or the sum (eq. (5))
    of the variables of its slices; with one mode both are the relevance vector machine.
    """

    combine: Combine
    shape0: float  # of the gamma hyper-prior; with both zero it is the improper 1 / alpha
    rate0: float
    a: Modes
    b: Modes

    @classmethod
    def uniform(
        cls, combine: Combine, shape: float, rate: float, grid: tuple[int, ...], A: float
    ) -> Self:
        """Return the start: every weight has the precision ``A``, in equal shares of its slices.

        ``rate`` is in units of one over the mean that the slices start from.
        """
        modes = len(grid)
        mean = A ** (1 / modes) if combine == "product" else A / modes
        share = 1.0 if combine == "product" else 1 / modes
        a = tuple(np.full(size, shape + share * prod(grid) / size / 2) for size in grid)
        return cls(combine, shape, float(_rates(rate, mean)), a, tuple(_rates(part, mean) for part in a))

    @property
    def grid(self) -> tuple[int, ...]:
        """Slices of each mode."""
        return tuple(a.size for a in self.a)

    @cached_property
    def means(self) -> Modes:
        """``E[alpha]``, eqs. (19), (21)."""
        return tuple(a / b for a, b in zip(self.a, self.b, strict=True))

    @cached_property
    def logs(self) -> Modes:
        """``E[log alpha]``, eqs. (20), (22)."""
        return tuple(digamma(a) - np.log(b) for a, b in zip(self.a, self.b, strict=True))

    @cached_property
    def precision(self) -> Array:
        """Expected precision of every weight, on the grid."""
        combine = np.multiply if self.combine == "product" else np.add
        return np.asarray(reduce(combine, _spread(self.means)))

    @cached_property
    def log_precision(self) -> Array:
        """Expected log precision of every weight; for the sum its bound (23) at its tightest."""
        combine = np.add if self.combine == "product" else np.logaddexp
        return np.asarray(reduce(combine, _spread(self.logs)))

    def responsibility(self, mode: int) -> Array:
        """Return what part of each weight's log precision the bound (23) gives to this mode."""
        return np.asarray(np.exp(_spread(self.logs)[mode] - self.log_precision))

    def largest_shares(self) -> list[float]:
        """Return the largest part that each mode has in any weight's precision, for the sum."""
        return [float((part / self.precision).max()) for part in _spread(self.means)]

    def divergence(self) -> float:
        r"""Return :math:`\mathrm{KL}(q(\alpha)\,\|\,p(\alpha))`, with a proper prior's constants."""
        a0, b0, total = self.shape0, self.rate0, 0.0
        for a, b in zip(self.a, self.b, strict=True):
            terms = (a - a0) * digamma(a) - gammaln(a) + a0 * np.log(b) + a * (b0 - b) / b
            total += float(terms.sum())
            if a0 > 0 and b0 > 0:
                total += a.size * float(gammaln(a0) - a0 * np.log(b0))
        return total

    def _scaled_sum(self, values: Array, mode: int) -> Array:
        """Return the sum over each slice, of a product times the means of the other modes."""
        if self.combine == "product":
            for k, mean in enumerate(_spread(self.means)):
                values = values if k == mode else values * mean
        return over_slices(values, mode)

    def _shape(self, mode: int) -> Array:
        """Return the gamma shapes of a mode; those of a sum count the responsibilities."""
        size = self.grid[mode]
        if self.combine == "product":
            return np.full(size, self.shape0 + prod(self.grid) / size / 2)
        return self.shape0 + over_slices(self.responsibility(mode), mode) / 2

    def _with_mode(self, mode: int, a: Array, b: Array) -> Self:
        """Return the precisions with one mode replaced."""
        last = mode + 1
        new_a, new_b = (*self.a[:mode], a, *self.a[last:]), (*self.b[:mode], b, *self.b[last:])
        return replace(self, a=new_a, b=new_b)

    def variational(self, second: Array, responsibility_rounds: int = 5) -> Self:
        """Return the variational update, section 5 of [GRID], from ``E[w^2]`` on the grid.

        The rounds alternate the responsibilities and shapes of a sum, and cost no solve.
        """
        new, modes = self, range(len(self.a))
        if self.combine == "product":
            for mode in modes:
                rate = self.rate0 + new._scaled_sum(second, mode) / 2
                new = new._with_mode(mode, self._shape(mode), rate)
            return new
        b = tuple(self.rate0 + over_slices(second, mode) / 2 for mode in modes)
        for _ in range(1 if len(self.a) == 1 else responsibility_rounds):
            new = replace(new, a=tuple(new._shape(mode) for mode in modes), b=b)
        return new

    def fixed_point(self, square: Array, well_determined: Array) -> Self:
        r"""Return MacKay's form of the same update, from :math:`\mu^2` and :math:`\gamma` on the grid.

        Its fixed points are those of :meth:`variational`: there :math:`A\,E[w^2] = A\mu^2 + 1 - \gamma`.
        """
        new = self
        for mode, old in enumerate(self.means):
            a, determined = self._shape(mode), well_determined
            if self.combine == "sum":
                undetermined = _spread(self.means)[mode] / self.precision * (1 - well_determined)
                determined = self.responsibility(mode) - undetermined
            top = self.shape0 + over_slices(determined, mode) / 2
            bottom = self.rate0 + new._scaled_sum(square, mode) / 2
            with np.errstate(divide="ignore", over="ignore"):
                mean = np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), np.inf)
            mean = np.clip(mean, old / MAX_UPDATE_FACTOR, old * MAX_UPDATE_FACTOR)
            if self.combine == "sum":  # where this form has no update, take the variational one
                second = over_slices(square + (1 - well_determined) / self.precision, mode)
                mean = np.where(top > 0, mean, a / (self.rate0 + second / 2))
            new = new._with_mode(mode, a, _rates(a, mean))
        return new

    def keep(self, slices: tuple[Index, ...]) -> Self:
        """Return the precisions of these slices only."""
        return replace(
            self,
            a=tuple(a[index] for a, index in zip(self.a, slices, strict=True)),
            b=tuple(b[index] for b, index in zip(self.b, slices, strict=True)),
        )

    def positions(self, slices: tuple[Index, ...]) -> Index:
        """Return the positions of these slices in :attr:`log_means`."""
        starts = np.cumsum((0, *self.grid[:-1]))
        return np.concatenate([start + index for start, index in zip(starts, slices, strict=True)])

    def with_log_means(self, log_means: Array) -> Self:
        """Return the precisions with these means, mode after mode, and the same gamma shapes."""
        parts = np.split(np.exp(log_means), np.cumsum(self.grid)[:-1])
        return replace(self, b=tuple(map(_rates, self.a, parts)))

    @property
    def log_means(self) -> Array:
        """Logarithms of all means, mode after mode."""
        return np.asarray(np.log(np.concatenate(self.means)))
