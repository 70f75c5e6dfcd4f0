"""How much a flagship loses by saying it in fewer words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ._draw import ASIDE, last_step, legend, need, new_axes, style


class ProjectionDisplay:
    """Kernels against nats lost, for every output of a :class:`laconic.LaconicClassifier` or regressor.

    Use :meth:`from_estimator` to create one. The horizontal line is the tolerance; a filled mark is the
    model that was taken.

    Parameters
    ----------
    paths : sequence of ndarrays
        For each output the nats lost by the models of 0, 1, 2, ... kernels.
    chosen : sequence of int
        The size taken for each output.
    tolerance : float
    names : sequence of str
        What to call the outputs.
    what : str, default="kernels"
        What is counted.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from laconic import LaconicClassifier
    >>> from laconic.datasets import make_ripley
    >>> from laconic.inspection import ProjectionDisplay
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
    ) -> None:
        self.paths = paths
        self.chosen = chosen
        self.tolerance = tolerance
        self.names = names
        self.what = what

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Read the path of a fitted flagship, and draw it.

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
        names = [str(name) for name in model.classes_] if outputs > 1 else [""]
        display = cls(
            paths,
            chosen=[posterior.mean.size for posterior in model.posteriors_[:outputs]],
            tolerance=model.tolerance_,
            names=names,
            what="features" if model._on_features else "kernels",
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the elbow.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : ProjectionDisplay
        """
        ax = new_axes(ax, self, (5.6, 3.8))
        least = 1e-2 * self.tolerance  # a loss of nothing has no logarithm
        self.lines_ = []
        for k, (path, size, name) in enumerate(zip(self.paths, self.chosen, self.names, strict=True)):
            nats = np.maximum(path, least)
            look = style(k)
            (line,) = ax.plot(np.arange(nats.size), nats, mfc="white", ms=4, label=name, **look)
            ax.plot([size], [nats[size]], **look | {"ms": 9, "linestyle": "none"})
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
