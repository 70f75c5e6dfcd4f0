"""Loss and size of the models on the path of a Laconic model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ._draw import ASIDE, last_step, legend, need, new_axes, style


class ProjectionDisplay:
    """Loss in nats over the number of kernels, for each output of a Laconic model.

    Use :meth:`from_estimator` to create one. The loss is that of the projection of the reference onto
    few kernels. The horizontal line is the tolerance; the filled mark is the chosen model.

    Parameters
    ----------
    paths : sequence of ndarrays
        For each output the loss of the models on its path, in nats.
    chosen : sequence of int
        For each output the index of the chosen model on its path.
    tolerance : float
        The tolerance of the estimator, in nats.
    names : sequence of str
        Names of the outputs.
    what : str, default="kernels"
        Label of the horizontal axis: what is counted.
    sizes : sequence of ndarrays or None, default=None
        For each output the sizes of the models on its path; None is 0, 1, 2, ...

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from laconism import LaconicClassifier
    >>> from laconism.datasets import make_ripley
    >>> from laconism.inspection import ProjectionDisplay
    >>> X, y = make_ripley(100, random_state=0)
    >>> display = ProjectionDisplay.from_estimator(LaconicClassifier().fit(X, y))
    >>> bool(display.paths[0][display.chosen[0]] <= display.tolerance)
    True
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        paths: Sequence[Any],
        *,
        chosen: Sequence[int],
        tolerance: float,
        names: Sequence[str],
        what: str = "kernels",
        sizes: Sequence[Any] | None = None,
    ) -> None:
        self.paths = paths
        self.chosen = chosen
        self.tolerance = tolerance
        self.names = names
        self.what = what
        self.sizes = sizes

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the path of a fitted Laconic model.

        Parameters
        ----------
        estimator : LaconicClassifier, LaconicRegressor or Pipeline ending in one
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : ProjectionDisplay
        """
        model = last_step(estimator)
        need(hasattr(model, "path_"), cls, "a LaconicClassifier or LaconicRegressor", model)
        outputs = 1 + max(point.output for point in model.path_)
        paths = [
            np.array([point.nats for point in model.path_ if point.output == k]) for k in range(outputs)
        ]
        sizes = [
            np.array([point.kernels for point in model.path_ if point.output == k])
            for k in range(outputs)
        ]
        kept = [posterior.mean.size for posterior in model.posteriors_[:outputs]]
        names = [str(name) for name in model.classes_] if outputs > 1 else [""]
        display = cls(
            paths,
            chosen=[int(np.searchsorted(*pair)) for pair in zip(sizes, kept, strict=True)],
            tolerance=model.tolerance_,
            names=names,
            what="features" if model._on_features else "kernels",
            sizes=sizes,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw loss over size.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : ProjectionDisplay
        """
        ax = new_axes(ax, self, (5.6, 3.8))
        least = 1e-2 * self.tolerance  # a loss of zero has no logarithm
        self.lines_ = []
        sizes = self.sizes or [np.arange(len(path)) for path in self.paths]
        outputs = zip(self.paths, sizes, self.chosen, self.names, strict=True)
        for k, (path, size, place, name) in enumerate(outputs):
            nats = np.maximum(path, least)
            look = style(k)
            (line,) = ax.plot(size, nats, mfc="white", ms=4, label=name, **look)
            ax.plot([size[place]], [nats[place]], **look | {"ms": 9, "linestyle": "none"})
            self.lines_.append(line)
        ax.axhline(self.tolerance, color=ASIDE, lw=1)
        ax.annotate(
            "tolerance",
            (1.0, self.tolerance),
            xycoords=("axes fraction", "data"),
            xytext=(-4, 3),
            textcoords="offset points",
            ha="right",
            color=ASIDE,
        )
        ax.set_yscale("log")
        ax.set_xlabel(self.what)
        ax.set_ylabel("nats lost per observation")
        if len(self.paths) > 1:
            legend(ax, title="class")
        self.ax_, self.figure_ = ax, ax.figure
        return self
