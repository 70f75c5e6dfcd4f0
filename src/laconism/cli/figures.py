"""Figures of the report: SVG by matplotlib, with the colours of the page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..inspection._draw import ASIDE, FIRST, SECOND

# Placeholder colours, replaced by those of the page, which differ in light and dark mode.
_INK = "#111111"
_MUTED = "#777777"
_ACCENT = "#1b6ca8"
_PAGE = {
    _INK: "var(--ink)",
    "#000000": "var(--ink)",
    "#404040": "var(--ink)",
    "#ffffff": "var(--paper)",
    _MUTED: "var(--muted)",
    "#808080": "var(--muted)",
    "#595959": "var(--muted)",
    _ACCENT: "var(--accent)",
    FIRST: "var(--accent)",
    SECOND: "var(--second)",
    ASIDE: "var(--muted)",
}
_STYLE = {
    "font.size": 9.5,
    "text.color": _INK,
    "axes.edgecolor": _MUTED,
    "axes.labelcolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _MUTED,
    "xtick.labelcolor": _INK,
    "ytick.color": _MUTED,
    "ytick.labelcolor": _INK,
    "svg.hashsalt": "laconism",
    "figure.figsize": (4.4, 3.3),  # inches; the text is legible at the width of a phone
}


def _figure(draw: Callable[[Any], object], label: str) -> str:
    """Return an inline SVG; ``draw`` gets the axes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        figure = Figure(layout="constrained")
        draw(figure.subplots())
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # several figures share a page
    for colour, variable in _PAGE.items():
        text = text.replace(colour, variable)
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def calibration(probability: Any, happened: Any) -> tuple[str, float]:
    """Return the calibration curve over a histogram, and the mean calibration error."""
    from ..inspection import CalibrationDisplay

    made: list[CalibrationDisplay] = []

    def draw(ax: Any) -> None:
        made.append(CalibrationDisplay.from_predictions(happened, probability, ax=ax))
        made[0].ax_.set_ylabel("came to pass")
        made[0].counts_ax_.set_xlabel("probability that was said")

    svg, shown = _figure(draw, "calibration curve with counts"), made[0]
    distance = np.nansum(np.abs(shown.predicted - shown.observed) * shown.counts) / shown.counts.sum()
    return svg, float(distance)


def predicted_against_true(mean: Any, std: Any, y: Any, corners: int = 25) -> str:
    """Return predictions with bars of two standard deviations over the truth."""
    rows = _some(len(y))
    # The band is averaged over neighbours, since deviations differ from row to row.
    parts = np.array_split(np.argsort(mean), min(corners, len(mean)))
    centre = np.array([mean[part].mean() for part in parts])
    wide = 2 * np.array([std[part].mean() for part in parts])
    ends = np.array([min(mean.min(), y.min()), max(mean.max(), y.max())])

    def draw(ax: Any) -> None:
        ax.plot(ends, ends, color=_MUTED, lw=1, ls="--")
        ax.fill_between(centre, centre - wide, centre + wide, color=_ACCENT, alpha=0.18, lw=0)
        ax.plot(mean[rows], y[rows], ls="none", marker="o", ms=2.5, color=_ACCENT, mew=0, alpha=0.7)
        ax.set(xlabel="predicted", ylabel="true, and the band of ± 2 deviations")

    return _figure(draw, "true values over predicted ones, with their bands")


def residuals(mean: Any, std: Any, y: Any) -> str:
    """Return the residuals in units of the predicted standard deviation."""
    rows = _some(len(y))
    z = (y - mean) / std

    def draw(ax: Any) -> None:
        ax.axhline(0, color=_MUTED, lw=1)
        for level in (-2, 2):
            ax.axhline(level, color=_MUTED, lw=1, ls="--")
        ax.plot(mean[rows], z[rows], ls="none", marker="o", ms=2.5, color=_ACCENT, mew=0, alpha=0.7)
        ax.set(xlabel="predicted", ylabel="residual / said deviation")

    return _figure(draw, "residuals over predictions")


def path(model: Any) -> str:
    """Return the loss in nats over the number of kernels, for a Laconic model."""
    from matplotlib.ticker import MaxNLocator

    from ..inspection import ProjectionDisplay

    def draw(ax: Any) -> None:
        ProjectionDisplay.from_estimator(model, ax=ax)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))

    return _figure(draw, "nats lost by the model of each size")


def convergence(model: Any) -> str:
    """Return objective and active columns over the iterations."""
    from ..inspection import ConvergenceDisplay

    def draw(ax: Any) -> None:
        ConvergenceDisplay.from_estimator(model, ax=ax)

    return _figure(draw, "objective and active columns over the iterations")


def _some(n: int, most: int = 1500) -> Any:
    """Return all rows, or a random subset if there are too many."""
    return np.arange(n) if n <= most else np.random.default_rng(0).choice(n, most, replace=False)
