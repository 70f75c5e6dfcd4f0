"""Step sizes of a fixed-point iteration, one per coordinate, adapted by the signs of its changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from .._protocols import Array, Index

# A coordinate whose last two changes have the same sign takes longer steps, by this factor.
_GROWTH = 1.3
# One whose last two changes have opposite signs takes shorter ones.
_SHRINKAGE = 0.5
# Multiples of the update between which all steps stay.
_MIN_MULTIPLE = 0.7
_MAX_MULTIPLE = 2.0


@dataclass(frozen=True)
class RpropStep:
    """What an update changes, and the multiple of it that is taken, as in Rprop [RB93]_.

    The precisions of a model are nearly independent of each other: some go to infinity at a steady rate,
    others oscillate about their limits. So each has a step size of its own.

    References
    ----------
    .. [RB93] M. Riedmiller, H. Braun, A direct adaptive method for faster backpropagation learning: the
       RPROP algorithm, ICNN 1993.
    """

    change: Array
    multiple: Array

    @classmethod
    def first(cls, change: Array) -> Self:
        """Return the step of the plain update."""
        return cls(change, np.ones_like(change))

    def next(self, change: Array) -> RpropStep:
        """Return the step after one more update."""
        agreement = change * self.change
        longer = np.minimum(_GROWTH * self.multiple, _MAX_MULTIPLE)
        shorter = np.maximum(_SHRINKAGE * self.multiple, _MIN_MULTIPLE)
        multiple = np.where(agreement < 0, shorter, self.multiple)
        return RpropStep(change, np.where(agreement > 0, longer, multiple))

    def keep(self, index: Index) -> RpropStep:
        """Return the step of these coordinates."""
        return RpropStep(self.change[index], self.multiple[index])
