"""What all priors share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from .._component import Component
from .._protocols import Array


class Prior(Component, ABC):
    r"""A zero-mean scale mixture of Gaussians over one weight, seen through ``u = w**2``.

    The two methods belong together: the Gaussian of variance :math:`v(u)` touches the prior, which is
    the law :math:`2\,\frac{d\,\mathrm{penalty}}{du}\,v(u) = 1`
    (:func:`laconism.testing.check_prior`).
    """

    @abstractmethod
    def penalty(self, u: Array) -> Array:
        """Return minus the log density, up to a constant."""

    @abstractmethod
    def variance(self, u: Array) -> Array:
        """Return the variance of the touching Gaussian; 0 at ``u = 0`` makes zeros absorbing."""

    @property
    @abstractmethod
    def kink(self) -> float:
        """Slope of the penalty in ``|w|`` at 0+: zero is optimal while ``|gradient| <= kink``."""

    @property
    def is_l1(self) -> bool:
        """Whether the penalty is exactly ``kink * |w|``, so that the convex solver applies."""
        return False

    @property
    def convex(self) -> bool:
        """Whether the penalty is convex in the weight, so that there is one optimum."""
        return self.is_l1

    @property
    def learns(self) -> bool:
        """Whether a hyper-parameter is a rule by which it is learnt together with the weights."""
        return False

    def bind(self, n_columns: int, *, kernel: bool, labels: bool = False) -> Self:
        """Return the prior with everything that hangs on the problem's size made a number."""
        return self

    def charges(self, *, kernel: bool) -> bool:
        """Whether it is stricter the more columns there are: a charge that ends with the search."""
        return False
