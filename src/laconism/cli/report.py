"""``laconism report``: one page about a model and its rivals on the user's data."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from ..interop.whole_file import write_whole
from . import figures
from .columns import feature_names
from .compare import Result, Validation, compare, reported
from .console import Terminal, check_writable, several
from .evaluate import advise, as_records, cells, headers
from .fit import fit_pipeline
from .inspect import Bars, compared, describe, path_of, pictures, show
from .models import Choice, Data, Source, sample_rows
from .rivals import minus_log_density


def report(
    source: Source,
    choice: Choice,
    validation: Validation,
    terminal: Terminal,
    *,
    page: str = "report.html",
) -> None:
    """Write a page about a model and its rivals.

    Errors, calibration, what was kept and how the fit went, in one file that needs no network.
    """
    check_writable(page, source.path)
    data, results = compare(source, validation, terminal, choice.seed, own=choice)
    mine = reported(results) or results[0]
    most = mine.contender.max_rows(validation.max_rows)
    rows = sample_rows(len(data.y), most, data.y, data.task, choice.seed)
    pipeline = fit_pipeline(data, choice.make(data.task), rows, source.target, terminal)
    shuffled = importance(data, mine, terminal, choice.seed)
    advice = advise(results, data.task)
    text = Template(files(__package__).joinpath("page.html").read_text(encoding="utf-8")).substitute(
        generator="laconism",
        title=escape(f"{source.target} in {source.name}"),
        subtitle=escape(
            f"{several(len(data.y), 'row')}, {several(len(data.plan.used), 'column')} used; {data.task} "
            f"with {type(pipeline[-1]).__name__}, {validation.folds}-fold cross-validation. Errors are "
            "of rows that the models had not seen."
        ),
        cards=_cards(mine, pipeline, data),
        advice=escape(advice),
        sections="\n".join(_sections(data, results, pipeline, shuffled, terminal)),
    )
    write_whole(text.encode(), page)
    terminal.remark(advice)
    terminal.remark(f"wrote {page}")
    terminal.finish({"out": page, "models": as_records(results, data.task), "advice": advice})


def importance(
    data: Data, mine: Result, terminal: Terminal, seed: int, max_columns: int = 100, max_rows: int = 500
) -> Bars | None:
    """Return the permutation importance of each column on left-out rows, in nats per row.

    ``None`` if there are too many columns. At most ``max_rows`` of each fold are used.
    """
    from sklearn.inspection import permutation_importance

    names = data.plan.used
    if len(names) > max_columns:
        return None
    rng, lost = np.random.default_rng(seed), []
    with terminal.progress("shuffling columns", total=len(mine.fitted)) as step:
        for pipeline, test in mine.fitted:
            table, y = data.at(rng.permutation(test)[:max_rows])
            shuffle = {"n_repeats": 1, "random_state": seed}
            found = permutation_importance(pipeline, table, y, scoring=_log_score, **shuffle)
            lost.append(found.importances_mean)
            step()
    nats = zip(names, np.mean(lost, axis=0).tolist(), strict=True)
    return Bars("nats per row lost on unseen rows when a column is shuffled", list(nats))


def _log_score(pipeline: Any, table: Any, y: Any) -> float:
    """Return the mean log-probability (density)."""
    X, model = pipeline[0].transform(table), pipeline[-1]
    if hasattr(model, "classes_"):
        known = np.isin(y, model.classes_)
        place = np.searchsorted(model.classes_, y[known])
        return float(np.mean(model.predict_log_proba(X)[known][np.arange(place.size), place]))
    return float(-np.mean(minus_log_density(y, *model.predict_dist(X))))


# ---- the page -----------------------------------------------------------------------------


def _cards(mine: Result, pipeline: Any, data: Data) -> str:
    _, error, nats, _, _ = cells(mine, data.task)
    first, second = headers(data.task)[1:3]
    count = mine.contender.kept(pipeline[-1], pipeline.table_["rows"])
    kept = several(count, mine.contender.counted(pipeline[-1])[:-1])
    pairs = [(error, first), (nats, second), (kept, "kept by the model of all rows")]
    if data.task == "regression":
        explained = 1 - float(np.mean(mine.loss)) / float(np.var(data.y))
        pairs.insert(1, (f"{explained:.1%}", "of the variance explained"))
    return "".join(f"<div><b>{escape(a)}</b><span>{escape(b)}</span></div>" for a, b in pairs)


def _sections(
    data: Data, results: list[Result], pipeline: Any, shuffled: Bars | None, terminal: Terminal
) -> list[str]:
    mine, model = reported(results) or results[0], pipeline[-1]
    errors = _error_bars(results, data.task) + _comparison(results, data.task)
    found = [_section("Errors", errors, wide=True)]
    if data.task == "classification":
        found.append(_calibration(data, mine, pipeline.table_["target"]))
        found.append(_section("Confusion", _confusion(data, mine)))
    else:
        found += _regression(data, mine)
    if shuffled is not None:
        found.append(_section("Which columns matter", _bars(shuffled)))
    kept = pictures(pipeline)
    bars = "".join(f"<div>{_bars(picture)}</div>" for picture in kept)
    words = "".join(f"<p>{escape(sentence)}</p>" for sentence in describe(pipeline))
    body = f'{words}<div class="side">{bars}</div>'
    found.append(_section("What the model keeps", body, wide=len(kept) > 1))
    if hasattr(model, "effects_"):
        found += _shapes(data, pipeline)
    if path_of(model):
        chosen = "".join(f"<li>{escape(sentence)}</li>" for sentence in compared(model))
        found.append(_section("What was compared, on rows left out", f"<ul>{chosen}</ul>"))
        kind = mine.contender.counted(model)
        caption = f"Few {kind} that lose no more than the tolerance are kept (filled)."
        found.append(_section(f"From few {kind} to many", _drawn(figures.path(model), caption)))
    else:
        caption = "The objective at each iteration, and the columns that are still in."
        drawn = _drawn(figures.convergence(model), caption)
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


def _table(head: Iterable[str], rows: Iterable[str], note: str, kind: str = "") -> str:
    """Return a table with titles, rows that are HTML already, and a note below."""
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    return (
        f'<div class="scroll"><table{kind}><thead><tr>{titles}</tr></thead>'
        f'<tbody>{"".join(rows)}</tbody></table></div><p class="quiet">{escape(note)}</p>'
    )


def _row(texts: Iterable[str], kind: str = "", cells: str = "") -> str:
    """Return a row of a table: texts, then cells that are HTML already."""
    return f"<tr{kind}>{''.join(f'<td>{escape(text)}</td>' for text in texts)}{cells}</tr>"


def _comparison(results: list[Result], task: str) -> str:
    rows = [_row(cells(result, task), f' class="{_side(result)}"') for result in results]
    note = (
        "± one standard error over the rows; seconds are of one fit, preprocessing and tuning included."
    )
    return _table(headers(task), rows, note)


def _error_bars(results: list[Result], task: str) -> str:
    """Return errors as bars, with whiskers of one standard error.

    That of the baseline ends at twice the others' at the most, or their differences would not be seen.
    """
    ends = [sum(result.error) for result in results]
    others = [end for end, r in zip(ends, results, strict=True) if r.contender.key != "baseline"]
    longest = min(max(ends), 2 * max(others, default=np.inf)) or 1.0
    rows = ""
    for result, end in zip(results, ends, strict=True):
        mean, se = (value / longest for value in result.error)
        left, right = max(mean - se, 0.0), mean + se
        side = _side(result)
        if end > longest:
            track = f'<i class="{side} cut" style="width:100%"></i>'
        else:
            track = (
                f'<i class="{side}" style="width:{100 * mean:.2f}%"></i>'
                f'<s style="left:{100 * left:.2f}%;width:{100 * (right - left):.2f}%"></s>'
            )
        rows += _bar_row(result.name, track, cells(result, task)[1], f' class="{side}"')
    unit = "error, % of rows" if task == "classification" else "root mean squared error"
    return f'<p class="quiet">{unit}, ± one standard error</p><div class="bars">{rows}</div>'


def _bars(picture: Bars, max_bars: int = 15) -> str:
    most = picture.largest(max_bars)
    if not most:
        return f'<p class="quiet">{escape(picture.title)}: nothing was kept.</p>'
    longest = abs(most[0][1]) or 1.0
    rows = ""
    for name, value in most:
        kind = ' class="minus"' if value < 0 else ""
        track = f'<i{kind} style="width:{100 * abs(value) / longest:.2f}%"></i>'
        rows += _bar_row(name, track, show(value, picture.signed))
    more = f", the {len(most)} largest of {len(picture.items):,}" if picture.items[max_bars:] else ""
    return f'<p class="quiet">{escape(picture.title + more)}</p><div class="bars">{rows}</div>'


def _side(result: Result) -> str:
    """Return whose a model is: the page's own, another one of ours, or a rival."""
    contender = result.contender
    return "own" if contender.reported else "ours" if contender.ours else "rival"


def _bar_row(name: str, track: str, number: str, kind: str = "") -> str:
    return (
        f'<span{kind}>{escape(name)}</span><span class="track">{track}</span>'
        f'<span class="number">{escape(number)}</span>'
    )


def _calibration(data: Data, mine: Result, target: str, n_bins: int = 10) -> str:
    """Return the calibration curve and the expected calibration error."""
    classes = np.unique(data.y)
    happened = data.y[:, None] == classes[None, :]
    if len(classes) == 2:
        said, seen, what = mine.predictions[:, 1], happened[:, 1], f"P({target} = {classes[1]})"
    else:
        said, seen, what = mine.predictions.ravel(), happened.ravel(), "the probabilities of all classes"
    bins = np.digitize(said, np.linspace(0, 1, n_bins + 1)[1:-1])
    distance = np.abs(np.bincount(bins, said - seen)).sum() / said.size
    caption = (
        f"{what} of unseen rows, and how often it was so: on the dashed line what is said comes to "
        f"pass. The mean distance from it is {distance:.3f}. Whiskers are 95% intervals."
    )
    svg = figures.calibration(said, seen, n_bins)
    return _section("Calibration", _drawn(svg, caption[:1].upper() + caption[1:]))


def _confusion(data: Data, mine: Result, max_classes: int = 12) -> str:
    classes, counts = np.unique(data.y, return_counts=True)
    shown = np.sort(np.argsort(-counts, kind="stable")[:max_classes])
    rows = []
    for k in shown:
        inside = mine.labels[data.y == classes[k]]
        found = [int((inside == classes[j]).sum()) for j in shown]
        shaded = (
            f'<td class="cell" style="--share:{70 * n / len(inside):.0f}%">{n:,}</td>' for n in found
        )
        rows.append(_row([str(classes[k])], cells="".join(shaded)))
    note = "Rows are true classes, columns predicted ones; shades are shares of a row."
    if len(shown) < len(classes):
        note += f" Shown are the {len(shown)} most frequent of {len(classes)} classes."
    return _table(["true", *map(str, classes[shown])], rows, note, ' class="confusion"')


def _regression(data: Data, mine: Result) -> list[str]:
    mean, std = mine.predictions.T
    inside = [float(np.mean(np.abs(data.y - mean) <= width * std)) for width in (1.0, 1.96)]
    coverage = (
        f"{inside[0]:.0%} of the rows lie within one said deviation (68% would be right), "
        f"{inside[1]:.0%} within 1.96 (95%)."
    )
    units = (
        "In units of the deviation that was said: two thirds between -1 and 1, few beyond the dashed "
        "lines."
    )
    drawn = figures.predicted_against_true(mean, std, data.y), figures.residuals(mean, std, data.y)
    return [
        _section("Predicted and true", _drawn(drawn[0], coverage)),
        _section("Residuals", _drawn(drawn[1], units)),
    ]


def _shapes(data: Data, pipeline: Any) -> list[str]:
    """Return the section with the effects of an additive model."""
    drawn = figures.shapes(pipeline, data.table, feature_names(pipeline[0]))
    if not drawn:
        return []
    note = (
        "The prediction is a constant and the sum of these effects and of smaller ones. Bands are two "
        "standard deviations, marks below the values of the rows; an interaction is what two columns do "
        "together beyond what each does alone."
    )
    body = "".join(f"<figure>{svg}</figure>" for svg in drawn)
    return [
        _section("What each column does", f'<p>{note}</p><div class="effects">{body}</div>', wide=True)
    ]


def _kept_rows(data: Data, pipeline: Any, max_rows: int = 10, max_columns: int = 6) -> str:
    """Return the rows with the largest weights, as they stand in the table."""
    rows = np.array(pipeline.table_["kept_rows"])
    weights = np.abs(np.atleast_2d(pipeline[-1].dual_coef_)).max(axis=0)
    largest = rows[np.argsort(-weights, kind="stable")[:max_rows]]
    columns = data.plan.used[:max_columns]
    places = data.table.index.get_indexer(largest - 1)
    shown = data.table[columns].iloc[places].assign(**{"": data.y[places]}).itertuples(index=False)
    body = [_row([str(row), *map(_cell, values)]) for row, values in zip(largest, shown, strict=True)]
    more = f" of {len(data.plan.used):,}" if len(columns) < len(data.plan.used) else ""
    note = (
        f"The {len(largest)} largest weights of {len(rows):,}; the first {len(columns)}{more} columns."
    )
    return _table(["row", *columns, pipeline.table_["target"]], body, note)


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.4g}"
    return str(value)
