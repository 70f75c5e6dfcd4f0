"""The generalized Gaussian prior: any degree of sparsity between ridge and best subset."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from scipy.special import gammaln

from .._component import MAX_SCALE, is_name, is_number, require, require_scale
from .._protocols import Array
from ._base import Prior


@dataclass(eq=False, repr=False)
class GeneralizedGaussian(Prior):
    r"""Generalized Gaussian prior, :math:`-\log p(w) = |w|^q / \mathrm{scale}`, eq. (4) of [GGIG]_.

    ``q = 2`` is :class:`Gaussian` (``scale = 2 width**2``), ``q = 1`` is :class:`Laplace`
    (``scale = 1 / rate``). Below ``q = 1`` the penalty is not convex, and zeros stay zero. By default
    the scale is estimated under an inverse gamma hyper-prior of shape ``a`` and scale ``b``. At
    convergence

    .. math:: \frac1{\mathrm{scale}} = \frac{m/q + a}{\sum_j|w_j|^q + b} .

    If :math:`m` is the number of weights, this is eq. (9) of [GGIG]_. With kernels there are as many
    weights as observations, and the maximum is then at all weights zero. ``scale="evidence"`` therefore
    uses MacKay's effective number of parameters, :math:`m = \mathrm{tr}(G(G + V^{-1})^{-1})`, with
    :math:`G` the curvature of the log-likelihood and :math:`V` the variances of the Gaussian that
    touches the prior; in classification corrected for the change of :math:`G` with the weights, so that
    at ``q = 2`` the scale maximises the Laplace evidence.

    Parameters
    ----------
    q : float, default=1.0
        Shape, in (0, 2].
    scale : float or {"evidence", "paper"}, default="evidence"
        Scale of :math:`|w|^q`, a positive number or a rule to estimate it. With ``"evidence"`` the unit
        of ``b`` is the scale at which the prior variance of the latent equals the noise variance of one
        observation, so that the units of features and target do not matter. Below ``q = 1`` it starts
        from the solution for ``q = 1``; ``solver=Newton(start="ridge")`` or ``"l1"`` start elsewhere.
        ``"paper"`` updates eq. (9) at every iteration, with :math:`m` and the sum over the weights above
        1e-4, as [GGIG]_ does, to reproduce it: with kernels all weights go to zero.
    a, b : float, default=1e-3
        Shape and scale of the inverse gamma hyper-prior; small values are nearly non-informative.

    Examples
    --------
    >>> from laconism import SparseBayesClassifier
    >>> from laconism.datasets import make_ripley
    >>> from laconism.priors import GeneralizedGaussian
    >>> float(GeneralizedGaussian(q=0.5, scale=2.0).variance(16.0))
    32.0
    >>> X, y = make_ripley(100, random_state=0)
    >>> models = [SparseBayesClassifier(GeneralizedGaussian(q), kernel="rbf") for q in (0.5, 1.5)]
    >>> [model.fit(X, y).n_relevant_ for model in models]
    [4, 100]

    References
    ----------
    .. [GGIG] G. Liu, J. Wu, S. Zhou, Probit classifiers with a generalized Gaussian scale mixture
       prior, IJCAI 2013.
    """

    q: float = 1.0
    scale: float | Literal["evidence", "paper"] = "evidence"
    a: float = 1e-3
    b: float = 1e-3

    def check(self) -> None:
        """Raise unless ``q`` is in (0, 2], ``scale`` positive or a name, ``a`` and ``b`` positive."""
        require(is_number(self.q) and 0 < self.q <= 2, self, "q must lie in (0, 2]", self.q)
        if not is_name(self.scale, "evidence", "paper"):
            require_scale(self, "scale", ", 'evidence' or 'paper'")
        require_scale(self, "a")
        require_scale(self, "b")

    @property
    def learns(self) -> bool:
        """Whether the scale is estimated."""
        return isinstance(self.scale, str)

    @property
    def level(self) -> float:
        """The scale; one if it is still to be estimated."""
        return 1.0 if isinstance(self.scale, str) else self.scale

    @property
    def kink(self) -> float:
        """``inf`` below ``q = 1``, ``1 / scale`` at 1, zero above."""
        if self.q == 1:
            return 1 / self.level
        return math.inf if self.q < 1 else 0.0

    @property
    def is_l1(self) -> bool:
        """True at ``q = 1``."""
        return self.q == 1

    @property
    def convex(self) -> bool:
        """True from ``q = 1`` on."""
        return self.q >= 1

    def penalty(self, u: Array) -> Array:
        """Return ``u**(q/2) / scale``."""
        return np.asarray(u) ** (self.q / 2) / self.level

    def variance(self, u: Array) -> Array:
        """Return ``scale u**(1 - q/2) / q``."""
        return self.level * np.asarray(u, dtype=float) ** (1 - self.q / 2) / self.q

    def log_density(self, w: Array) -> float:
        """Return the log density of all weights together, eq. (4) of [GGIG]."""
        constant = math.log(self.q / 2) - float(gammaln(1 / self.q)) - math.log(self.level) / self.q
        return w.size * constant - float(np.sum(self.penalty(w**2)))

    def at(self, scale: float) -> Self:
        """Return the prior with this scale."""
        return type(self)(self.q, float(np.clip(scale, 1 / MAX_SCALE, MAX_SCALE)), self.a, self.b)

    def of_variance(self, variance: float) -> Self:
        """Return the prior whose weights have this variance, ``scale**(2/q) G(3/q) / G(1/q)``."""
        ratio = float(gammaln(3 / self.q) - gammaln(1 / self.q))
        return self.at(math.exp(np.clip((math.log(variance) - ratio) * self.q / 2, -230.0, 230.0)))

    def learn(self, w: Array, effective: float, unit: float = 1.0) -> Self:
        """Return the prior with the scale of eq. (9), given the effective number m and the unit of b."""
        count, size = self._count(w, effective, unit)
        return self.at(size / count)

    def marginal(self, w: Array, effective: float, unit: float = 1.0) -> float:
        """Return the penalty with the scale integrated out, ``(m/q + a) log(sum |w|**q + b)``."""
        count, size = self._count(w, effective, unit)
        return count * math.log(size)

    def _count(self, w: Array, effective: float, unit: float) -> tuple[float, float]:
        if self.scale == "paper":
            w = w[np.abs(w) > 1e-4]  # section 4.2 of [GGIG]
            effective, unit = w.size, 1.0
        return effective / self.q + self.a, float(np.sum(np.abs(w) ** self.q)) + self.b * unit
