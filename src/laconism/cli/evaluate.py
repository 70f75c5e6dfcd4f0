"""``laconism evaluate``: our models against others on the user's data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from .compare import Result, Validation, compare, mean_and_error, reported
from .console import Terminal, several
from .models import Source
from .rivals import Contender


class Measured(Protocol):
    """The figures of one model in the table; errors come with their standard error."""

    contender: Contender
    kept: list[int]
    seconds: list[float]

    @property
    def kind(self) -> str:
        """What is counted as kept."""

    @property
    def name(self) -> str:
        """Its name in the table."""

    @property
    def error(self) -> tuple[float, float]:
        """Error rate, or root mean squared error."""

    @property
    def nats(self) -> tuple[float, float]:
        """Log-loss, or minus log predictive density."""


def evaluate(source: Source, validation: Validation, terminal: Terminal, *, seed: int = 0) -> None:
    """Compare our models with their rivals on your own data.

    Cross-validated on the same folds, everything fitted inside them.
    """
    data, results = compare(source, validation, terminal, seed)
    advice = advise(results, data.task)
    terminal.say(comparison_table(results, data.task))
    rows = several(len(data.y), "row")
    terminal.say(f"{validation.folds}-fold cross-validation, ± one standard error over {rows}.")
    terminal.say(advice)
    terminal.finish(
        {
            "task": data.task,
            "rows": len(data.y),
            "folds": validation.folds,
            "models": as_records(results, data.task),
            "advice": advice,
        }
    )


def advise(results: list[Result], task: str) -> str:
    """Return a summary: our model against the best rivals, by paired differences.

    Ours is the model of a report, else the first of our models, unless another one of them is clearly
    better.
    """
    mine = _best_of_ours(results)
    rivals = [r for r in results if not r.contender.ours and r.contender.key != "baseline"]
    base = next((r for r in results if r.contender.key == "baseline"), None)
    if mine is None:
        return "None of our models was asked for, so there is nothing to advise."
    if base is not None and min(_difference(mine, base, what)[2] for what in ("loss", "score")) >= 0:
        return (
            f"{mine.name} cannot be told from the {base.name} baseline on these data: the columns say "
            "little about the target, or there are too few rows."
        )
    if not rivals:
        return f"{mine.name} is clearly better than the baseline; there was no rival."
    best = _best(rivals, "loss")
    mean, se, verdict = _difference(mine, best, "loss")
    if task == "classification":
        what, scale, unit, sides = "errors", 100.0, "points", ("fewer", "more")
    else:
        what, scale, unit, sides = "squared error", 100 / np.mean(best.loss), "%", ("less", "more")
    by = f"{scale * mean:+.1f} ± {scale * se:.1f} {unit}"
    if verdict == 0:
        text = f"No difference in {what} between {mine.name} and {best.name} can be told on these data"
        text += f" ({by})"
    else:
        text = f"{mine.name} has clearly {sides[verdict > 0]} {what} than {best.name} (by {by[1:]})"
    return text + _in_nats(mine, rivals, task) + _in_size(mine, best, verdict)


def _best(results: list[Result], what: str) -> Result:
    """Return the result with the smallest mean loss or score."""
    return min(results, key=lambda result: float(np.mean(getattr(result, what))))


def _best_of_ours(results: list[Result]) -> Result | None:
    ours = [result for result in results if result.contender.ours]
    if not ours:
        return None
    first = reported(ours) or ours[0]
    best = _best(ours, "loss")
    return best if _difference(first, best, "loss")[2] > 0 else first


def _difference(a: Result, b: Result, what: str) -> tuple[float, float, int]:
    """Return the mean of a - b with its standard error, and its sign if it exceeds two of those."""
    mean, se = mean_and_error(getattr(a, what) - getattr(b, what))
    return mean, se, int(np.sign(mean)) if abs(mean) > 2 * se else 0


def _in_nats(mine: Result, rivals: list[Result], task: str) -> str:
    """Return the part of the summary about probabilities, or densities."""
    best = _best(rivals, "score")
    mean, se, verdict = _difference(mine, best, "score")
    what, by = headers(task)[2], f"{mean:+.3f} ± {se:.3f}"
    if verdict == 0:
        return f"; its {what} cannot be told from that of {best.name} ({by})"
    side = "lower" if verdict < 0 else "higher"
    return f"; its {what} is clearly {side} than that of {best.name} (by {by[1:]})"


def _in_size(mine: Result, best: Result, verdict: int) -> str:
    if verdict > 0:
        return f": prefer {best.name} where accuracy is what counts."
    few, many = round(np.mean(mine.kept)), round(np.mean(best.kept))
    if best.kind in (mine.kind, "all rows") and few < many:
        return f"; it keeps {few:,} {mine.kind} where {best.name} keeps {many:,}."
    return "."


def as_records(results: Sequence[Measured], task: str) -> list[dict[str, Any]]:
    """Return the numbers of the table as records."""
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


def cells(result: Measured, task: str) -> list[str]:
    """Return a row of the table."""
    (error, error_se), (nats, nats_se) = result.error, result.nats
    first = with_error(error, error_se)
    if task == "classification":
        first = f"{100 * error:.1f} ± {100 * error_se:.1f}"
    kind = result.kind
    kept = kind if kind in ("nothing", "all rows") else several(round(np.mean(result.kept)), kind[:-1])
    mean = float(np.mean(result.seconds))
    seconds = "" if np.isnan(mean) else f"{mean:.2g}"
    return [result.name, first, f"{nats:.3f} ± {nats_se:.3f}", kept, seconds]


def with_error(value: float, error: float, plain_digits: int = 7) -> str:
    """Return a number with as many digits as its standard error supports.

    With more than ``plain_digits`` on either side of the point it is written as a power of ten.
    """
    digits = 1 - math.floor(math.log10(error)) if error > 0 else 99
    if not (digits < plain_digits and abs(value) < 10**plain_digits):
        return f"{value:.4g} ± {error:.2g}"
    shown = max(digits, 0)
    return f"{round(value, digits):,.{shown}f} ± {round(error, digits):,.{shown}f}"


def headers(task: str) -> list[str]:
    """Return the titles of the table's columns."""
    scores = ("error, %", "log-loss") if task == "classification" else ("RMSE", "NLPD")
    return ["model", *scores, "keeps", "fit, s"]


def comparison_table(results: Sequence[Measured], task: str) -> Any:
    """Return the table of all models."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for k, header in enumerate(headers(task)):
        table.add_column(header, justify="left" if k == 0 else "right", no_wrap=True)
    for result in results:
        table.add_row(*cells(result, task), style="bold" if result.contender.ours else "")
    return table
