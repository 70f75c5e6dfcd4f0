"""``laconism inspect``: what a saved model kept, in words and as bars."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..inspection._draw import brief, by_output
from ..judging.compare import in_words
from .columns import columns_of, feature_names
from .console import Terminal, listed, several
from .predict import load_pipeline

_EIGHTHS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True)
class Bars:
    """Named numbers, to be drawn as bars."""

    title: str
    items: list[tuple[str, float]]
    hidden: int = 0  # how many zeros are not listed
    signed: bool = True

    def largest(self, top: int) -> list[tuple[str, float]]:
        """Return what has the longest bars, longest first."""
        return sorted(self.items, key=lambda item: -abs(item[1]))[:top]


def describe(pipeline: Any) -> list[str]:
    """Return a description of a fitted pipeline, as sentences."""
    model, about = pipeline[-1], pipeline.table_
    numbers, categories = columns_of(pipeline[0])
    of = listed(model.classes_) if hasattr(model, "classes_") else "a number"
    columns = several(len(numbers) + len(categories), "column")
    words = [
        f"{type(model).__name__} of {about['target']} ({of}), fitted on {several(about['rows'], 'row')} "
        f"and {columns}, which make {several(model.n_features_in_, 'feature')}.",
        _kept(model, about["rows"]),
        str(model.status_),
    ]
    if hasattr(model, "noise_variance_"):
        words.append(f"The noise has a standard deviation of {np.sqrt(model.noise_variance_):.4g}.")
    return words


def _kept(model: Any, rows: int) -> str:
    if hasattr(model, "mode_relevance_"):
        parts = [
            f"{int((np.atleast_2d(part) > 0).any(axis=0).sum())} of {size}"
            for part, size in zip(model.mode_relevance_, model.grid_shape_, strict=True)
        ]
        slices = "features and rows" if model.basis is not None else "slices of its modes"
        return f"It keeps {' and '.join(parts)} {slices}: {several(model.n_relevant_, 'weight')} in all."
    if hasattr(model, "coef_"):
        return f"It keeps {model.n_relevant_:,} of {several(model.n_features_in_, 'feature')}."
    text = f"It keeps {model.n_relevant_:,} of {several(rows, 'kernel')}, each on a training row"
    outputs = [posterior.mean.size for posterior in model.posteriors_]
    if len(outputs) > 1:
        each = [f"{name}: {size}" for name, size in zip(model.classes_, outputs, strict=True)]
        text += f" ({listed(each, most=10)})"
    if hasattr(model, "feature_scales_"):
        used = int((model.feature_scales_ > 0).sum())
        if hasattr(model, "effects_"):
            used = len({j for effects in _effects_of(model) for each in effects for j in each.features})
        text += f", and {used:,} of {several(model.n_features_in_, 'feature')}"
    return text + "."


def pictures(pipeline: Any) -> list[Bars]:
    """Return what was kept as bars: weights of features or rows, scales, relevances of slices."""
    model, features = pipeline[-1], feature_names(pipeline[0])
    if hasattr(model, "mode_relevance_"):
        return _modes(model, features)
    found = []
    if hasattr(model, "effects_"):
        found += _effects(model, features)
    elif hasattr(model, "feature_scales_"):
        found.append(
            _bars("scale of each standardised feature", features, model.feature_scales_, signed=False)
        )
    if hasattr(model, "coef_"):
        what, names, weights = "weight of each feature, numbers standardised", features, model.coef_
    else:
        what, weights = "weight of each kernel, by its row", model.dual_coef_
        names = [f"row {row}" for row in pipeline.table_["kept_rows"]]
    weights = np.atleast_2d(weights)
    for k, row in enumerate(weights):
        bars = _bars(what + _for_class(model, k, len(weights)), names, row)
        # Of kernels only those are named that some class has kept.
        found.append(bars if hasattr(model, "coef_") else replace(bars, hidden=0))
    return found


def _for_class(model: Any, k: int, outputs: int) -> str:
    """Return which class an output of a classifier is for, as the end of a title."""
    if not hasattr(model, "classes_"):
        return ""
    return f", for {model.classes_[1] if outputs == 1 else model.classes_[k]}"


def _effects_of(model: Any) -> list[Any]:
    """Return the effects of each output."""
    found = model.effects_
    return list(found) if len(model.posteriors_) > 1 else [found]


def _effects(model: Any, features: list[str], min_share: float = 0.001) -> list[Bars]:
    """Return the shares of the variance that features and sets of them explain; tiny ones as a sum."""
    found, outputs = [], _effects_of(model)
    for k, effects in enumerate(outputs):
        shown = [each for each in effects if each.features and each.share >= min_share]
        items = [(" with ".join(features[j] for j in each.features), 100 * each.share) for each in shown]
        if len(shown) < len(effects):
            items.append(("all others", 100 * max(1 - sum(each.share for each in shown), 0.0)))
        title = "% of the variance that each feature and each pair explains"
        found.append(Bars(title + _for_class(model, k, len(outputs)), items, signed=False))
    return found


def _modes(model: Any, features: list[str]) -> list[Bars]:
    found = []
    for mode, relevance in enumerate(model.mode_relevance_):
        total = np.atleast_2d(relevance).sum(axis=0)
        if model.basis is not None:
            names = features if mode == 0 else [f"row {k + 1}" for k in range(total.size)]
            title = "relevance of each feature" if mode == 0 else "relevance of each row's kernels"
        else:
            names = [f"slice {k + 1}" for k in range(total.size)]
            title = f"relevance of each slice along mode {mode + 1}"
        found.append(_bars(title + ", in effective parameters", names, total, signed=False))
    return found


def _bars(title: str, names: list[str], values: Any, signed: bool = True) -> Bars:
    kept = [(names[k], float(values[k])) for k in np.flatnonzero(values)]
    return Bars(title, kept, len(names) - len(kept), signed)


def compared(model: Any) -> list[str]:
    """Return how a Laconic model was chosen, as sentences; empty for other models."""
    return in_words(model.candidates_) if hasattr(model, "path_") else []


def path_of(model: Any) -> list[list[tuple[int, float]]]:
    """Return for each output of a Laconic model the loss of each size; empty for other models."""
    if not hasattr(model, "path_"):
        return []
    return [[(point.kernels, point.nats) for point in path] for path in by_output(model.path_)]


def inspect(model_file: str, terminal: Terminal, *, top: int = 15) -> None:
    """Show what a model kept, in words and as bars."""
    pipeline = load_pipeline(model_file)
    words, bars = describe(pipeline), pictures(pipeline)
    for word in [*words, *compared(pipeline[-1])]:
        terminal.say(word)
    for picture in bars:
        terminal.say("\n".join(["", *draw(picture, top)]))
    model, paths = pipeline[-1], path_of(pipeline[-1])
    for k, points in enumerate(paths):
        name = f" for {model.classes_[k]}" if len(paths) > 1 else ""
        terminal.say(f"\nnats lost per observation by the model of each size{name}")
        terminal.say(_sizes(points, chosen=model.posteriors_[k].mean.size))
    terminal.finish(
        {
            "model": type(model).__name__,
            **pipeline.table_,
            "columns": [name for names in columns_of(pipeline[0]) for name in names],
            "features": feature_names(pipeline[0]),
            "kept": int(model.n_relevant_),
            "converged": bool(model.status_.converged),
            "status": str(model.status_),
            "words": words,
            "candidates": [trial._asdict() for trial in getattr(model, "candidates_", [])],
            "bars": [{"title": bar.title, "values": dict(bar.items)} for bar in bars],
            "path": paths,
        }
    )


def draw(picture: Bars, top: int) -> list[str]:
    """Return a picture line by line.

    Examples
    --------
    >>> for line in draw(Bars("weights", [("age", 1.0), ("town = Bath", -0.5)], hidden=3), 5):
    ...     line.rstrip()
    'weights'
    '  age           +1     ██████████████████████████████████'
    '  town = Bath   -0.5   █████████████████'
    '  3 others are zero'
    """
    from rich.cells import cell_len  # letters of some scripts are two cells wide

    most = picture.largest(top)
    if not most:
        return [picture.title, "  nothing was kept"]
    # A category may contain line breaks.
    names = [brief(" ".join(name.split()), 28, 8) for name, _ in most]
    numbers = [show(value, picture.signed) for _, value in most]
    width, space = max(map(cell_len, names)), max(map(len, numbers))
    lines = [picture.title]
    for name, number, (_, value) in zip(names, numbers, most, strict=True):
        padded = name + " " * (width - cell_len(name))
        lines.append(f"  {padded}   {number:{space}}   {_bar(abs(value / most[0][1]))}")
    rest = []
    if len(picture.items) > top:
        rest.append(f"{len(picture.items) - top:,} smaller ones are not shown (--top)")
    if picture.hidden:
        rest.append("1 other is zero" if picture.hidden == 1 else f"{picture.hidden:,} others are zero")
    return [*lines, f"  {'; '.join(rest)}"] if rest else lines


def show(value: float, signed: bool) -> str:
    """Return a number in three digits; with ``signed`` a positive one has a plus sign."""
    return f"{value:+.3g}" if signed else f"{value:.3g}"


def _bar(part: float, width: int = 34) -> str:
    eighths = max(1, round(part * width * 8))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _sizes(points: list[tuple[int, float]], chosen: int) -> str:
    """Return a few sizes around the one that was chosen."""
    lost = dict(points)
    sizes = sorted({0, 1, 2, chosen // 2, chosen, max(lost)} & lost.keys())
    parts = [f"{'*' if size == chosen else ''}{size}: {lost[size]:.2g}" for size in sizes]
    return "  " + "   ".join(parts) + "   (* chosen)"
