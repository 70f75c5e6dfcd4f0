"""Weights of a grid of features, and the relevance of its slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._protocols import Array
from ._draw import FILL, FIRST, Display, last_step, need, one_of, panels


@dataclass(eq=False, repr=False)
class GridRelevanceDisplay(Display):
    """Weights of a table as a heat map, with the relevance of its rows and columns beside it.

    Use :meth:`from_estimator` to create one. White is exactly zero; the bars are
    ``mode_relevance_``, the effective number of parameters in each slice.

    Parameters
    ----------
    weights : ndarray of shape (M1, M2)
        Absolute values of the weights.
    relevances : pair of ndarrays of shape (M1,) and (M2,)
        Relevance of rows and columns.
    names : pair of sequences of str or None, default=(None, None)
        Names of rows and columns.
    labels : pair of str, default=("row", "column")
        What rows and columns are.
    title : str, default=""
        Title.

    Attributes
    ----------
    ax_, row_ax_, column_ax_ : matplotlib Axes
        Of the heat map, and of the bars at its right and on top.
    figure_ : matplotlib Figure
    mesh_ : matplotlib QuadMesh
    row_bars_, column_bars_ : matplotlib BarContainer

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from laconism import GridRVMRegressor
    >>> from laconism.datasets import make_grid
    >>> from laconism.inspection import GridRelevanceDisplay
    >>> X, y, coef = make_grid(100, (8, 6), relevant=([1, 2], [3]), random_state=0)
    >>> display = GridRelevanceDisplay.from_estimator(GridRVMRegressor().fit(X, y))
    >>> display.weights.shape
    (8, 6)
    >>> plt.close(display.figure_)
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
        output : int, default=0
            Which of several classes.
        names : pair of sequences of str or None, default=(None, None)
            Names of rows and columns.
        labels : pair of str or None, default=None
            What rows and columns are; None calls them modes.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : GridRelevanceDisplay
        """
        model = last_step(estimator)
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
        display = cls(
            weights if first < second else weights.T,
            (relevances[first][output], relevances[second][output]),
            names,
            (f"mode {first}", f"mode {second}") if labels is None else labels,
            f"{np.count_nonzero(coef)} of {coef.size} weights kept",
        )
        return display.plot(ax=ax)

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
