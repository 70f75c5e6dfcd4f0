"""Weights of pixels, laid over a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._protocols import Array
from ._draw import FIRST, SECOND, Display, last_step, legend_below, need, one_of


@dataclass(eq=False, repr=False)
class ImageRelevanceDisplay(Display):
    """Weights of the pixels of an image, drawn over a picture.

    Use :meth:`from_estimator` to create one. Positive weights are discs, negative ones crosses; their
    area is proportional to the absolute value. Pixels of weight zero have no mark.

    Parameters
    ----------
    weights : ndarray of shape (height, width)
        One weight per pixel.
    image : ndarray of shape (height, width) or None, default=None
        The picture underneath.
    title : str, default=""
        Title of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    image_ : matplotlib AxesImage
    positive_, negative_ : matplotlib PathCollection
        The discs and the crosses.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_digits
    >>> from laconism import SparseBayesClassifier
    >>> from laconism.inspection import ImageRelevanceDisplay
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> model = SparseBayesClassifier().fit(X, y)
    >>> display = ImageRelevanceDisplay.from_estimator(model, (8, 8), image=X[y == 1].mean(axis=0))
    >>> display.weights.shape
    (8, 8)
    >>> plt.close(display.figure_)
    """

    weights: Array
    image: Array | None = None
    title: str = ""

    _size = (4.8, 5.0)  # inches

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        shape: tuple[int, int],
        *,
        image: Any = None,
        output: int = 0,
        ax: Any = None,
    ) -> Self:
        """Read the weights of a fitted model of pixels, and draw them.

        Parameters
        ----------
        estimator : model with ``coef_`` or ``feature_scales_``, or Pipeline ending in one
            Fitted on images as rows.
        shape : (int, int)
            Height and width of an image.
        image : array-like of height times width values or None, default=None
            The picture underneath, for instance the mean of a class.
        output : int, default=0
            Which of several classes.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : ImageRelevanceDisplay
        """
        model = last_step(estimator)
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
        marks = []
        for sign, marker, colour, name in (
            (1, "o", FIRST, "positive weight"),
            (-1, "X", SECOND, "negative weight"),
        ):
            row, column = np.nonzero(sign * self.weights > 0)
            name = name if row.size else "_nothing"  # the legend leaves out what begins so
            area = full * np.abs(self.weights[row, column]) / largest
            marks.append(
                ax.scatter(
                    column,
                    row,
                    s=np.maximum(area, 4.0),
                    marker=marker,
                    color=colour,
                    edgecolors="white",
                    linewidths=0.6,
                    label=name,
                )
            )
        self.positive_, self.negative_ = marks
        ax.set(title=self.title, xlabel="column of pixels", ylabel="row of pixels")
        if self.weights.any():
            for handle in legend_below(ax, 0.12, 2).legend_handles:
                handle.set_sizes([60.0])  # of the mark, not of the first weight
