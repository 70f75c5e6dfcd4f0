"""How far to go beyond the update of a fixed-point iteration, coordinate by coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from .._protocols import Array, Index

# A coordinate that goes on in its direction goes faster, one that turns round goes slower.
_FASTER, _SLOWER = 1.3, 0.5
_LEAST, _MOST = 0.7, 2.0


@dataclass(frozen=True)
class RpropStep:
    """What an update changes, and the multiple of it that is taken.

    The precisions of a model are nearly independent of each other: some are on their way to infinity at
    a steady rate, others swing about where they end. So each has a pace of its own, learnt from whether
    its last two changes had the same sign.
    """

    change: Array
    multiple: Array

    @classmethod
    def first(cls, change: Array) -> Self:
        """Return the pace of the update itself."""
        return cls(change, np.ones_like(change))

    def then(self, change: Array) -> RpropStep:
        """Return the pace after one more update."""
        turn = change * self.change
        faster = np.minimum(_FASTER * self.multiple, _MOST)
        slower = np.maximum(_SLOWER * self.multiple, _LEAST)
        return RpropStep(change, np.where(turn > 0, faster, np.where(turn < 0, slower, self.multiple)))

    def keep(self, index: Index) -> RpropStep:
        """Return the pace of these coordinates."""
        return RpropStep(self.change[index], self.multiple[index])
