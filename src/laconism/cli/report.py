"""``laconism report``: one page about a model and its rivals on the user's data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from . import figures
from .compare import Result, compare, without_rare
from .console import Terminal, UserError, several
from .data import Data, Source, read_data
from .evaluate import advise, as_records, cells, headers
from .files import check_writable, write_whole
from .fit import fit_pipeline, kept_rows
from .inspect import Bars, describe, path_of, pictures, show
from .models import make_model, sample_rows
from .rivals import USUAL, contenders

# Maximum number of bars of a figure, rows of a table, classes of a confusion matrix.
_MAX_BARS = 15
_MAX_TABLE_ROWS = 10
_MAX_CONFUSION_CLASSES = 12
_MAX_TABLE_COLUMNS = 6
# Permutation importance: maximum number of columns, and of rows of each fold.
_SHUFFLED_COLUMNS = 100
_SHUFFLED_ROWS = 500


def run_report(
    source: Source,
    out: str,
    terminal: Terminal,
    *,
    model: str,
    kernel: str | None,
    grid_shape: str | None,
    settings: Sequence[str],
    folds: int,
    models: str | None,
    max_rows: int | None,
    seed: int,
) -> None:
    """Compare, fit, and write the page.

    Parameters
    ----------
    source : Source
    out : str
        The file to write.
    terminal : Terminal
    model, kernel, grid_shape, settings, seed
        As in :func:`~laconism.cli.models.make_model`.
    folds, models, max_rows
        As in :func:`~laconism.cli.evaluate.run_evaluate`.
    """
    check_writable(out, source.path)
    data = without_rare(read_data(source, terminal, as_grid=grid_shape is not None), folds, terminal)

    def make() -> Any:
        return make_model(
            model, data.task, kernel=kernel, grid_shape=grid_shape, seed=seed, settings=settings
        )

    kernels = getattr(make(), "kernel", None) is not None  # raises before the work begins
    kind, capped = "kernels" if kernels else "features", kernels or model == "grid"
    keys = USUAL if models is None else tuple(models.split(","))
    entered = contenders(data.task, (*keys, model), seed)
    entered = [
        replace(one, make=make, kind=kind, capped=capped) if one.key == model else one for one in entered
    ]
    entered.sort(key=lambda one: one.key != model)
    results = compare(data, entered, terminal, folds=folds, max_rows=max_rows, seed=seed, keep=model)
    if not results or results[0].contender.key != model:
        raise UserError("The model of the report could not be fitted.")
    mine = results[0]
    rows = sample_rows(len(data.y), mine.contender.max_rows(max_rows), data.y, data.task, seed)
    pipeline = fit_pipeline(data, make(), rows, terminal)
    pipeline.table_ = {
        "target": source.target,
        "task": data.task,
        "rows": len(rows),
        "left_out": sorted(data.plan.left_out),
        "kept_rows": kept_rows(data, pipeline[-1], rows),
    }
    shuffled = importance(data, mine, terminal, seed)
    advice = advise(results, data.task)
    page = Template(files(__package__).joinpath("page.html").read_text(encoding="utf-8")).substitute(
        generator="laconism",
        title=escape(f"{source.target} in {'stdin' if source.path == '-' else source.path}"),
        subtitle=escape(
            f"{several(len(data.y), 'row')}, {several(len(data.plan.used), 'column')} used; {data.task} "
            f"with {type(pipeline[-1]).__name__}, {folds}-fold cross-validation. Errors are of rows "
            "that the models had not seen."
        ),
        cards=_cards(mine, pipeline, data),
        advice=escape(advice),
        sections="\n".join(_sections(data, results, pipeline, shuffled, terminal)),
    )
    write_whole(page.encode(), out)
    terminal.remark(advice)
    terminal.remark(f"wrote {out}")
    terminal.finish({"out": out, "models": as_records(results, data.task), "advice": advice})


def importance(data: Data, mine: Result, terminal: Terminal, seed: int) -> Bars | None:
    """Return the permutation importance of each column on left-out rows, in nats per row.

    Parameters
    ----------
    data : Data
    mine : Result
        With its fitted pipelines.
    terminal : Terminal
    seed : int

    Returns
    -------
    Bars or None
        ``None`` if there are too many columns.
    """
    names = data.plan.used
    if len(names) > _SHUFFLED_COLUMNS:
        return None
    rng = np.random.default_rng(seed)
    missed = np.zeros(len(names))
    with terminal.progress("shuffling", total=len(names)) as step:
        parts = []
        for pipeline, test in mine.fitted:
            rows = rng.permutation(test)[:_SHUFFLED_ROWS]
            parts.append((pipeline, data.table.iloc[rows], data.y[rows]))
        whole = [_nats(pipeline, table, y) for pipeline, table, y in parts]
        for k, name in enumerate(names):
            for (pipeline, table, y), before in zip(parts, whole, strict=True):
                mixed = table.copy()
                mixed[name] = rng.permutation(table[name].to_numpy())
                missed[k] += (_nats(pipeline, mixed, y) - before) / len(parts)
            step(name)
    title = "nats per row lost on unseen rows when a column is shuffled"
    return Bars(title, list(names), [float(value) for value in missed])


def _nats(pipeline: Any, table: Any, y: Any) -> float:
    """Return minus the mean log-probability (density)."""
    X, model = pipeline[0].transform(table), pipeline[-1]
    if hasattr(model, "classes_"):
        known = np.isin(y, model.classes_)
        place = np.searchsorted(model.classes_, y[known])
        return float(-np.mean(model.predict_log_proba(X)[known][np.arange(place.size), place]))
    mean, std = model.predict_dist(X)
    return float(np.mean(0.5 * np.log(2 * np.pi * std**2) + 0.5 * ((y - mean) / std) ** 2))


# ---- the page -----------------------------------------------------------------------------


def _cards(mine: Result, pipeline: Any, data: Data) -> str:
    _, error, nats, _, _ = cells(mine, data.task)
    first, second = headers(data.task)[1:3]
    kept = several(mine.contender.kept(pipeline[-1]) or 0, mine.contender.counted(pipeline[-1])[:-1])
    pairs = [(error, first), (nats, second), (kept, "kept by the model of all rows")]
    if data.task == "regression":
        explained = 1 - float(np.mean(mine.loss)) / float(np.var(data.y))
        pairs.insert(1, (f"{explained:.1%}", "of the variance explained"))
    return "".join(f"<div><b>{escape(a)}</b><span>{escape(b)}</span></div>" for a, b in pairs)


def _sections(
    data: Data, results: list[Result], pipeline: Any, shuffled: Bars | None, terminal: Terminal
) -> list[str]:
    mine, model = results[0], pipeline[-1]
    found = [_section("Errors", _error_bars(results, data.task) + _table(results, data.task), wide=True)]
    if data.task == "classification":
        found += [
            _calibration(data, mine, pipeline.table_["target"]),
            _section("Confusion", _confusion(data, mine)),
        ]
    else:
        found += _regression(data, mine)
    kept = pictures(pipeline)
    if shuffled is not None:
        found.append(_section("Which columns matter", _bars(shuffled)))
    bars = "".join(f"<div>{_bars(picture)}</div>" for picture in kept)
    words = "".join(f"<p>{escape(sentence)}</p>" for sentence in describe(pipeline))
    found.append(
        _section("What the model keeps", f'{words}<div class="side">{bars}</div>', wide=len(kept) > 1)
    )
    if path_of(model):
        kind = mine.contender.counted(model)
        caption = f"Few {kind} that lose no more than the tolerance are kept (filled)."
        found.append(_section(f"From few {kind} to many", _drawn(figures.path(model), caption)))
    else:
        caption = "The objective at each iteration, and the columns that are still in."
        drawn = _drawn(figures.convergence(model.history_), caption)
        found.append(_section("How the fit went", f"<p>{escape(str(model.status_))}</p>{drawn}"))
    if pipeline.table_["kept_rows"]:
        found.append(_section("Rows that carry the kernels", _kept_rows(data, pipeline)))
    notes = terminal.notes or ["Every column was used as it is; numbers were standardised."]
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    found.append(_section("What was done to the data", f"<ul>{items}</ul>", wide=True))
    return found


def _section(title: str, body: str, wide: bool = False) -> str:
    kind = ' class="wide"' if wide else ""
    return f"<section{kind}>\n<h2>{escape(title)}</h2>\n{body}\n</section>"


def _drawn(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def _table(results: list[Result], task: str) -> str:
    head = "".join(f"<th>{escape(header)}</th>" for header in headers(task))
    body = ""
    for result in results:
        kind = ' class="ours"' if result.contender.ours else ""
        body += f"<tr{kind}>" + "".join(f"<td>{escape(c)}</td>" for c in cells(result, task)) + "</tr>"
    note = (
        "± one standard error over the rows; seconds are of one fit, preprocessing and tuning included."
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        f'<p class="quiet">{note}</p>'
    )


def _error_bars(results: list[Result], task: str) -> str:
    """Return errors as bars, with whiskers of one standard error."""
    longest = max(sum(result.error) for result in results) or 1.0
    rows = ""
    for result in results:
        mean, se = (value / longest for value in result.error)
        left = max(mean - se, 0.0)
        track = (
            f'<i style="width:{100 * mean:.2f}%"></i>'
            f'<s style="left:{100 * left:.2f}%;width:{100 * (mean + se - left):.2f}%"></s>'
        )
        rows += _bar_row(result.name, track, cells(result, task)[1])
    unit = "error, % of rows" if task == "classification" else "root mean squared error"
    return f'<p class="quiet">{unit}, ± one standard error</p><div class="bars">{rows}</div>'


def _bars(picture: Bars) -> str:
    most = picture.largest(_MAX_BARS)
    if not most.names:
        return f'<p class="quiet">{escape(picture.title)}: nothing was kept.</p>'
    longest = max(abs(value) for value in most.values) or 1.0
    rows = ""
    for name, value in zip(most.names, most.values, strict=True):
        kind = ' class="minus"' if value < 0 else ""
        track = f'<i{kind} style="width:{100 * abs(value) / longest:.2f}%"></i>'
        rows += _bar_row(name, track, show(value, picture.signed))
    hidden = len(picture.names) - len(most.names)
    more = f", the {len(most.names)} largest of {len(picture.names):,}" if hidden else ""
    return f'<p class="quiet">{escape(picture.title + more)}</p><div class="bars">{rows}</div>'


def _bar_row(name: str, track: str, number: str) -> str:
    return (
        f'<span>{escape(name)}</span><span class="track">{track}</span>'
        f'<span class="number">{escape(number)}</span>'
    )


def _calibration(data: Data, mine: Result, target: str) -> str:
    classes = np.unique(data.y)
    happened = data.y[:, None] == classes[None, :]
    if len(classes) == 2:
        said, seen, what = mine.predictions[:, 1], happened[:, 1], f"P({target} = {classes[1]})"
    else:
        said, seen, what = mine.predictions.ravel(), happened.ravel(), "the probabilities of all classes"
    svg, distance = figures.calibration(said, seen.astype(float))
    caption = (
        f"{what} of unseen rows, and how often it was so: on the dashed line what is said comes to "
        f"pass. The mean distance from it is {distance:.3f}. Whiskers are standard errors."
    )
    return _section("Calibration", _drawn(svg, caption[:1].upper() + caption[1:]))


def _confusion(data: Data, mine: Result) -> str:
    classes, counts = np.unique(data.y, return_counts=True)
    shown = np.sort(np.argsort(-counts, kind="stable")[:_MAX_CONFUSION_CLASSES])
    head = "".join(f"<th>{escape(str(classes[k]))}</th>" for k in shown)
    body = ""
    for k in shown:
        inside = mine.labels[data.y == classes[k]]
        row = ""
        for j in shown:
            count = int((inside == classes[j]).sum())
            share = 70 * count / max(len(inside), 1)
            row += f'<td class="cell" style="--share:{share:.0f}%">{count:,}</td>'
        body += f"<tr><td>{escape(str(classes[k]))}</td>{row}</tr>"
    note = "Rows are true classes, columns predicted ones; shades are shares of a row."
    if len(shown) < len(classes):
        note += f" Shown are the {len(shown)} most frequent of {len(classes)} classes."
    return (
        '<div class="scroll"><table class="confusion"><thead><tr><th>true</th>'
        f'{head}</tr></thead><tbody>{body}</tbody></table></div><p class="quiet">{note}</p>'
    )


def _regression(data: Data, mine: Result) -> list[str]:
    mean, std = mine.predictions[:, 0], mine.predictions[:, 1]
    inside = [float(np.mean(np.abs(data.y - mean) <= width * std)) for width in (1.0, 1.96)]
    coverage = (
        f"{inside[0]:.0%} of the rows lie within one said deviation (68% would be right), "
        f"{inside[1]:.0%} within 1.96 (95%)."
    )
    return [
        _section(
            "Predicted and true", _drawn(figures.predicted_against_true(mean, std, data.y), coverage)
        ),
        _section(
            "Residuals",
            _drawn(
                figures.residuals(mean, std, data.y),
                "In units of the deviation that was said: two thirds between -1 and 1, few beyond the "
                "dashed lines.",
            ),
        ),
    ]


def _kept_rows(data: Data, pipeline: Any) -> str:
    """Return the rows with the largest weights, as they stand in the table."""
    rows = np.array(pipeline.table_["kept_rows"])
    weights = np.abs(np.atleast_2d(pipeline[-1].dual_coef_)).max(axis=0)
    order = np.argsort(-weights, kind="stable")[:_MAX_TABLE_ROWS]
    columns = data.plan.used[:_MAX_TABLE_COLUMNS]
    head = "".join(f"<th>{escape(name)}</th>" for name in ("row", *columns, pipeline.table_["target"]))
    body = ""
    for k in order:
        place = data.table.index.get_loc(rows[k] - 1)
        values = [data.table[name].iloc[place] for name in columns]
        texts = [f"{rows[k]}", *(_cell(value) for value in values), _cell(data.y[place])]
        body += "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in texts) + "</tr>"
    more = f" of {len(data.plan.used):,}" if len(columns) < len(data.plan.used) else ""
    note = f"The {len(order)} largest weights of {len(rows):,}; the first {len(columns)}{more} columns."
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        f'<p class="quiet">{note}</p>'
    )


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.4g}"
    return str(value)
