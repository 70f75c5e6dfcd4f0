"""Figures of the report: SVG by matplotlib, with the colours of the page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import inspection
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


def _figure(label: str) -> Callable[[Callable[..., None]], Callable[..., str]]:
    """Make a function that draws data on axes one that returns an inline SVG of the data."""

    def with_label(draw: Callable[..., None]) -> Callable[..., str]:
        def svg(*data: Any) -> str:
            import matplotlib as mpl
            from matplotlib.figure import Figure

            buffer = io.StringIO()
            with mpl.rc_context(_STYLE):
                figure = Figure(layout="constrained")
                draw(figure.subplots(), *data)
                figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
            text = buffer.getvalue()
            text = text[text.index("<svg") :]
            text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
            text = re.sub(r'<g id="[^"]*"', "<g", text)  # several figures share a page
            for colour, variable in _PAGE.items():
                text = text.replace(colour, variable)
            return text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)

        return svg

    return with_label


@_figure("calibration curve with counts")
def calibration(ax: Any, probability: Any, happened: Any, n_bins: int) -> None:
    """Draw the calibration curve over a histogram."""
    shown = inspection.CalibrationDisplay.from_predictions(happened, probability, n_bins=n_bins, ax=ax)
    shown.ax_.set_ylabel("came to pass")
    shown.counts_ax_.set_xlabel("probability that was said")


@_figure("true values over predicted ones, with their bands")
def predicted_against_true(ax: Any, mean: Any, std: Any, y: Any, corners: int = 25) -> None:
    """Draw predictions with bars of two standard deviations over the truth."""
    # The band is averaged over neighbours, since deviations differ from row to row.
    parts = np.array_split(np.argsort(mean), min(corners, len(mean)))
    centre = np.array([mean[part].mean() for part in parts])
    wide = 2 * np.array([std[part].mean() for part in parts])
    ends = np.array([min(mean.min(), y.min()), max(mean.max(), y.max())])
    ax.plot(ends, ends, color=_MUTED, lw=1, ls="--")
    ax.fill_between(centre, centre - wide, centre + wide, color=_ACCENT, alpha=0.18, lw=0)
    _dots(ax, mean, y)
    ax.set(xlabel="predicted", ylabel="true, and the band of ± 2 deviations")


@_figure("residuals over predictions")
def residuals(ax: Any, mean: Any, std: Any, y: Any) -> None:
    """Draw the residuals in units of the predicted standard deviation."""
    for level, line in ((0, "-"), (-2, "--"), (2, "--")):
        ax.axhline(level, color=_MUTED, lw=1, ls=line)
    _dots(ax, mean, (y - mean) / std)
    ax.set(xlabel="predicted", ylabel="residual / said deviation")


@_figure("nats lost by the model of each size")
def path(ax: Any, model: Any) -> None:
    """Draw the loss in nats over the number of kernels, for a Laconic model."""
    from matplotlib.ticker import MaxNLocator

    inspection.ProjectionDisplay.from_estimator(model, ax=ax)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


@_figure("objective and active columns over the iterations")
def convergence(ax: Any, model: Any) -> None:
    """Draw objective and active columns over the iterations."""
    inspection.ConvergenceDisplay.from_estimator(model, ax=ax)


@_figure("effect of a feature or of a pair of features")
def shape(ax: Any, display: Any) -> None:
    """Draw one effect of an additive model."""
    display.plot(ax)


def shapes(pipeline: Any, table: Any, names: list[str]) -> list[str]:
    """Return a figure of each of the largest effects of an additive model."""
    from matplotlib.figure import Figure

    outputs, found = len(pipeline[-1].posteriors_), list[str]()
    for k in range(outputs):
        whole = inspection.ShapeDisplay.from_estimator(
            pipeline,
            table,
            max_features=9 if outputs == 1 else 3,
            output=k,
            feature_names=names,
            ax=Figure().subplots(),
        )
        found += [shape(each) for each in whole.each()]
    return found


def _dots(ax: Any, x: Any, y: Any, most: int = 1500) -> None:
    """Draw a dot for each row, or for a random subset if there are too many."""
    n = len(x)
    rows = np.arange(n) if n <= most else np.random.default_rng(0).choice(n, most, replace=False)
    ax.plot(x[rows], y[rows], ls="none", marker="o", ms=2.5, color=_ACCENT, mew=0, alpha=0.7)
