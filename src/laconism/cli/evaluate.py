"""``laconism evaluate``: our models against others on the user's data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .compare import Result, compare, mean_and_error, without_rare
from .console import Terminal, UserError, several
from .data import Source, read_data
from .rivals import USUAL, contenders

# Standard errors from which on a difference is clear.
_CLEAR_STANDARD_ERRORS = 2.0
# Digits on either side of the point beyond which a number is written as a power of ten.
_PLAIN_DIGITS = 7


def advise(results: list[Result], task: str) -> str:
    """Return a summary: our model against the best rivals, by paired differences.

    Ours is the first of our models, unless another one of them is clearly better.

    Parameters
    ----------
    results : list of Result
    task : str

    Returns
    -------
    str
    """
    mine = _best_of_ours(results)
    rivals = [r for r in results if not r.contender.ours and r.contender.key != "baseline"]
    base = next((r for r in results if r.contender.key == "baseline"), None)
    if mine is None:
        return "None of our models was asked for, so there is nothing to advise."
    better = base is not None and [_difference(mine, base, what)[2] for what in ("loss", "score")]
    if base is not None and better and min(better) >= 0:
        return (
            f"{mine.name} cannot be told from the {base.name} baseline on these data: the columns say "
            "little about the target, or there are too few rows."
        )
    if not rivals:
        return f"{mine.name} is clearly better than the baseline; there was no rival."
    best = min(rivals, key=lambda result: float(np.mean(result.loss)))
    mean, se, verdict = _difference(mine, best, "loss")
    scale, unit = (100.0, "points") if task == "classification" else (100 / np.mean(best.loss), "%")
    what = "errors" if task == "classification" else "squared error"
    by = f"{scale * abs(mean):.1f} ± {scale * se:.1f} {unit}"
    if verdict == 0:
        sign = "+" if mean >= 0 else "-"
        text = f"No difference in {what} between {mine.name} and {best.name} can be told on these data"
        text += f" ({sign}{by})"
    else:
        less = "less" if task == "regression" else "fewer"
        side = less if verdict < 0 else "more"
        text = f"{mine.name} has clearly {side} {what} than {best.name} (by {by})"
    return text + _in_nats(mine, rivals, task) + _in_size(mine, best, verdict)


def _best_of_ours(results: list[Result]) -> Result | None:
    ours = [result for result in results if result.contender.ours]
    if not ours:
        return None
    best = min(ours, key=lambda result: float(np.mean(result.loss)))
    return best if _difference(ours[0], best, "loss")[2] > 0 else ours[0]


def _difference(a: Result, b: Result, what: str) -> tuple[float, float, int]:
    """Return the mean of a - b with its standard error, and its sign if that is clear."""
    mean, se = mean_and_error(getattr(a, what) - getattr(b, what))
    clear = not np.isnan(mean) and abs(mean) > _CLEAR_STANDARD_ERRORS * se
    return mean, se, int(np.sign(mean)) if clear else 0


def _in_nats(mine: Result, rivals: list[Result], task: str) -> str:
    """Return the part of the summary about probabilities, or densities."""
    known = [result for result in rivals if not np.isnan(result.score).any()]
    if not known or np.isnan(mine.score).any():
        return ""
    best = min(known, key=lambda result: float(np.mean(result.score)))
    mean, se, verdict = _difference(mine, best, "score")
    what = "log-loss" if task == "classification" else "NLPD"
    by = f"{abs(mean):.3f} ± {se:.3f}"
    if verdict == 0:
        sign = "+" if mean >= 0 else "-"
        return f"; its {what} cannot be told from that of {best.name} ({sign}{by})"
    side = "lower" if verdict < 0 else "higher"
    return f"; its {what} is clearly {side} than that of {best.name} (by {by})"


def _in_size(mine: Result, best: Result, verdict: int) -> str:
    if verdict > 0:
        return f": prefer {best.name} where accuracy is what counts."
    few, many = round(np.mean(mine.kept)), round(np.mean(best.kept))
    if best.kind in (mine.kind, "all rows") and few < many:
        return f"; it keeps {few:,} {mine.kind} where {best.name} keeps {many:,}."
    return "."


def as_records(results: list[Result], task: str) -> list[dict[str, Any]]:
    """Return the numbers of the table as records.

    Parameters
    ----------
    results : list of Result
    task : str

    Returns
    -------
    list of dict
    """
    first, second = ("error", "log_loss") if task == "classification" else ("rmse", "nlpd")
    return [
        {
            "model": result.contender.key,
            "name": result.name,
            first: result.error[0],
            f"{first}_se": result.error[1],
            second: result.nats[0],
            f"{second}_se": result.nats[1],
            "kept": float(np.mean(result.kept)),
            "kept_of": result.kind,
            "seconds": float(np.mean(result.seconds)),
        }
        for result in results
    ]


def cells(result: Result, task: str) -> list[str]:
    """Return a row of the table.

    Parameters
    ----------
    result : Result
    task : str

    Returns
    -------
    list of str
    """
    error, nats = result.error, result.nats
    if task == "classification":
        first = f"{100 * error[0]:.1f} ± {100 * error[1]:.1f}"
    else:
        first = with_error(*error)
    second = "" if np.isnan(nats[0]) else f"{nats[0]:.3f} ± {nats[1]:.3f}"
    kind = result.kind
    kept = kind if kind in ("nothing", "all rows") else several(round(np.mean(result.kept)), kind[:-1])
    return [result.name, first, second, kept, f"{np.mean(result.seconds):.2g}"]


def with_error(value: float, error: float) -> str:
    """Return a number with as many digits as its standard error supports.

    Parameters
    ----------
    value, error : float

    Returns
    -------
    str

    Examples
    --------
    >>> with_error(61356.2, 523.1), with_error(54.143, 1.7), with_error(3.2e9, 0.0)
    ('61,360 ± 520', '54.1 ± 1.7', '3.2e+09 ± 0')
    """
    digits = 1 - math.floor(math.log10(error)) if error > 0 else 99
    if not (digits < _PLAIN_DIGITS and abs(value) < 10**_PLAIN_DIGITS):
        return f"{value:.4g} ± {error:.2g}"
    shown = max(digits, 0)
    return f"{round(value, digits):,.{shown}f} ± {round(error, digits):,.{shown}f}"


def headers(task: str) -> list[str]:
    """Return the titles of the table's columns.

    Parameters
    ----------
    task : str

    Returns
    -------
    list of str
    """
    if task == "classification":
        return ["model", "error, %", "log-loss", "keeps", "fit, s"]
    return ["model", "RMSE", "NLPD", "keeps", "fit, s"]


def run_evaluate(
    source: Source,
    terminal: Terminal,
    *,
    folds: int,
    models: str | None,
    max_rows: int | None,
    seed: int,
) -> None:
    """Compare our models with their rivals, and summarise.

    Parameters
    ----------
    source : Source
    terminal : Terminal
    folds : int
    models : str or None
        Keys, separated by commas.
    max_rows : int or None
    seed : int
    """
    data = without_rare(read_data(source, terminal), folds, terminal)
    keys = USUAL if models is None else tuple(models.split(","))
    entered = contenders(data.task, keys, seed)
    results = compare(data, entered, terminal, folds=folds, max_rows=max_rows, seed=seed)
    if not results:
        raise UserError("No model could be fitted to these data.")
    advice = advise(results, data.task)
    _show(results, data.task, terminal)
    terminal.say(
        f"{folds}-fold cross-validation, ± one standard error over {several(len(data.y), 'row')}."
    )
    terminal.say(advice)
    terminal.finish(
        {
            "task": data.task,
            "rows": len(data.y),
            "folds": folds,
            "models": as_records(results, data.task),
            "advice": advice,
        }
    )


def _show(results: list[Result], task: str, terminal: Terminal) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for k, header in enumerate(headers(task)):
        table.add_column(header, justify="left" if k == 0 else "right", no_wrap=True)
    for result in results:
        table.add_row(*cells(result, task), style="bold" if result.contender.ours else "")
    terminal.say(table)
