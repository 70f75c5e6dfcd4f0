"""Figures of the report: SVG by matplotlib, with the colours of the page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np

# Placeholder colours, replaced by those of the page, which differ in light and dark mode.
_INK = "#111111"
_MUTED = "#777777"
_ACCENT = "#1b6ca8"
_SECOND = "#b5651d"
_PAGE = {
    _INK: "var(--ink)",
    "#000000": "var(--ink)",
    "#ffffff": "var(--paper)",
    _MUTED: "var(--muted)",
    "#808080": "var(--muted)",
    "#595959": "var(--muted)",
    _ACCENT: "var(--accent)",
    _SECOND: "var(--second)",
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
}
# Inches; the text is legible at the width of a phone.
_SIZE = (4.4, 3.3)
# Bins of a calibration curve, points of a band, and the maximum number of points of a scatter plot.
_CALIBRATION_BINS = 10
_BAND_CORNERS = 25
_MAX_DOTS = 1500


def _figure(draw: Callable[[Any], None], label: str, rows: tuple[float, ...] = (1.0,)) -> str:
    """Return an inline SVG; ``draw`` gets the axes, one above the other."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=_SIZE, layout="constrained")
        axes = figure.subplots(len(rows), 1, sharex=True, height_ratios=rows, squeeze=False)[:, 0]
        draw(axes if len(rows) > 1 else axes[0])
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
    """Return the calibration curve over a histogram, and the mean calibration error.

    Parameters
    ----------
    probability, happened : ndarrays of shape (n,)
        Predicted probabilities, and whether the event occurred.

    Returns
    -------
    svg : str
    distance : float
    """
    edges = np.linspace(0, 1, _CALIBRATION_BINS + 1)
    bins = np.clip(np.digitize(probability, edges) - 1, 0, _CALIBRATION_BINS - 1)
    counts = np.bincount(bins, minlength=_CALIBRATION_BINS)
    used = counts > 0
    said = np.bincount(bins, probability, _CALIBRATION_BINS)[used] / counts[used]
    seen = np.bincount(bins, happened, _CALIBRATION_BINS)[used] / counts[used]
    # Standard errors with one more success and failure, so that a bin of one row has a bar.
    smooth = (seen * counts[used] + 1) / (counts[used] + 2)
    se = np.sqrt(smooth * (1 - smooth) / counts[used])

    def draw(axes: Any) -> None:
        top, below = axes
        top.plot([0, 1], [0, 1], color=_MUTED, lw=1, ls="--")
        top.errorbar(said, seen, yerr=se, color=_ACCENT, marker="o", ms=4, lw=1.4, capsize=2)
        top.set(ylabel="came to pass", ylim=(-0.03, 1.03), xlim=(-0.02, 1.02))
        below.bar(
            edges[:-1] + 0.5 / _CALIBRATION_BINS, counts, width=0.9 / _CALIBRATION_BINS, color=_ACCENT
        )
        below.set(xlabel="probability that was said", ylabel="rows")

    distance = float(np.abs(said - seen) @ counts[used] / counts.sum())
    return _figure(draw, "calibration curve with counts", (3.0, 1.0)), distance


def predicted_against_true(mean: Any, std: Any, y: Any) -> str:
    """Return predictions with bars of two standard deviations over the truth.

    Parameters
    ----------
    mean, std, y : ndarrays of shape (n,)

    Returns
    -------
    str
    """
    rows = _some(len(y))
    # The band is averaged over neighbours, since deviations differ from row to row.
    parts = np.array_split(np.argsort(mean), min(_BAND_CORNERS, len(mean)))
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
    """Return the residuals in units of the predicted standard deviation.

    Parameters
    ----------
    mean, std, y : ndarrays of shape (n,)

    Returns
    -------
    str
    """
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
    """Return the loss in nats over the number of kernels, for a Laconic model.

    Parameters
    ----------
    model : LaconicClassifier or LaconicRegressor

    Returns
    -------
    str
    """
    from matplotlib.ticker import MaxNLocator

    from ..inspection import ProjectionDisplay

    def draw(ax: Any) -> None:
        ProjectionDisplay.from_estimator(model, ax=ax)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))

    return _figure(draw, "nats lost by the model of each size")


def convergence(history: Any) -> str:
    """Return objective and active columns over the iterations; the first output's.

    Parameters
    ----------
    history : list of Record

    Returns
    -------
    str
    """
    from matplotlib.ticker import MaxNLocator

    first = [record for record in history if record.output == history[0].output]
    steps = [record.iteration for record in first]

    def draw(axes: Any) -> None:
        top, below = axes
        top.plot(steps, [r.objective for r in first], color=_ACCENT, marker="o", ms=3, lw=1.3)
        top.set(ylabel="objective")
        below.plot(steps, [r.active for r in first], color=_SECOND, marker="o", ms=3, lw=1.3)
        below.set(xlabel="iteration", ylabel="active")
        below.set_ylim(bottom=0)
        below.xaxis.set_major_locator(MaxNLocator(integer=True))

    return _figure(draw, "objective and active columns over the iterations", (1.6, 1.0))


def _some(n: int) -> Any:
    """Return all rows, or a random subset if there are too many."""
    return (
        np.arange(n) if n <= _MAX_DOTS else np.random.default_rng(0).choice(n, _MAX_DOTS, replace=False)
    )
