"""Penalties and shrinkage rules of priors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from .._component import resolve
from .._protocols import Array
from ..priors import REGISTRY, Prior
from ._draw import ASIDE, STYLES, Display, legend_below, style


@dataclass(eq=False, repr=False)
class PriorDisplay(Display):
    r"""Penalties of priors, or their shrinkage rules.

    Use :meth:`from_priors` to create one. A shrinkage rule maps the least-squares estimate
    :math:`\hat w` of one weight, or of each weight of an orthogonal design, to the mode of
    :math:`-(w - \hat w)^2/2 - \mathrm{penalty}(w^2)` that an ascent from :math:`\hat w` reaches; both
    are in units of the standard error. Laplace is the soft threshold, which shrinks all weights by the
    same amount. Jeffreys shrinks weights near its threshold and hardly changes large ones. Ridge sets
    no weight to zero.

    Parameters
    ----------
    w : ndarray of shape (n_points,), least-squares estimates for "shrinkage", weights for "penalty"
    curves : dict of str to ndarray of shape (n_points,), by prior the shrunk weight or penalty
    kind : {"shrinkage", "penalty"}, what the curves are, default="shrinkage"

    Attributes
    ----------
    ax_, figure_, lines_ : matplotlib Axes, Figure and list of Line2D, one for each prior

    Examples
    --------
    >>> from laconism.inspection import PriorDisplay
    >>> from laconism.priors import Jeffreys, Laplace
    >>> display = PriorDisplay.from_priors([Laplace(rate=1.0), Jeffreys(strength=1.0)], limit=5.0)
    >>> [float(curve[-1].round(2)) for curve in display.curves.values()]
    [4.0, 4.79]
    """

    w: Array
    curves: Mapping[str, Array]
    kind: Literal["shrinkage", "penalty"] = "shrinkage"

    _size = (6.0, 4.6)  # inches

    @classmethod
    def from_priors(
        cls,
        priors: Sequence[Prior | str] | Mapping[str, Prior],
        *,
        kind: Literal["shrinkage", "penalty"] = "shrinkage",
        limit: float = 4.0,
        ax: Any = None,
    ) -> Self:
        """Compute the curves of priors, and draw them.

        Parameters
        ----------
        priors : sequence of Prior or str, or dict of str to Prior
            The priors to compare; the keys of a dict are the names in the legend.
        kind : {"shrinkage", "penalty"}, what to draw, default="shrinkage"
        limit : float, for curves from ``-limit`` to ``limit``, default=4.0
        ax : matplotlib Axes or None (a new figure), default=None
        """
        if kind not in ("shrinkage", "penalty"):
            raise ValueError(f"kind must be 'shrinkage' or 'penalty', got {kind!r}.")
        if not (np.isfinite(limit) and limit > 0):
            raise ValueError(f"limit must be a positive number, got {limit!r}.")
        listed = priors.values() if isinstance(priors, Mapping) else priors
        checked = [resolve("prior", prior, REGISTRY, Prior) for prior in listed]
        if not checked:
            raise ValueError("priors is empty: give at least one prior to draw.")
        names = priors if isinstance(priors, Mapping) else map(repr, checked)
        w = np.linspace(-limit, limit, 401)
        curve = shrink if kind == "shrinkage" else _penalty
        curves = {str(name): curve(prior, w) for name, prior in zip(names, checked, strict=True)}
        return cls(w, curves, kind).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        if self.kind == "shrinkage":
            ax.plot(self.w, self.w, color=ASIDE, linewidth=0.8, label="no prior")
            ax.set(xlabel="least-squares estimate (standard errors)", ylabel="estimate under the prior")
        else:
            ax.set(xlabel="weight", ylabel="penalty, from its value at 1 (nats)")
        self.lines_ = []
        for k, (name, values) in enumerate(self.curves.items()):
            look = style(k)
            del look["marker"]
            look["linewidth"] = 1.8 if k < len(STYLES) else 1.0  # the styles repeat
            self.lines_ += ax.plot(self.w, values, label=name, **look)
        ax.axhline(0, color=ASIDE, linewidth=0.5)
        legend_below(ax, 0.14, 2)


def shrink(prior: Prior, estimate: Array, n_knots: int = 20_001) -> Array:
    """Return the shrunk weights for least-squares estimates, in units of their standard error.

    At a stationary point ``estimate = w + d penalty/dw``, and by the prior's law the slope is
    ``w / variance(w**2)``: the estimate is an explicit function of the weight. An ascent from the
    estimate ends at the largest stationary weight, or at zero if there is none. With this many knots
    the interpolation is accurate to five digits.
    """
    size = np.abs(np.asarray(estimate, dtype=float))
    w = np.geomspace(1e-8, 1.0, n_knots) * (1 + size.max(initial=0.0))
    with np.errstate(divide="ignore", over="ignore"):
        belongs = w + w / prior.variance(w**2)
    # The smallest estimate with a stationary weight of at least w.
    least = np.minimum.accumulate(belongs[::-1])[::-1]
    return np.asarray(np.sign(estimate) * np.interp(size, least, w, left=0.0))


def _penalty(prior: Prior, w: Array) -> Array:
    """Return the penalty, shifted to zero at a weight of one; infinite values become nan."""
    values = np.asarray(prior.penalty(w**2) - prior.penalty(np.ones(1)))
    return np.where(np.isfinite(values), values, np.nan)
