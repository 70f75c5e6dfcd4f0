"""What all priors share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from .._component import Component

if TYPE_CHECKING:
    from .._protocols import Array


class Prior(Component, ABC):
    r"""A zero-mean scale mixture of Gaussians over one weight, seen through ``u = w**2``.

    At every :math:`u` a zero-mean Gaussian of variance :math:`v(u)`, suitably scaled, touches the prior
    from below. This ties the two methods together by the law
    :math:`2\,\frac{d\,\mathrm{penalty}}{du}\,v(u) = 1`, which
    :func:`laconism.testing.check_prior` tests.
    """

    @abstractmethod
    def penalty(self, u: Array) -> Array:
        """Return minus the log density, up to a constant."""

    @abstractmethod
    def variance(self, u: Array) -> Array:
        """Return the variance of the touching Gaussian; if it is 0 at ``u = 0``, zeros stay zero."""

    @property
    @abstractmethod
    def kink(self) -> float:
        """Slope of the penalty in ``|w|`` at 0+: a weight is zero while ``|gradient| <= kink``."""

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
        """Whether a hyper-parameter is estimated together with the weights."""
        return False

    def bind(self, n_columns: int, *, kernel: bool, labels: bool = False) -> Self:
        """Return the prior with the hyper-parameters that depend on the problem's size as numbers."""
        return self

    def charges(self, *, kernel: bool) -> bool:
        """Whether it is stricter with more columns; selected columns are refitted without it."""
        return False
