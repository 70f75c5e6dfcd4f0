"""A cache of the last Gram matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._protocols import Array, Index


class GramMemory:
    """The last ``Phi' diag(r) Phi`` that a design has computed, with its weights r.

    EM for the probit model needs the same matrix at every iteration, a regression a multiple of it, and
    pruning only removes rows and columns.
    """

    def __init__(self, known: tuple[Array, Array] | None = None) -> None:
        self._known = known

    def __call__(self, r: Array, compute: Callable[[], Array]) -> Array:
        """Return the Gram matrix for these weights, computed only if it is not known."""
        ratio = None if self._known is None else _proportion(r, self._known[0])
        if self._known is None or ratio is None:
            self._known, ratio = (r.copy(), compute()), 1.0
        gram = self._known[1]
        return gram if ratio == 1.0 else ratio * gram

    def rows(self, columns: Index, r: Array) -> Array | None:
        """Return these rows of the Gram matrix for these weights, if it is known."""
        ratio = None if self._known is None else _proportion(r, self._known[0])
        return None if self._known is None or ratio is None else ratio * self._known[1][columns]

    def keep(self, active: Index) -> GramMemory:
        """Return a cache with these columns only."""
        if self._known is None:
            return GramMemory()
        r, gram = self._known
        return GramMemory((r, gram[np.ix_(active, active)]))

    def share(self) -> GramMemory:
        """Return an independent cache with the same content."""
        return GramMemory(self._known)


def _proportion(r: Array, known: Array) -> float | None:
    """Return ``r / known`` if that is one number (the noise of a regression has changed), else None."""
    if not known.size:
        return None
    if np.array_equal(r, known):
        return 1.0
    ratio = float(r.sum() / known.sum())
    expected = ratio * known  # of weights, so not negative
    return ratio if (np.abs(r - expected) <= 1e-14 * expected).all() else None
