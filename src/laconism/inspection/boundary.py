"""Probabilities and decision boundary of a classifier of two features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._protocols import Array
from ._draw import (
    Display,
    brief,
    grid_like,
    kept,
    last_step,
    legend_below,
    mark_relevance,
    names_of_axes,
    one_each,
    original_rows,
    points_of,
    ranges,
    unwrap,
)

# Squares are reserved for relevance vectors; hollow and filled marks differ without colour too.
_MARKERS = ("o", "^", "D", "v", "P", "X", "<", ">")
# Pale, so that points stand out, but the two sides differ in grey as well.
_SHADES = ("#fbe3c4", "#eceff2", "#8fb4d9")
_REGIONS = ("#fbe3c4", "#bcd4ea", "#d5e8cf", "#e8d3e6", "#f2f0b6", "#d9d9d9", "#f6c9c9", "#c4e8e4")
_POINTS = ("#a04a00", "#08306b", "#1b5e20", "#6a1b6a", "#6b6500", "#303030", "#8b1a1a", "#00585a")
_WIDTHS = {"solid": 1.8, "dashed": 1.0}


@dataclass(eq=False, repr=False, kw_only=True)
class BoundaryDisplay(Display):
    """Probabilities, decision boundary and relevance vectors of a classifier of two features.

    Use :meth:`from_estimator` to create one. With two classes the shade is the predictive probability
    of the second; the solid line is at probability 0.5, the dashed lines at 0.1 and 0.9. With more
    classes each region has the colour of its most probable class.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (grid_resolution, grid_resolution)
        The grid: first and second feature.
    response : ndarray of shape (grid_resolution, grid_resolution, n_classes)
        Probabilities of the classes on the grid.
    classes : sequence
        Names of the classes.
    X : ndarray of shape (n_samples, 2) or None, default=None
        Points to draw.
    y : array-like of shape (n_samples,) or None, default=None
        Their classes; None draws all points alike.
    relevance_vectors : ndarray of shape (n_relevant, 2) or None, default=None
        Points to mark with squares.
    feature_names : sequence of two str, default=("feature 0", "feature 1")
        Labels of the axes.
    title : str, default=""
        Title of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    surface_ : matplotlib QuadMesh
        The shade.
    boundaries_ : list of matplotlib ContourSet or None
        The lines at probability 0.1, 0.5 and 0.9, or one per class; None for a line outside the grid.
    points_ : list of matplotlib PathCollection
        The points, one collection per class.
    squares_ : matplotlib PathCollection or None
        The marks of the relevance vectors.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from laconism import SparseBayesClassifier
    >>> from laconism.datasets import make_ripley
    >>> from laconism.inspection import BoundaryDisplay
    >>> X, y = make_ripley(100, random_state=0)
    >>> model = SparseBayesClassifier(kernel="rbf", gamma=2.0).fit(X, y)
    >>> display = BoundaryDisplay.from_estimator(model, X, y, grid_resolution=50)
    >>> display.ax_.get_title()
    '... kernels kept'
    >>> plt.close(display.figure_)
    """

    xx0: Array
    xx1: Array
    response: Array
    classes: Sequence[Any]
    X: Array | None = None
    y: Any = None
    relevance_vectors: Array | None = None
    feature_names: Sequence[str] = ("feature 0", "feature 1")
    title: str = ""

    _size = (6.4, 5.2)  # inches

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        ax: Any = None,
        grid_resolution: int = 200,
        margin: float = 0.08,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
    ) -> Self:
        """Draw a fitted classifier over the range of the data.

        Parameters
        ----------
        estimator : classifier or Pipeline ending in one
            Fitted on two features, with ``predict_proba``.
        X : array-like or data frame of shape (n_samples, 2)
            Points to draw, which determine the range of the grid.
        y : array-like of shape (n_samples,) or None, default=None
            Their classes.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.
        grid_resolution : int, default=200
            Points of the grid along each axis.
        margin : float, default=0.08
            Margin around the data, as a fraction of its range.
        feature_names : sequence of two str or None, default=None
            Labels of the axes; None uses the column names of ``X``, else the names seen in ``fit``.
        class_names : sequence of str or None, default=None
            Names for ``estimator.classes_`` in the legend.

        Returns
        -------
        display : BoundaryDisplay
        """
        estimator = unwrap(estimator)
        model = last_step(estimator)
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"BoundaryDisplay needs a classifier with predict_proba, got {type(model).__name__}."
            )
        points = points_of(cls, X, 2)
        xx0, xx1 = np.meshgrid(*ranges(points, margin, grid_resolution))
        response = np.asarray(
            estimator.predict_proba(grid_like(X, estimator, [xx0.ravel(), xx1.ravel()]))
        )
        display = cls(
            xx0=xx0,
            xx1=xx1,
            response=response.reshape(*xx0.shape, -1),
            classes=[str(c) for c in (estimator.classes_ if class_names is None else class_names)],
            X=points,
            y=None if y is None else _codes(one_each(y, len(points), "label"), estimator.classes_),
            relevance_vectors=original_rows(estimator, getattr(model, "relevance_vectors_", None)),
            feature_names=names_of_axes(X, estimator, feature_names, 2),
            title=kept(model),
        )
        return display.plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        if self.response.shape[2] == 2:
            self._shade_probability()
        else:
            self._colour_regions()
        self._scatter()
        ax.set(
            xlabel=brief(self.feature_names[0]),
            ylabel=brief(self.feature_names[1]),
            title=self.title,
            xlim=(self.xx0.min(), self.xx0.max()),
            ylim=(self.xx1.min(), self.xx1.max()),
        )
        handles, labels = ax.get_legend_handles_labels()
        if handles:
            legend_below(ax, 0.13, min(len(handles), 4 if max(map(len, labels)) < 20 else 2))

    def _shade_probability(self) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        p = self.response[:, :, 1]
        shades = LinearSegmentedColormap.from_list("laconism", _SHADES)
        self._fill(p, cmap=shades, vmin=0, vmax=1, shading="gouraud")
        bar = self.figure_.colorbar(self.surface_, ax=self.ax_, ticks=[0, 0.1, 0.5, 0.9, 1])
        bar.set_label(f"probability of {brief(self.classes[1])}")
        self.boundaries_ = []
        for level, style in ((0.1, "dashed"), (0.5, "solid"), (0.9, "dashed")):
            self.boundaries_.append(self._line(p, level, style))
            bar.ax.axhline(level, color="black", linestyle=style, linewidth=_WIDTHS[style])

    def _colour_regions(self) -> None:
        from matplotlib.colors import ListedColormap

        n_classes = self.response.shape[2]
        colours = ListedColormap([_REGIONS[k % len(_REGIONS)] for k in range(n_classes)])
        places = {"vmin": -0.5, "vmax": n_classes - 0.5, "shading": "nearest"}
        self._fill(self.response.argmax(axis=2), cmap=colours, **places)
        self.boundaries_ = []
        for k in range(n_classes):
            lead = self.response[:, :, k] - np.delete(self.response, k, axis=2).max(axis=2)
            self.boundaries_.append(self._line(lead, 0.0, "solid"))

    def _fill(self, values: Array, **look: Any) -> None:
        self.surface_ = self.ax_.pcolormesh(self.xx0, self.xx1, values, rasterized=True, **look)

    def _line(self, values: Array, level: float, style: str) -> Any:
        if not values.min() < level < values.max():
            return None  # nowhere on the grid; matplotlib would warn
        look = {"colors": "black", "linestyles": style, "linewidths": _WIDTHS[style]}
        return self.ax_.contour(self.xx0, self.xx1, values, levels=[level], **look)

    def _scatter(self) -> None:
        self.points_: list[Any] = []
        self.squares_: Any = None
        if self.X is not None and self.y is None:
            self.points_.append(self.ax_.scatter(*self.X.T, s=18, c="#303030", label="data"))
        elif self.X is not None:
            for k, name in enumerate(self.classes):
                colour = _POINTS[k % len(_POINTS)]
                self.points_.append(
                    self.ax_.scatter(
                        *self.X[self.y == k].T,
                        s=22,
                        marker=_MARKERS[k % len(_MARKERS)],
                        facecolors=colour if k % 2 else "none",
                        edgecolors=colour,
                        linewidths=1.0,
                        label=brief(name),
                    )
                )
        if self.relevance_vectors is not None:
            x, y = self.relevance_vectors.T
            self.squares_ = mark_relevance(self.ax_, x, y, s=150, linewidths=2.2)


def _codes(labels: Any, classes: Any) -> Any:
    """Return the index of each label among the classes of the model."""
    unknown = np.setdiff1d(labels, classes)
    if unknown.size:
        raise ValueError(f"y has the label {unknown[0]!r}, which the model has not seen.")
    return np.searchsorted(classes, labels)
