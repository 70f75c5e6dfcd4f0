"""Predictions over the range of the data: of a classifier of two features, of a regressor of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.pipeline import Pipeline

from .._protocols import Array
from ._draw import FIRST, Display, brief, legend_below, need, unwrap

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
    xx0, xx1 : ndarray of shape (grid_resolution, grid_resolution), the grid: first and second feature
    response : ndarray of shape (grid_resolution, grid_resolution, n_classes), probabilities there
    classes : sequence of str
    X, y : ndarrays of shape (n_samples, 2) and (n_samples,) or None, default=None
        Points to draw and their classes; without classes all points are drawn alike.
    relevance_vectors : ndarray of shape (n_relevant, 2) or None, marked with squares, default=None
    feature_names : sequence of two str, default=("feature 0", "feature 1")
    title : str, default=""

    Attributes
    ----------
    ax_, figure_, surface_ : matplotlib Axes, Figure and QuadMesh
    boundaries_ : list of matplotlib ContourSet or None
        The lines at probability 0.1, 0.5 and 0.9, or one per class; None for a line outside the grid.
    points_ : list of matplotlib PathCollection, one per class
    squares_ : matplotlib PathCollection or None, the marks of the relevance vectors

    Examples
    --------
    >>> from laconism import SparseBayesClassifier, datasets, inspection
    >>> X, y = datasets.make_ripley(100, random_state=0)
    >>> model = SparseBayesClassifier(kernel="rbf", gamma=2.0).fit(X, y)
    >>> display = inspection.BoundaryDisplay.from_estimator(model, X, y, grid_resolution=50)
    >>> display.ax_.get_title()
    '... kernels kept'
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
        estimator : classifier or Pipeline ending in one, fitted on two features, with ``predict_proba``
        X : array-like or data frame of shape (n_samples, 2), points to draw, whose range the grid has
        y : array-like of shape (n_samples,) or None, their classes, default=None
        ax : matplotlib Axes or None (a new figure), default=None
        grid_resolution : int, points of the grid along each axis, default=200
        margin : float (margin around the data, as a fraction of its range), default=0.08
        feature_names : sequence of two str or None, default=None
            Labels of the axes; None uses the column names of ``X``, else the names seen in ``fit``.
        class_names : sequence of str or None, names of ``classes_`` in the legend, default=None
        """
        estimator, model = unwrap(estimator)
        need(hasattr(estimator, "predict_proba"), cls, "a classifier with predict_proba", model)
        points, labels = _check(cls, X, y, 2, "label")
        xx0, xx1 = np.meshgrid(*_ranges(points, margin, grid_resolution))
        grid = _grid_like(X, estimator, [xx0.ravel(), xx1.ravel()])
        return cls(
            xx0=xx0,
            xx1=xx1,
            response=np.reshape(estimator.predict_proba(grid), (*xx0.shape, -1)),
            classes=[str(c) for c in (estimator.classes_ if class_names is None else class_names)],
            X=points,
            y=None if labels is None else _codes(labels, estimator.classes_),
            relevance_vectors=_original_rows(estimator, getattr(model, "relevance_vectors_", None)),
            feature_names=_names_of_axes(X, estimator, feature_names, 2),
            title=_title(model),
        ).plot(ax=ax)

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
        look = {"cmap": shades, "vmin": 0, "vmax": 1, "shading": "gouraud"}
        self.surface_ = self.ax_.pcolormesh(self.xx0, self.xx1, p, rasterized=True, **look)
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
        look = {"cmap": colours, "vmin": -0.5, "vmax": n_classes - 0.5, "shading": "nearest"}
        winner = self.response.argmax(axis=2)
        self.surface_ = self.ax_.pcolormesh(self.xx0, self.xx1, winner, rasterized=True, **look)
        self.boundaries_ = []
        for k in range(n_classes):
            lead = self.response[:, :, k] - np.delete(self.response, k, axis=2).max(axis=2)
            self.boundaries_.append(self._line(lead, 0.0, "solid"))

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
                look = {"facecolors": colour if k % 2 else "none", "edgecolors": colour}
                look |= {"marker": _MARKERS[k % len(_MARKERS)], "label": brief(name)}
                x, y = self.X[self.y == k].T
                self.points_.append(self.ax_.scatter(x, y, s=22, linewidths=1.0, **look))
        if self.relevance_vectors is not None:
            x, y = self.relevance_vectors.T
            self.squares_ = _mark_relevance(self.ax_, x, y, s=150, linewidths=2.2)


@dataclass(eq=False, repr=False, kw_only=True)
class RegressionBandDisplay(Display):
    """Predictive mean and two standard deviations of a regressor of one feature.

    Use :meth:`from_estimator` to create one. The band is for a new observation: its variance is that of
    the function plus that of the noise. Relevance vectors are marked with squares.

    Parameters
    ----------
    x, mean, std : ndarray of shape (n_points,), points, predictive means and standard deviations there
    X, y : ndarray of shape (n_samples,) or None (observations to draw, and their targets), default=None
    relevance, relevance_y : ndarray of shape (n_relevant,) or None, default=None
        Feature and height of the squares around the kept rows; without a height they are on the mean.
    feature_name, title : str (horizontal label, and title of the axes), default="feature 0" and ""

    Attributes
    ----------
    ax_, figure_, line_, band_ : matplotlib Axes, Figure, Line2D and PolyCollection
    points_, squares_ : matplotlib PathCollection or None, observations and relevance vectors

    Examples
    --------
    >>> from laconism import RVMRegressor, datasets, inspection
    >>> X, y = datasets.make_sinc(100, random_state=0)
    >>> model = RVMRegressor(gamma=1 / 18).fit(X, y)
    >>> display = inspection.RegressionBandDisplay.from_estimator(model, X, y)
    >>> len(display.relevance) == model.n_relevant_
    True
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
        cls, estimator: Any, X: Any, y: Any = None, *, margin: float = 0.08, ax: Any = None
    ) -> Self:
        """Draw a fitted regressor over the range of the data.

        Parameters
        ----------
        estimator : regressor with ``predict_dist``, or Pipeline ending in one, fitted on one feature
        X : array-like or data frame of shape (n_samples, 1), observations, whose range the band has
        y : array-like of shape (n_samples,) or None (their targets; None draws no points), default=None
        margin : float (margin on both sides, as a fraction of the range of the data), default=0.08
        ax : matplotlib Axes or None (a new figure), default=None
        """
        estimator, model = unwrap(estimator)
        need(hasattr(model, "predict_dist"), cls, "a regressor with predict_dist", model)
        points, targets = _check(cls, X, y, 1, "target")
        targets = None if targets is None else targets.astype(np.float64)
        (x,) = _ranges(points, margin, 400)
        grid = _grid_like(X, estimator, [x])
        if estimator is not model:
            grid = estimator[:-1].transform(grid)
        mean, std = model.predict_dist(grid)
        vectors = _original_rows(estimator, getattr(model, "relevance_vectors_", None))
        source = getattr(model, "relevance_", None)
        relevance_y = None
        if targets is not None and vectors is not None and source is not None:
            inside = len(points) > np.max(source, initial=-1)
            same = inside and np.allclose(points[source], vectors)
            relevance_y = targets[source] if same else None
        return cls(
            x=x,
            mean=mean,
            std=std,
            X=points[:, 0],
            y=targets,
            relevance=None if vectors is None else vectors[:, 0],
            relevance_y=relevance_y,
            feature_name=_names_of_axes(X, estimator, None, 1)[0],
            title=_title(model),
        ).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        low, high = self.mean - 2 * self.std, self.mean + 2 * self.std
        self.band_ = ax.fill_between(
            self.x, low, high, facecolor="#d4e1ee", edgecolor=FIRST, linewidth=0.6, label="± 2 std"
        )
        (self.line_,) = ax.plot(self.x, self.mean, color=FIRST, linewidth=1.8, label="mean")
        self.points_: Any = None
        self.squares_: Any = None
        if self.X is not None and self.y is not None:
            self.points_ = ax.scatter(self.X, self.y, s=12, color="#404040", zorder=3, label="data")
        if self.relevance is not None:
            on_mean = np.interp(self.relevance, self.x, self.mean)
            height = on_mean if self.relevance_y is None else self.relevance_y
            self.squares_ = _mark_relevance(ax, self.relevance, height, s=110, linewidths=1.8, zorder=4)
        ax.set(xlabel=brief(self.feature_name), ylabel="target", title=self.title)
        ax.set_xlim(self.x.min(), self.x.max())
        handles, _ = ax.get_legend_handles_labels()
        legend_below(ax, 0.14, len(handles))


def _names_of_axes(X: Any, estimator: Any, given: Sequence[str] | None, count: int) -> list[str]:
    """Return the given names, else those of the columns of ``X``, else those seen in ``fit``."""
    names = given if given is not None else getattr(X, "columns", None)
    names = getattr(estimator, "feature_names_in_", None) if names is None else names
    return [f"feature {k}" for k in range(count)] if names is None else [str(name) for name in names]


def _check(owner: type, X: Any, y: Any, n_features: Literal[1, 2], what: str) -> tuple[Array, Any]:
    """Return the data as arrays, or raise unless rows have a ``what`` and as many features as axes."""
    points, values = np.asarray(X, dtype=np.float64), None if y is None else np.asarray(y)
    if points.ndim != 2 or points.shape[1] != n_features or not len(points):
        features = "one feature" if n_features == 1 else "two features"
        raise ValueError(f"{owner.__name__} draws exactly {features}, got data of shape {points.shape}.")
    if values is not None and values.shape != (len(points),):
        rows = f"each of the {len(points)} rows"
        raise ValueError(f"y must have one {what} for {rows}, got shape {values.shape}.")
    return points, values


def _codes(labels: Any, classes: Any) -> Any:
    """Return the index of each label among the classes of the model."""
    unknown = np.setdiff1d(labels, classes)
    if unknown.size:
        raise ValueError(f"y has the label {unknown[0]!r}, which the model has not seen.")
    return np.searchsorted(classes, labels)


def _ranges(points: Array, margin: float, count: int) -> list[Array]:
    """Return evenly spaced values of each feature, over its range and a margin on both sides."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = margin * np.where(high > low, high - low, 1.0)
    return [np.linspace(*ends, count) for ends in zip(low - room, high + room, strict=True)]


def _grid_like(X: Any, estimator: Any, columns: Sequence[Array]) -> Any:
    """Return new rows: a data frame like ``X`` if the estimator was fitted with names, else an array."""
    if hasattr(X, "columns") and hasattr(estimator, "feature_names_in_"):
        return type(X)(dict(zip(X.columns, columns, strict=True)))
    return np.column_stack(columns)


def _mark_relevance(ax: Any, x: Array, y: Array, **look: Any) -> Any:
    """Draw a square around each relevance vector, and return them; None if there is no vector."""
    if not len(x):
        return None
    look |= {"marker": "s", "facecolors": "none", "edgecolors": "black"}
    return ax.scatter(x, y, label="relevance vectors", **look)


def _original_rows(estimator: Any, rows: Array | None) -> Array | None:
    """Return kept rows in the coordinates of the data, None if a step has no inverse."""
    if not isinstance(estimator, Pipeline) or rows is None or len(estimator) == 1:
        return rows
    before = estimator[:-1]
    return np.asarray(before.inverse_transform(rows)) if hasattr(before, "inverse_transform") else None


def _title(model: Any) -> str:
    """Return the number of kept columns of a model, as a title."""
    if not hasattr(model, "n_relevant_"):
        return type(model).__name__
    kind = "feature" if getattr(model, "kernel", None) is None else "kernel"
    return f"{model.n_relevant_} {kind}{'' if model.n_relevant_ == 1 else 's'} kept"
