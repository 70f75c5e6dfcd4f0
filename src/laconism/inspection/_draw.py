"""What all displays share: axes, names, and a style that is legible in black and white."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
# A name with more characters is shortened in its middle.
_MAX_NAME_CHARACTERS = 32
# Characters that a shortened name keeps of its end.
_NAME_END_CHARACTERS = 12
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")


def new_axes(ax: Any, owner: Any, size: tuple[float, float] = (6.0, 4.0)) -> Any:
    """Return ``ax``, or the axes of a new figure if it is None."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        name = type(owner).__name__
        raise ImportError(
            f'{name} needs the package matplotlib: pip install "laconism[plot]".'
        ) from error
    return _light(plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax)


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


def brief(name: Any) -> str:
    """Return a name for the figure; of a long one the beginning and the end."""
    text = str(name)
    if len(text) <= _MAX_NAME_CHARACTERS:
        return text
    begin = _MAX_NAME_CHARACTERS - _NAME_END_CHARACTERS - 1
    return f"{text[:begin]}…{text[-_NAME_END_CHARACTERS:]}"


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
