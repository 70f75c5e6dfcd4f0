"""What all displays share: axes, names, and a style that is legible in black and white."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

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
        """Draw on ``ax``, or on the axes of a new figure, and keep what was drawn as attributes."""
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


def grid_of_panels(ax: Any, rows: int, columns: int, title: str = "") -> list[Any]:
    """Replace axes by a grid of panels, row by row; a constrained layout makes room for their labels."""
    ax.set_axis_off()
    figure, whole, spec = ax.figure, ax.get_position(), ax.get_subplotspec()
    laid_out = figure.get_layout_engine() is not None
    size = rows + bool(title), columns
    # In fractions of a panel; without a layout that measures labels there must be room for any.
    across, down = (0.06, 0.06) if laid_out else (0.4, 0.6 * size[0] / rows)
    room: dict[str, Any] = {"wspace": across, "hspace": down}
    if title:  # over an empty row
        room["height_ratios"] = [0.03, *[1] * rows]
    if spec is not None:
        grid = spec.subgridspec(*size, **room)
    else:  # they were placed by hand
        ends = {"left": whole.x0, "right": whole.x1, "bottom": whole.y0, "top": whole.y1}
        grid = figure.add_gridspec(*size, **ends, **room)
    if title:
        top = figure.add_subplot(grid[0, :])
        top.set_axis_off()
        top.set_title(title)
    return [
        _light(figure.add_subplot(grid[row, column]))
        for row in range(size[0] - rows, size[0])
        for column in range(columns)
    ]


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


def unwrap(estimator: Any) -> tuple[Any, Any]:
    """Return the fitted estimator inside searches, and the model inside its pipelines."""
    from sklearn.pipeline import Pipeline  # late, so that the command line starts without it
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    if hasattr(estimator, "best_estimator_"):
        return unwrap(estimator.best_estimator_)
    return estimator, unwrap(estimator[-1])[1] if isinstance(estimator, Pipeline) else estimator


def need(holds: bool, owner: type, what: str, estimator: Any) -> None:
    """Raise unless the estimator is of the kind that this display draws."""
    if not holds:
        raise TypeError(f"{owner.__name__} needs {what}, got {type(estimator).__name__}.")


def names_of_features(estimator: Any, given: Sequence[str] | None, count: int) -> list[str]:
    """Return the given names, else those that the last step was fitted with, else numbers."""
    names: Any = given
    if names is None and hasattr(estimator, "steps") and len(estimator) > 1:
        before = estimator[:-1]
        if hasattr(before, "get_feature_names_out") and hasattr(estimator, "feature_names_in_"):
            names = before.get_feature_names_out()
    if names is None:
        names = getattr(unwrap(estimator)[1], "feature_names_in_", None)
    if names is None:
        return [f"feature {k}" for k in range(count)]
    if len(names) != count:
        raise ValueError(f"feature_names must have {count} names, got {len(names)}.")
    return [str(name) for name in names]


def one_of(outputs: Any, output: int) -> Any:
    """Return one of several outputs, or raise if there is no such output."""
    if not 0 <= output < len(outputs):
        raise ValueError(f"output must be one of 0 to {len(outputs) - 1}, got {output!r}.")
    return outputs[output]


def by_output(records: Sequence[Any]) -> list[list[Any]]:
    """Return records of a fit in groups, one for each output."""
    outputs = range(1 + max(record.output for record in records))
    return [[record for record in records if record.output == k] for k in outputs]


def style(k: int) -> dict[str, Any]:
    """Return line style, marker and colour of the k-th of several lines, different in grey too."""
    return {
        "linestyle": STYLES[k % len(STYLES)],
        "marker": MARKERS[k % len(MARKERS)],
        "color": (FIRST, SECOND, "#404040", "#1b7a3d")[k % 4],
    }
