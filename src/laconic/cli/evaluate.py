"""``laconic evaluate``: should I use this? Everybody on the same folds of the user's own data."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .columns import make_preprocessing
from .console import Terminal, UserError, listed, sentence, several
from .fit import Data, Source, read_data
from .models import check_size, sample_rows
from .rivals import KERNEL_ROWS, USUAL, Contender, contenders, distribution

# Standard errors at which a difference counts as one.
_CLEAR = 2.0
# The least probability that a log-loss counts with.
_LEAST = float(np.finfo(float).eps)


@dataclass
class Result:
    """What one model did on rows it had not seen, each of them once."""

    contender: Contender
    loss: Any  # a row's error: 0 or 1, or the squared difference
    score: Any  # a row's minus log-probability (density); NaN where the model has none
    predictions: Any  # probabilities of the classes; or mean and deviation
    labels: Any  # of classification only
    kept: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    fitted: list[tuple[Any, Any]] = field(default_factory=list)  # pipelines with their held-out rows

    @property
    def name(self) -> str:
        """Its name in tables."""
        return self.contender.title

    @property
    def error(self) -> tuple[float, float]:
        """Error rate, or root mean squared error, with its standard error."""
        mean, se = _mean(self.loss)
        if self.labels is not None:
            return mean, se
        root = float(np.sqrt(mean))
        return root, se / (2 * root) if root > 0 else 0.0

    @property
    def nats(self) -> tuple[float, float]:
        """Log-loss, or minus log predictive density, with its standard error."""
        return _mean(self.score)


def _mean(values: Any) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def without_rare(data: Data, folds: int, terminal: Terminal) -> Data:
    """Return the data without classes that have fewer rows than there are folds.

    Parameters
    ----------
    data : Data
    folds : int
    terminal : Terminal

    Returns
    -------
    Data
    """
    if len(data.y) < 2 * folds:
        raise UserError(f"{several(len(data.y), 'row')} are too few for {folds} folds.")
    if data.task == "regression":
        return data
    classes, codes, counts = np.unique(data.y, return_inverse=True, return_counts=True)
    rare = counts < folds
    if (~rare).sum() < 2:
        raise UserError(f"Fewer than two classes have {folds} rows, one for each fold; use fewer --folds.")
    if not rare.any():
        return data
    rows = np.flatnonzero(~rare[codes])
    left = several(len(data.y) - len(rows), "row")
    terminal.note(f"{left} of classes with fewer rows than folds left out: {listed(classes[rare])}.")
    return Data(*data.at(rows), data.task, data.plan)


def compare(
    data: Data,
    entered: list[Contender],
    terminal: Terminal,
    *,
    folds: int,
    max_rows: int | None,
    seed: int,
    keep: str = "",
) -> list[Result]:
    """Return how each model does on the same folds; one that fails is left out with a note.

    Parameters
    ----------
    data : Data
    entered : list of Contender
    terminal : Terminal
    folds : int
    max_rows : int or None
        Most rows to train on; ``None`` caps machines with kernels only.
    seed : int
    keep : str
        Key of the model whose fitted pipelines are wanted.

    Returns
    -------
    list of Result
    """
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = StratifiedKFold if data.task == "classification" else KFold
    splitter = kind(folds, shuffle=True, random_state=seed)
    splits = list(splitter.split(np.zeros(len(data.y)), data.y))
    entered = _those_that_end(entered, len(splits[0][0]), max_rows, terminal)
    results = [_blank(contender, data) for contender in entered]
    with terminal.progress("comparing", total=folds * len(entered)) as step:
        for number, (train, test) in enumerate(splits, start=1):
            for result in list(results):
                step(f"{result.name}, fold {number}", advance=0)
                try:
                    _run(result, data, train, test, max_rows, seed, keep)
                except (ValueError, ArithmeticError, np.linalg.LinAlgError, UserError) as error:
                    terminal.note(f"{result.name} left out: {sentence(error)}")
                    results.remove(result)
                step()
    return results


def _those_that_end(
    entered: list[Contender], rows: int, max_rows: int | None, terminal: Terminal
) -> list[Contender]:
    """Leave out whom so many rows are too many for, and say who is trained on fewer."""
    used = min(rows, max_rows or rows)
    late = [contender for contender in entered if contender.most and used > contender.most]
    for contender in late:
        terminal.note(
            f"{contender.title} left out: {used:,} rows to train on are more than {contender.most:,}; "
            f"--max-rows {contender.most} takes it in."
        )
    stay = [contender for contender in entered if contender not in late]
    capped = [contender.title for contender in stay if contender.capped]
    if max_rows is not None and rows > max_rows:
        terminal.note(f"every model is trained on {max_rows:,} rows drawn from {rows:,}.")
    elif max_rows is None and rows > KERNEL_ROWS and capped:
        terminal.note(
            f"trained on {KERNEL_ROWS:,} rows drawn from {rows:,}: {', '.join(capped)}; "
            "--max-rows changes that."
        )
    return stay


def _blank(contender: Contender, data: Data) -> Result:
    n, classes = len(data.y), data.task == "classification"
    width = len(np.unique(data.y)) if classes else 2
    return Result(
        contender,
        np.full(n, np.nan),
        np.full(n, np.nan),
        np.full((n, width), np.nan),
        np.empty(n, dtype=data.y.dtype) if classes else None,
    )


def _run(
    result: Result, data: Data, train: Any, test: Any, max_rows: int | None, seed: int, keep: str
) -> None:
    """Fit one model to one fold and enter what it says about the rest."""
    from sklearn.pipeline import Pipeline

    contender = result.contender
    most = max_rows if max_rows is not None else KERNEL_ROWS if contender.capped else None
    rows = train[sample_rows(len(train), most, data.y[train], data.task, seed)]
    began = time.perf_counter()
    table, y = data.at(rows)
    preprocessing = make_preprocessing(data.plan)
    X = preprocessing.fit_transform(table)
    model = contender.make()
    check_size(model, *X.shape)
    model.fit(X, y)
    result.seconds.append(time.perf_counter() - began)
    kept = contender.kept(model)
    result.kept.append(len(rows) if kept is None else kept)
    table, y = data.at(test)
    X = preprocessing.transform(table)
    if data.task == "classification":
        classes = np.unique(data.y)
        probability = np.zeros((len(test), len(classes)))
        probability[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X)
        result.predictions[test] = probability
        result.labels[test] = model.predict(X)
        result.loss[test] = result.labels[test] != y
        true = probability[np.arange(len(test)), np.searchsorted(classes, y)]
        result.score[test] = -np.log(np.maximum(true, _LEAST))
    else:
        mean, std = distribution(model, X)
        result.predictions[test, 0] = mean
        result.loss[test] = (y - mean) ** 2
        if std is not None:
            result.predictions[test, 1] = std
            result.score[test] = 0.5 * np.log(2 * np.pi * std**2) + 0.5 * ((y - mean) / std) ** 2
    if contender.key == keep:
        result.fitted.append((Pipeline([("columns", preprocessing), ("model", model)]), test))


# ---- what it means ------------------------------------------------------------------------


def advise(results: list[Result], task: str) -> str:
    """Return one sentence: ours beside the best rivals, by paired differences.

    Parameters
    ----------
    results : list of Result
    task : str

    Returns
    -------
    str
    """
    mine = next((result for result in results if result.contender.ours), None)
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
        text = f"No difference in {what} between {mine.name} and {best.name} can be told on these data ({sign}{by})"
    else:
        text = f"{mine.name} has clearly {'less' if verdict < 0 else 'more'} {what} than {best.name} (by {by})"
    return text + _in_nats(mine, rivals, task) + _in_size(mine, best, verdict)


def _difference(a: Result, b: Result, what: str) -> tuple[float, float, int]:
    """Return the mean of a - b with its standard error, and its sign if that is clear."""
    mean, se = _mean(getattr(a, what) - getattr(b, what))
    clear = not np.isnan(mean) and abs(mean) > _CLEAR * se
    return mean, se, int(np.sign(mean)) if clear else 0


def _in_nats(mine: Result, rivals: list[Result], task: str) -> str:
    """Return what is to be said of the probabilities, or densities."""
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
    return f"; its {what} is clearly {'lower' if verdict < 0 else 'higher'} than that of {best.name} (by {by})"


def _in_size(mine: Result, best: Result, verdict: int) -> str:
    if verdict > 0:
        return f": prefer {best.name} where accuracy is what counts."
    few, many = round(np.mean(mine.kept)), round(np.mean(best.kept))
    if best.contender.kind in (mine.contender.kind, "all rows") and few < many:
        return f"; it keeps {few:,} {mine.contender.kind} where {best.name} keeps {many:,}."
    return "."


def as_records(results: list[Result], task: str) -> list[dict[str, Any]]:
    """Return the numbers of the table, for machines.

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
            "kept_of": result.contender.kind,
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
        first = f"{error[0]:.4g} ± {error[1]:.2g}"
    second = "" if np.isnan(nats[0]) else f"{nats[0]:.3f} ± {nats[1]:.3f}"
    kind = result.contender.kind
    kept = kind if kind in ("nothing", "all rows") else f"{round(np.mean(result.kept)):,} {kind}"
    return [result.name, first, second, kept, f"{np.mean(result.seconds):.2g}"]


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
    """Compare our models with their rivals and say what that means.

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
    terminal.say(f"{folds}-fold cross-validation, ± one standard error over {several(len(data.y), 'row')}.")
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
