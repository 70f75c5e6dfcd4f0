"""Kept weights of a model as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._component import is_count
from .._protocols import Array
from ._draw import FILL, FIRST, Display, brief, last_step, names_of_features, need, one_of, unwrap


@dataclass(eq=False, repr=False)
class RelevanceDisplay(Display):
    """Weights of the kept features or kernels as bars, the largest on top.

    Use :meth:`from_estimator` to create one. Positive weights are filled, negative ones hatched. The
    whiskers are two standard deviations of the posterior, given the selection.

    Parameters
    ----------
    values : ndarray of shape (n_kept,)
        The weights, the largest first.
    names : sequence of str
        Names of the features or kernels.
    deviations : ndarray of shape (n_kept,) or None, default=None
        Their standard deviations.
    label : str, default="weight"
        Label of the horizontal axis.
    title : str, default=""
        Title of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from laconism import SparseBayesRegressor
    >>> from laconism.datasets import make_sparse_regression
    >>> from laconism.inspection import RelevanceDisplay
    >>> X, y, coef = make_sparse_regression(80, 30, n_relevant=3, random_state=0)
    >>> display = RelevanceDisplay.from_estimator(SparseBayesRegressor().fit(X, y))
    >>> sorted(display.names) == [f"feature {k}" for k in coef.nonzero()[0]]
    True
    >>> plt.close(display.figure_)
    """

    values: Array
    names: Sequence[str]
    deviations: Array | None = None
    label: str = "weight"
    title: str = ""

    def __post_init__(self) -> None:
        self._size = (6.0, 1.4 + 0.27 * max(len(self.values), 1))  # inches; as tall as the bars need

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        output: int | None = None,
        feature_names: Sequence[str] | None = None,
        max_bars: int = 20,
        ax: Any = None,
    ) -> Self:
        """Draw the kept weights of a fitted model.

        These are ``coef_`` for models of features, ``feature_scales_`` for models with feature scales,
        and ``dual_coef_`` for models of kernels, with one bar for each kept row.

        Parameters
        ----------
        estimator : estimator of laconism or linear model, or Pipeline ending in one
        output : int or None, default=None
            Index of one of several outputs; None draws the largest weight over all of them.
        feature_names : sequence of str or None, default=None
            Names of the features; None uses those seen in ``fit``, else numbers.
        max_bars : int, default=20
            Maximum number of bars; the title gives the number of those left out.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : RelevanceDisplay
        """
        estimator = unwrap(estimator)
        model = last_step(estimator)
        values, names, deviations, label = _weights(cls, estimator, model, output, feature_names)
        order = np.argsort(-np.abs(values), kind="stable")
        order = order[values[order] != 0]
        if not is_count(max_bars):
            raise ValueError(f"max_bars must be a positive whole number, got {max_bars!r}.")
        shown = order[:max_bars]
        title = f"{order.size} of {values.size} kept" if label != "weight of the kernel" else ""
        if shown.size < order.size:
            title = f"{title or f'{order.size} kept'}, the {shown.size} largest"
        display = cls(
            values[shown],
            [names[k] for k in shown],
            None if deviations is None else deviations[shown],
            label,
            title or f"{order.size} kernels kept",
        )
        return display.plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        place = np.arange(len(self.values))
        self.bars_ = ax.barh(
            place,
            self.values,
            0.7,
            color=[FILL if value > 0 else "white" for value in self.values],
            hatch=["" if value > 0 else "////" for value in self.values],
            edgecolor=FIRST,
            xerr=None if self.deviations is None else 2 * self.deviations,
            error_kw={"ecolor": "black", "capsize": 2, "elinewidth": 1.0},
        )
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_yticks(place, [brief(name) for name in self.names])
        ax.invert_yaxis()
        ax.set(xlabel=self.label, title=self.title)


def _weights(
    owner: type, estimator: Any, model: Any, output: int | None, given: Sequence[str] | None
) -> tuple[Array, list[str], Array | None, str]:
    """Return all weights, the names of their columns, their deviations and the label of the axis."""
    if hasattr(model, "grid_shape_"):
        raise TypeError(
            f"{type(model).__name__} has a grid of weights: draw it with GridRelevanceDisplay."
        )
    of_scales, of_kernels = hasattr(model, "feature_scales_"), not hasattr(model, "coef_")
    table = getattr(model, "dual_coef_" if of_kernels else "coef_", None)
    if of_scales:
        table = model.feature_scales_
    found = isinstance(table, np.ndarray) and hasattr(model, "intercept_")
    need(found, owner, "a model with weights", model)
    weights, what = np.atleast_2d(np.asarray(table, dtype=float)), "scale" if of_scales else "weight"
    if len(weights) > 1 and output is None:
        values, label = np.abs(weights).max(axis=0), f"largest |{what}| over the classes"
    else:
        values, label = one_of(weights, output or 0), what
    if of_scales:
        names = names_of_features(estimator, given, values.size)
        return values, names, None, f"{label} of the feature"
    if of_kernels:
        rows = getattr(model, "relevance_", range(values.size))
        return values, [f"row {k}" for k in rows], None, f"{label} of the kernel"
    # There are more monomials than features.
    count = getattr(model, "n_features_in_", values.size)
    names = [f"column {k}" for k in range(values.size)]
    if count == values.size:
        names = names_of_features(estimator, given, count)
    shared = len(weights) > 1 and output is None
    return values, names, None if shared else _deviations(model, values, output or 0), label


def _deviations(model: Any, values: Array, output: int) -> Array | None:
    """Return posterior standard deviations, None if the posterior is not over just these weights."""
    posteriors = getattr(model, "posteriors_", None)
    active = np.flatnonzero(values)
    if posteriors is None or posteriors[output].mean.size != active.size:
        return None
    spread = np.zeros(values.size)
    variance = np.diag(posteriors[output].covariance_dot(np.eye(active.size)))
    spread[active] = np.sqrt(np.maximum(variance, 0.0))
    return spread if spread.any() else None
