"""Kept weights: as bars, over a picture of pixels, and as a grid with the relevance of its modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._component import is_count
from .._protocols import Array
from ._draw import (
    FILL,
    FIRST,
    SECOND,
    Display,
    brief,
    legend_below,
    names_of_features,
    need,
    one_of,
    panels,
    unwrap,
)


@dataclass(eq=False, repr=False)
class RelevanceDisplay(Display):
    """Weights of the kept features or kernels as bars, the largest on top.

    Use :meth:`from_estimator` to create one. Positive weights are filled, negative ones hatched. The
    whiskers are two standard deviations of the posterior, given the selection.

    Parameters
    ----------
    values, names : ndarray of shape (n_kept,) and sequence of str
        Weights of the features or kernels, the largest first, and their names.
    deviations : ndarray of shape (n_kept,) or None, standard deviations of the weights, default=None
    label, title : str (label of the horizontal axis, and title of the axes), default="weight" and ""

    Attributes
    ----------
    ax_, figure_, bars_ : matplotlib Axes, Figure and BarContainer

    Examples
    --------
    >>> from laconism import SparseBayesRegressor, datasets, inspection
    >>> X, y, coef = datasets.make_sparse_regression(80, 30, n_relevant=3, random_state=0)
    >>> display = inspection.RelevanceDisplay.from_estimator(SparseBayesRegressor().fit(X, y))
    >>> sorted(display.names) == [f"feature {k}" for k in coef.nonzero()[0]]
    True
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
        max_bars : int (maximum number of bars; the title gives the number of those left out), default=20
        ax : matplotlib Axes or None (a new figure), default=None
        """
        estimator, model = unwrap(estimator)
        values, names, deviations, label = _weights(cls, estimator, model, output, feature_names)
        order = np.argsort(-np.abs(values), kind="stable")
        order = order[values[order] != 0]
        if not is_count(max_bars):
            raise ValueError(f"max_bars must be a positive whole number, got {max_bars!r}.")
        shown = order[:max_bars]
        title = f"{order.size} of {values.size} kept" if label != "weight of the kernel" else ""
        if shown.size < order.size:
            title = f"{title or f'{order.size} kept'}, the {shown.size} largest"
        return cls(
            values[shown],
            [names[k] for k in shown],
            None if deviations is None else deviations[shown],
            label,
            title or f"{order.size} kernels kept",
        ).plot(ax=ax)

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


@dataclass(eq=False, repr=False)
class ImageRelevanceDisplay(Display):
    """Weights of the pixels of an image, drawn over a picture.

    Use :meth:`from_estimator` to create one. Positive weights are discs, negative ones crosses; their
    area is proportional to the absolute value. Pixels of weight zero have no mark.

    Parameters
    ----------
    weights : ndarray of shape (height, width)
    image : ndarray of shape (height, width) or None, the picture underneath, default=None
    title : str, default=""

    Attributes
    ----------
    ax_, figure_, image_ : matplotlib Axes, Figure and AxesImage
    positive_, negative_ : matplotlib PathCollection

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from laconism import SparseBayesClassifier
    >>> from laconism.inspection import ImageRelevanceDisplay
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = SparseBayesClassifier().fit(X, y)
    >>> display = ImageRelevanceDisplay.from_estimator(model, (8, 8), image=X[y == 1].mean(axis=0))
    >>> display.weights.shape
    (8, 8)
    """

    weights: Array
    image: Array | None = None
    title: str = ""

    _size = (4.8, 5.0)  # inches

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        shape: tuple[int, ...],
        *,
        image: Any = None,
        output: int = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the weights of a model that was fitted on images as rows.

        Parameters
        ----------
        estimator : model of images with ``coef_`` or ``feature_scales_``, or Pipeline ending in one
        shape : (int, int), height and width of an image
        image : array-like of height times width values or None, default=None
            The picture underneath, for instance the mean of a class.
        output : int, which of several classes, default=0
        ax : matplotlib Axes or None (a new figure), default=None
        """
        _, model = unwrap(estimator)
        found: Any = getattr(model, "feature_scales_", getattr(model, "coef_", None))
        need(isinstance(found, np.ndarray), cls, "a model with a weight for each feature", model)
        size = int(np.prod(shape))
        if len(shape) != 2 or np.size(found) % size or np.size(found) < size:
            raise ValueError(
                f"shape={tuple(shape)} has {size} pixels, but the model has weights of shape "
                f"{np.shape(found)}."
            )
        weights = one_of(np.reshape(found, (-1, *shape)), output).astype(float)
        if image is not None and np.size(image) != size:
            raise ValueError(f"image must have {size} pixels, got {np.size(image)}.")
        picture = None if image is None else np.reshape(np.asarray(image, dtype=float), shape)
        title = f"{np.count_nonzero(weights)} of {size} pixels kept"
        return cls(weights, picture, title).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        under = np.zeros_like(self.weights) if self.image is None else self.image
        # From white to a middle grey, so that dark marks stand out.
        top = float(np.ptp(under)) or 1.0
        shade = 0.55 * (under - under.min()) / top
        self.image_ = ax.imshow(shade, cmap="Greys", vmin=0.0, vmax=1.0)
        largest = float(np.abs(self.weights).max()) or 1.0
        # A disc of the largest weight fills most of a pixel, whatever the size of the figure.
        inches = ax.get_window_extent().width / self.figure_.dpi
        full = (0.6 * 72 * inches / self.weights.shape[1]) ** 2

        def mark(there: Any, name: str, **look: Any) -> Any:
            row, column = np.nonzero(there)
            area = np.maximum(full * np.abs(self.weights[there]) / largest, 4.0)
            name = name if row.size else "_nothing"  # the legend leaves out what begins so
            return ax.scatter(
                column, row, s=area, edgecolors="white", linewidths=0.6, label=name, **look
            )

        self.positive_ = mark(self.weights > 0, "positive weight", marker="o", color=FIRST)
        self.negative_ = mark(self.weights < 0, "negative weight", marker="X", color=SECOND)
        ax.set(title=self.title, xlabel="column of pixels", ylabel="row of pixels")
        if self.weights.any():
            for handle in legend_below(ax, 0.12, 2).legend_handles:
                handle.set_sizes([60.0])  # of the mark, not of the first weight


@dataclass(eq=False, repr=False)
class GridRelevanceDisplay(Display):
    """Weights of a table as a heat map, with the relevance of its rows and columns beside it.

    Use :meth:`from_estimator` to create one. White is exactly zero; the bars are
    ``mode_relevance_``, the effective number of parameters in each slice.

    Parameters
    ----------
    weights : ndarray of shape (M1, M2), absolute values of the weights
    relevances : pair of ndarrays of shape (M1,) and (M2,)
    names : pair of sequences of str or None, default=(None, None)
    labels : pair of str, default=("row", "column")
        Relevances and names of rows and columns, and what rows and columns are.
    title : str, default=""

    Attributes
    ----------
    ax_, row_ax_, column_ax_ : matplotlib Axes of the heat map, and of the bars at its right and on top
    figure_, mesh_ : matplotlib Figure and QuadMesh
    row_bars_, column_bars_ : matplotlib BarContainer

    Examples
    --------
    >>> from laconism import GridRVMRegressor, datasets, inspection
    >>> X, y, coef = datasets.make_grid(100, (8, 6), relevant=([1, 2], [3]), random_state=0)
    >>> display = inspection.GridRelevanceDisplay.from_estimator(GridRVMRegressor().fit(X, y))
    >>> display.weights.shape
    (8, 6)
    """

    weights: Array
    relevances: Sequence[Array]
    names: Sequence[Sequence[str] | None] = (None, None)
    labels: Sequence[str] = ("row", "column")
    title: str = ""

    _size = (6.4, 5.2)  # inches

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        modes: tuple[int, int] = (0, 1),
        output: int = 0,
        names: Sequence[Sequence[str] | None] = (None, None),
        labels: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Read the grid of a fitted model, and draw two of its modes.

        Parameters
        ----------
        estimator : GridRVMClassifier, GridRVMRegressor or Pipeline ending in one
        modes : pair of int, default=(0, 1)
            Which modes are rows and columns. Over the other modes of a tensor the root of the sum of
            squared weights is taken.
        output : int, which of several classes, default=0
        names : pair of sequences of str or None, names of rows and columns, default=(None, None)
        labels : pair of str or None (what rows and columns are; None calls them modes), default=None
        ax : matplotlib Axes or None (a new figure), default=None
        """
        _, model = unwrap(estimator)
        need(hasattr(model, "mode_relevance_"), cls, "a GridRVMClassifier or GridRVMRegressor", model)
        shape = model.grid_shape_
        if len(shape) < 2:
            raise ValueError("The model has one mode: draw its weights with RelevanceDisplay.")
        first, second = modes
        if first == second or not {first, second} <= set(range(len(shape))):
            raise ValueError(f"modes must be two different ones of 0 to {len(shape) - 1}, got {modes}.")
        coef = one_of(np.asarray(model.coef_).reshape(-1, *shape), output)
        relevances = [np.atleast_2d(relevance) for relevance in model.mode_relevance_]
        rest = tuple(k for k in range(len(shape)) if k not in (first, second))
        weights = np.sqrt((coef**2).sum(axis=rest))
        for name, mode in zip(names, modes, strict=True):
            if name is not None and len(name) != shape[mode]:
                raise ValueError(f"names of mode {mode} must be {shape[mode]}, got {len(name)}.")
        return cls(
            weights if first < second else weights.T,
            (relevances[first][output], relevances[second][output]),
            names,
            (f"mode {first}", f"mode {second}") if labels is None else labels,
            f"{np.count_nonzero(coef)} of {coef.size} weights kept",
        ).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        from matplotlib import colormaps
        from matplotlib.colors import ListedColormap
        from matplotlib.ticker import MaxNLocator

        places = (0, 0, 0.76, 0.76), (0.79, 0, 0.21, 0.76), (0, 0.79, 0.76, 0.21)
        self.ax_, self.row_ax_, self.column_ax_ = panels(ax, *places)
        rows, columns = (np.arange(size) for size in self.weights.shape)
        # The smallest weight is a visible blue: only exact zeros are white.
        shades = ListedColormap(colormaps["Blues"](np.linspace(0.18, 1.0, 256)))
        some = np.ma.masked_equal(self.weights, 0.0)
        top = float(self.weights.max()) or 1.0
        self.mesh_ = self.ax_.pcolormesh(columns, rows, some, cmap=shades, vmin=0, vmax=top)
        # Outside of the panels, so that it covers no bars.
        bar = self.figure_.colorbar(self.mesh_, ax=ax, fraction=0.05, pad=0.02)
        bar.set_label("|weight|")
        look = {"color": FILL, "edgecolor": FIRST, "linewidth": 0.6}
        self.row_bars_ = self.row_ax_.barh(rows, self.relevances[0], 0.8, **look)
        self.column_bars_ = self.column_ax_.bar(columns, self.relevances[1], 0.8, **look)
        self.ax_.set(xlabel=self.labels[1], ylabel=self.labels[0])
        for axis, names in ((self.ax_.yaxis, self.names[0]), (self.ax_.xaxis, self.names[1])):
            if names is not None and len(names) <= 25:  # more would not be legible
                axis.set_ticks(np.arange(len(names)), [str(name) for name in names])
            else:
                axis.set_major_locator(MaxNLocator(8, integer=True))
        longest = max((len(str(name)) for name in self.names[1] or ()), default=0)
        if longest > 2:  # horizontal names would overlap
            self.ax_.tick_params(axis="x", rotation=90)
        self.ax_.invert_yaxis()
        self.row_ax_.set(ylim=self.ax_.get_ylim(), xlabel="relevance", yticks=[])
        self.column_ax_.set(xlim=self.ax_.get_xlim(), ylabel="relevance", xticks=[])
        self.column_ax_.set_title(self.title)


def _weights(
    owner: type, estimator: Any, model: Any, output: int | None, given: Sequence[str] | None
) -> tuple[Array, list[str], Array | None, str]:
    """Return all weights, the names of their columns, their deviations and the label of the axis."""
    if hasattr(model, "grid_shape_"):
        raise TypeError(
            f"{type(model).__name__} has a grid of weights: draw it with GridRelevanceDisplay."
        )
    kinds = ("feature_scales_", "coef_", "dual_coef_")
    kind = next((kind for kind in kinds if hasattr(model, kind)), "")
    table = getattr(model, kind, None)
    found = isinstance(table, np.ndarray) and hasattr(model, "intercept_")
    need(found, owner, "a model with weights", model)
    weights = np.atleast_2d(np.asarray(table, dtype=float))
    label, deviations = "scale" if kind == "feature_scales_" else "weight", None
    if len(weights) > 1 and output is None:
        values, label = np.abs(weights).max(axis=0), f"largest |{label}| over the classes"
    else:
        values = one_of(weights, output or 0)
        deviations = _deviations(model, values, output or 0) if kind == "coef_" else None
    if kind == "dual_coef_":
        rows = getattr(model, "relevance_", range(values.size))
        return values, [f"row {k}" for k in rows], None, f"{label} of the kernel"
    if kind == "coef_" and getattr(model, "n_features_in_", values.size) != values.size:
        # There are more monomials than features.
        return values, [f"column {k}" for k in range(values.size)], deviations, label
    names = names_of_features(estimator, given, values.size)
    return values, names, deviations, label if kind == "coef_" else f"{label} of the feature"


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
