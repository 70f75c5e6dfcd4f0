"""Predictive mean and error band of a regressor of one feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._protocols import Array
from ._draw import (
    FIRST,
    Display,
    brief,
    grid_like,
    kept,
    last_step,
    legend_below,
    mark_relevance,
    names_of_axes,
    need,
    one_each,
    original_rows,
    points_of,
    ranges,
    unwrap,
)


@dataclass(eq=False, repr=False, kw_only=True)
class RegressionBandDisplay(Display):
    """Predictive mean and two standard deviations of a regressor of one feature.

    Use :meth:`from_estimator` to create one. The band is for a new observation: its variance is that of
    the function plus that of the noise. Relevance vectors are marked with squares.

    Parameters
    ----------
    x : ndarray of shape (n_points,)
        Points at which the band is drawn.
    mean, std : ndarray of shape (n_points,)
        Predictive mean and standard deviation at these points.
    X : ndarray of shape (n_samples,) or None, default=None
        Observations to draw.
    y : ndarray of shape (n_samples,) or None, default=None
        Their targets.
    relevance : ndarray of shape (n_relevant,) or None, default=None
        Values of the feature at the kept rows.
    relevance_y : ndarray of shape (n_relevant,) or None, default=None
        Vertical position of their squares; None puts them on the mean.
    feature_name : str, default="feature 0"
        Label of the horizontal axis.
    title : str, default=""
        Title of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
        The mean.
    band_ : matplotlib PolyCollection
    points_, squares_ : matplotlib PathCollection or None
        Observations and relevance vectors.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from laconism import RVMRegressor
    >>> from laconism.datasets import make_sinc
    >>> from laconism.inspection import RegressionBandDisplay
    >>> X, y = make_sinc(100, random_state=0)
    >>> model = RVMRegressor(gamma=1 / 18).fit(X, y)
    >>> display = RegressionBandDisplay.from_estimator(model, X, y)
    >>> len(display.relevance) == model.n_relevant_
    True
    >>> plt.close(display.figure_)
    """

    x: Array
    mean: Array
    std: Array
    X: Array | None = None
    y: Array | None = None
    relevance: Array | None = None
    relevance_y: Array | None = None
    feature_name: str = "feature 0"
    title: str = ""

    _size = (6.4, 4.4)  # inches

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        margin: float = 0.08,
        n_points: int = 400,
        feature_name: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw a fitted regressor over the range of the data.

        Parameters
        ----------
        estimator : regressor with ``predict_dist``, or Pipeline ending in one
            Fitted on one feature.
        X : array-like or data frame of shape (n_samples, 1)
            Observations, which determine the range of the band.
        y : array-like of shape (n_samples,) or None, default=None
            Their targets; None draws no points.
        margin : float, default=0.08
            Margin on both sides, as a fraction of the range of the data.
        n_points : int, default=400
            Number of points of the band.
        feature_name : str or None, default=None
            Label of the axis; None uses the column name of ``X``.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : RegressionBandDisplay
        """
        estimator = unwrap(estimator)
        model = last_step(estimator)
        need(hasattr(model, "predict_dist"), cls, "a regressor with predict_dist", model)
        points = points_of(cls, X, 1)
        targets = None if y is None else one_each(y, len(points), "target").astype(np.float64)
        (x,) = ranges(points, margin, n_points)
        grid = grid_like(X, estimator, [x])
        if estimator is not model:
            grid = estimator[:-1].transform(grid)
        mean, std = model.predict_dist(grid)
        vectors = original_rows(estimator, getattr(model, "relevance_vectors_", None))
        source = getattr(model, "relevance_", None)
        known = targets is not None and source is not None and len(targets) > np.max(source, initial=-1)
        same = known and vectors is not None and np.allclose(points[source], vectors)
        display = cls(
            x=x,
            mean=mean,
            std=std,
            X=points[:, 0],
            y=targets,
            relevance=None if vectors is None else vectors[:, 0],
            relevance_y=targets[source] if same and targets is not None else None,
            feature_name=feature_name or names_of_axes(X, estimator, None, 1)[0],
            title=kept(model),
        )
        return display.plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        low, high = self.mean - 2 * self.std, self.mean + 2 * self.std
        self.band_ = ax.fill_between(
            self.x, low, high, facecolor="#d4e1ee", edgecolor=FIRST, linewidth=0.6, label="± 2 std"
        )
        (self.line_,) = ax.plot(self.x, self.mean, color=FIRST, linewidth=1.8, label="mean")
        self.points_: Any = None
        if self.X is not None and self.y is not None:
            self.points_ = ax.scatter(
                self.X, self.y, s=12, color="#404040", marker="o", zorder=3, label="data"
            )
        self.squares_: Any = None
        if self.relevance is not None:
            on_mean = np.interp(self.relevance, self.x, self.mean)
            height = on_mean if self.relevance_y is None else self.relevance_y
            self.squares_ = mark_relevance(ax, self.relevance, height, s=110, linewidths=1.8, zorder=4)
        ax.set(xlabel=brief(self.feature_name), ylabel="target", title=self.title)
        ax.set_xlim(self.x.min(), self.x.max())
        handles, _ = ax.get_legend_handles_labels()
        legend_below(ax, 0.14, len(handles))
