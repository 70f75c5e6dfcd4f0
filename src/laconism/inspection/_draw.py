"""What all displays share: axes, names, and a style that is legible in black and white."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._protocols import Array

# The two tones differ in grey as well, and lines also differ in style.
FIRST = "#08306b"
SECOND = "#a04a00"
# Fill of bars; their edge has the first colour.
FILL = "#8fb4d9"
# Colour of references, choices and tolerances.
ASIDE = "#707070"
STYLES = ("solid", "dashed", "dashdot", "dotted")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")


class Display(ABC):
    """The data of a figure, which a subclass draws on given axes."""

    _size: tuple[float, float] = (6.0, 4.0)  # of a new figure, in inches

    def plot(self, ax: Any = None) -> Self:
        """Draw, and keep what was drawn as attributes.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError(
                f'{type(self).__name__} needs the package matplotlib: pip install "laconism[plot]".'
            ) from error
        ax = _light(plt.subplots(figsize=self._size, layout="constrained")[1] if ax is None else ax)
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax)
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw on the axes; a display of several panels replaces ``ax_`` by the first of them."""


def panels(ax: Any, *places: tuple[float, float, float, float]) -> list[Any]:
    """Divide axes into panels, each at (left, bottom, width, height) in fractions of the axes."""
    ax.set_axis_off()
    return [_light(ax.inset_axes(place)) for place in places]


def legend(ax: Any, **where: Any) -> Any:
    """Return the legend of axes, without a frame; on a dark figure with a white background."""
    if not _is_dark(ax.figure):
        return ax.legend(**where, frameon=False)
    drawn = ax.legend(**where, facecolor="white", edgecolor="none", framealpha=1, labelcolor="black")
    drawn.get_title().set_color("black")
    return drawn


def legend_below(ax: Any, room: float, columns: int) -> Any:
    """Draw the legend below the axes, where it covers nothing; ``room`` is the distance."""
    return legend(ax, loc="upper center", bbox_to_anchor=(0.5, -room), ncols=columns)


def _light(ax: Any) -> Any:
    """Return the axes, white if they were dark, since all marks and lines are dark."""
    if _is_dark(ax):
        ax.set_facecolor("white")
    return ax


def _is_dark(place: Any) -> bool:
    return bool(sum(place.get_facecolor()[:3]) < 1.5)


def brief(name: Any, most: int = 32, end: int = 12) -> str:
    """Return a name for the figure; of a long one the beginning and the end."""
    text = str(name)
    return text if len(text) <= most else f"{text[: most - end - 1]}…{text[-end:]}"


def unwrap(estimator: Any) -> Any:
    """Return the best estimator of a search, or the fitted estimator itself."""
    check_is_fitted(estimator)
    return unwrap(estimator.best_estimator_) if hasattr(estimator, "best_estimator_") else estimator


def last_step(estimator: Any) -> Any:
    """Return the fitted model inside pipelines and searches."""
    estimator = unwrap(estimator)
    return last_step(estimator[-1]) if isinstance(estimator, Pipeline) else estimator


def need(holds: bool, owner: type, what: str, estimator: Any) -> None:
    """Raise unless the estimator is of the kind that this display draws."""
    if not holds:
        raise TypeError(f"{owner.__name__} needs {what}, got {type(estimator).__name__}.")


def by_output(records: Sequence[Any]) -> list[list[Any]]:
    """Return records of a fit in groups, one for each output."""
    outputs = range(1 + max(record.output for record in records))
    return [[record for record in records if record.output == k] for k in outputs]


def names_of_outputs(model: Any, outputs: Sequence[Any]) -> list[str]:
    """Return what to call the outputs: the classes, and a single one nothing."""
    return [str(name) for name in model.classes_] if len(outputs) > 1 else [""]


def one_of(outputs: Any, output: int) -> Any:
    """Return one of several outputs, or raise if there is no such output."""
    if not 0 <= output < len(outputs):
        raise ValueError(f"output must be one of 0 to {len(outputs) - 1}, got {output!r}.")
    return outputs[output]


def style(k: int) -> dict[str, Any]:
    """Return line style, marker and colour of the k-th of several lines, different in grey too."""
    return {
        "linestyle": STYLES[k % len(STYLES)],
        "marker": MARKERS[k % len(MARKERS)],
        "color": (FIRST, SECOND, "#404040", "#1b7a3d")[k % 4],
    }


def names_of_features(estimator: Any, given: Sequence[str] | None, count: int) -> list[str]:
    """Return the given names, else those that the last step was fitted with, else numbers."""
    names: Any = given
    if names is None and isinstance(estimator, Pipeline) and len(estimator) > 1:
        before = estimator[:-1]
        if hasattr(before, "get_feature_names_out") and hasattr(estimator, "feature_names_in_"):
            names = before.get_feature_names_out()
    if names is None:
        names = getattr(last_step(estimator), "feature_names_in_", None)
    if names is None:
        return [f"feature {k}" for k in range(count)]
    if len(names) != count:
        raise ValueError(f"feature_names must have {count} names, got {len(names)}.")
    return [str(name) for name in names]


def names_of_axes(X: Any, estimator: Any, given: Sequence[str] | None, count: int) -> list[str]:
    """Return the given names, else those of the columns of ``X``, else those seen in ``fit``."""
    names = given if given is not None else getattr(X, "columns", None)
    names = getattr(estimator, "feature_names_in_", None) if names is None else names
    return [f"feature {k}" for k in range(count)] if names is None else [str(name) for name in names]


def points_of(owner: type, X: Any, n_features: Literal[1, 2]) -> Array:
    """Return the data as an array, or raise unless it has as many features as the display has axes."""
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != n_features or not len(points):
        features = "one feature" if n_features == 1 else "two features"
        raise ValueError(f"{owner.__name__} draws exactly {features}, got data of shape {points.shape}.")
    return points


def one_each(y: Any, count: int, what: str) -> Any:
    """Return labels or targets as an array, or raise unless there is one for each row."""
    values = np.asarray(y)
    if values.shape != (count,):
        raise ValueError(
            f"y must have one {what} for each of the {count} rows, got shape {values.shape}."
        )
    return values


def ranges(points: Array, margin: float, count: int) -> list[Array]:
    """Return so many values of each feature, over its range and a margin on both sides."""
    low, high = points.min(axis=0), points.max(axis=0)
    room = margin * np.where(high > low, high - low, 1.0)
    return [np.linspace(*ends, count) for ends in zip(low - room, high + room, strict=True)]


def grid_like(X: Any, estimator: Any, columns: Sequence[Array]) -> Any:
    """Return new rows: a data frame like ``X`` if the estimator was fitted with names, else an array."""
    if hasattr(X, "columns") and hasattr(estimator, "feature_names_in_"):
        return type(X)(dict(zip(X.columns, columns, strict=True)))
    return np.column_stack(columns)


def mark_relevance(ax: Any, x: Array, y: Array, **look: Any) -> Any:
    """Draw a square around each relevance vector, and return them; None if there is no vector."""
    if not len(x):
        return None
    look |= {"marker": "s", "facecolors": "none", "edgecolors": "black"}
    return ax.scatter(x, y, label="relevance vectors", **look)


def original_rows(estimator: Any, rows: Array | None) -> Array | None:
    """Return kept rows in the coordinates of the data, None if a step has no inverse."""
    if not isinstance(estimator, Pipeline) or rows is None or len(estimator) == 1:
        return rows
    before = estimator[:-1]
    return np.asarray(before.inverse_transform(rows)) if hasattr(before, "inverse_transform") else None


def kept(model: Any) -> str:
    """Return the number of kept columns of a model, as a title."""
    if not hasattr(model, "n_relevant_"):
        return type(model).__name__
    kind = "feature" if getattr(model, "kernel", None) is None else "kernel"
    return f"{model.n_relevant_} {kind}{'' if model.n_relevant_ == 1 else 's'} kept"
