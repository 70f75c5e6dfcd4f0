"""The part of an additive kernel that compares the codes of categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from .._protocols import Array
from ._term import derivative

# A code has at least this share, so that its kernel is not unbounded.
_MIN_SHARE = 1e-8


def as_codes(x: Array) -> Array:
    """Return codes in single precision, so that they are the same in rows of either precision."""
    largest = float(np.finfo(np.float32).max)
    return np.clip(x, -largest, largest).astype(np.float32).astype(np.float64)


class CategoryTerm(NamedTuple):
    """One if two codes are equal and zero otherwise, centred under the shares of the codes."""

    feature: int
    codes: Array  # in ascending order
    shares: Array  # of the codes, with sum one
    weight: float
    is_centred: bool

    @classmethod
    def of(
        cls, feature: int, frequencies: Mapping[float, float], weight: float, *, centred: bool
    ) -> Self:
        """Return the term for codes of these frequencies."""
        codes, at = np.unique(as_codes(np.array([*frequencies], dtype=np.float64)), return_inverse=True)
        shares = np.bincount(at, [*frequencies.values()])
        shares = np.maximum(shares / shares.sum(), _MIN_SHARE)
        return cls(feature, codes, shares / shares.sum(), weight, centred)

    def share_of(self, x: Array) -> Array:
        """Return the share of each code, zero for one that is not known."""
        at = np.minimum(np.searchsorted(self.codes, x), self.codes.size - 1)
        return np.where(self.codes[at] == x, self.shares[at], 0.0)

    def diagonal(self, x: Array) -> Array:
        """Return the weighted kernel of each code with itself."""
        own = self.share_of(x) ** 2 / self.grand_mean if self.is_centred else np.zeros(x.size)
        return np.asarray(self.weight * (1 - own) / self.height)

    def mean_product(self, c: Array) -> Array:
        """Return ``E[k(S, c_i) k(S, c_j)]`` for a random code ``S``."""
        every = slice(None)
        K = self._replace(weight=1.0).pairs(self.codes, c).block(every, every)
        return np.asarray(K.T @ (self.shares[:, None] * K))

    @property
    def grand_mean(self) -> float:
        """The probability that two random codes are equal."""
        return float((self.shares**2).sum())

    @property
    def height(self) -> float:
        """The mean of ``k(S, S)`` for a random code ``S``, by which the kernel is divided."""
        if not self.is_centred or self.codes.size == 1:  # a single code has no effect
            return 1.0
        # One less each share, without cancellation: the sum of those below it and above it.
        below, above = np.cumsum(self.shares), np.cumsum(self.shares[::-1])[::-1]
        others = np.append(0.0, below[:-1]) + np.append(above[1:], 0.0)
        return float((self.shares**2 * others).sum()) / self.grand_mean

    def pairs(self, x: Array, c: Array) -> CategoryPairs:
        """Return the term for every pair of a code of ``x`` and one of ``c``."""
        return CategoryPairs(self, x, c, (self.share_of(x), self.share_of(c)))


@dataclass(frozen=True)
class CategoryPairs:
    """The term for every pair of codes, as :class:`~laconism.kernels._term.Pairs`."""

    term: CategoryTerm
    x: Array
    c: Array
    shares: tuple[Array, Array]

    def block(self, rows: slice, columns: slice) -> Array:
        """Return the kernel of some of the pairs."""
        E = np.equal.outer(self.x[rows], self.c[columns]).astype(np.float64)
        if self.term.is_centred:
            E -= np.multiply.outer(self.shares[0][rows], self.shares[1][columns] / self.term.grand_mean)
        E *= (self.term.weight or 1.0) / self.term.height
        return E

    def slopes(
        self, rest: Sequence[Array], t: Array | None, rows: slice, columns: slice
    ) -> tuple[float, float]:
        """Return the gradients in the weight, and in gamma, of which there is none."""
        if t is None:
            return float(np.vdot(rest[0], self.block(rows, columns))), 0.0
        return float(np.vdot(derivative(rest, t), t)) / self.term.weight, 0.0
