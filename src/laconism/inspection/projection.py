"""Loss and size of the models on the path of a Laconic model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from ._draw import ASIDE, Display, by_output, last_step, legend, names_of_outputs, need, style


@dataclass(eq=False, repr=False)
class ProjectionDisplay(Display):
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

    paths: Sequence[Any]
    _: KW_ONLY
    chosen: Sequence[int]
    tolerance: float
    names: Sequence[str]
    what: str = "kernels"
    sizes: Sequence[Any] | None = None

    _size = (5.6, 3.8)  # inches

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
        outputs = by_output(model.path_)
        sizes = [np.array([point.kernels for point in path]) for path in outputs]
        kept = [posterior.mean.size for posterior in model.posteriors_[: len(outputs)]]
        display = cls(
            [np.array([point.nats for point in path]) for path in outputs],
            chosen=[int(np.searchsorted(*pair)) for pair in zip(sizes, kept, strict=True)],
            tolerance=model.tolerance_,
            names=names_of_outputs(model, outputs),
            what="features" if model._on_features else "kernels",
            sizes=sizes,
        )
        return display.plot(ax=ax)

    def _draw(self, ax: Any) -> None:
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
