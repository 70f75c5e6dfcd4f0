"""``laconism evaluate --engine dask``: models on rows of many files that were held out, by sums."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .compare import Validation
from .console import Terminal, UserError, listed, several
from .dask import Files, Partition, open_files, parts_for, reporter
from .dask_columns import Column, join, labels_of
from .dask_files import Cluster, check_installed, compute, find_files
from .evaluate import as_records, comparison_table
from .models import Choice, Source
from .predict import load_pipeline
from .rivals import Contender, MeanRegressor, contenders, distribution, minus_log_density

# What is compared.
_COMPARED = ("auto", "sparse", "rvm", "baseline")


@dataclass
class Scored:
    """The figures of one model, from sums over all rows that were held out."""

    contender: Contender
    model: Any
    kept: list[int]
    seconds: list[float]
    error: tuple[float, float] = (np.nan, np.nan)
    nats: tuple[float, float] = (np.nan, np.nan)
    r2: float | None = None  # of values

    @property
    def name(self) -> str:
        """Its name in the table."""
        return self.contender.title

    @property
    def kind(self) -> str:
        """What is counted as kept."""
        return self.contender.counted(self.model)


def evaluate(
    source: Source,
    validation: Validation,
    cluster: Cluster,
    terminal: Terminal,
    *,
    saved: str | None = None,
) -> None:
    """Fit models to most rows of many files, and score them on the others; or score a saved model."""
    find_files(source.path)
    check_installed()
    if validation.max_rows is not None:
        raise UserError("--max-rows is for --engine local; --engine dask uses all rows.")
    keys = _COMPARED if validation.models is None else tuple(validation.models.split(","))
    others = [key for key in keys if key not in _COMPARED]
    if others:
        raise UserError(f"--engine dask compares {listed(_COMPARED)}, not {listed(others)}.")
    with cluster.client() as client:
        if saved is None:
            files = open_files(source, terminal, validation.folds)
            entered = [
                _enter(files, each, client, terminal) for each in contenders(files.task, keys, seed=0)
            ]
            parts, partition, task = files.parts, files.partition, files.task
        else:
            pipeline = load_pipeline(saved)
            parts, partition = parts_for(pipeline, source, terminal)
            task, entered = pipeline.table_["task"], [_saved(pipeline)]
        rows = _score(parts, partition, entered)
    held = "" if saved is not None else f"One of {validation.folds} rows was held out: "
    terminal.say(comparison_table(entered, task))
    terminal.say(f"{held}{several(rows, 'row')}, ± one standard error.")
    if task == "regression":
        terminal.say(f"R2: {listed([f'{each.name} {each.r2:.4f}' for each in entered], most=9)}.")
    records = as_records(entered, task)
    for record, each in zip(records, entered, strict=True):
        record |= {} if each.r2 is None else {"r2": each.r2}
    terminal.finish({"task": task, "rows": rows, "models": records})


def _enter(files: Files, contender: Contender, client: Any, terminal: Terminal) -> Scored:
    """Fit one of the models that are compared."""
    began = time.perf_counter()
    if contender.ours:
        report = reporter(terminal, f"{contender.title}, ")
        model = files.fit(Choice(contender.key), client, report)
    else:
        model = _baseline(files)
    seconds = time.perf_counter() - began
    return Scored(contender, model, [contender.kept(model, files.target.known)], [seconds])


def _saved(pipeline: Any) -> Scored:
    """Return a saved model to score."""
    model = pipeline[-1]
    counted = "features" if hasattr(model, "coef_") else "kernels"
    contender = Contender("saved", type(model).__name__, lambda: model, counted, ours=True)
    return Scored(contender, model, [int(model.n_relevant_)], [np.nan])


def _score(parts: Sequence[Any], partition: Partition, entered: Sequence[Scored]) -> int:
    """Score all models by one pass over the rows that were held out; return their number."""
    from dask import delayed

    shared, score = delayed(partition, traverse=False), delayed(score_part)
    models = delayed([each.model for each in entered], traverse=False)
    found = compute([score(shared, part, number, models) for number, part in enumerate(parts)])
    values = join([column for _, column in found])
    n = values.known + values.missing
    if n < 2:
        raise UserError("There are too few rows with a target to score a model on.")
    for each, (loss, loss2, nats, nats2) in zip(entered, sum(sums for sums, _ in found), strict=True):
        mean, error = _mean_and_error(loss, loss2, n)
        each.error, each.nats = (mean, error), _mean_and_error(nats, nats2, n)
        if values.known:
            root = float(np.sqrt(mean))
            each.error = (root, error / (2 * root) if root > 0 else 0.0)
            each.r2 = 1 - loss / values.squares
    return n


def _mean_and_error(total: float, squares: float, n: int) -> tuple[float, float]:
    """Return a mean with its standard error, given the sums of numbers and of their squares."""
    variance = max(squares - total**2 / n, 0.0) / (n - 1)
    return float(total / n), float(np.sqrt(variance / n))


def _baseline(files: Files) -> Any:
    """Return the model that knows the shares of the classes, or mean and deviation of the values."""
    import pandas as pd
    from sklearn.dummy import DummyClassifier

    if files.task == "regression":
        mean, deviation = files.target.mean, files.target.deviation
        return MeanRegressor().fit(None, np.array([mean - deviation, mean + deviation]))
    counts = Counter(files.target.counts)
    labels = labels_of(pd.Series(list(counts)), files.partition.kind)
    return DummyClassifier().fit(np.zeros((len(counts), 1)), labels, list(counts.values()))


def score_part(
    partition: Partition, part: Any, number: int, models: Sequence[Any]
) -> tuple[Any, Column]:
    """Return what the errors of models on a partition need: sums, and the moments of values.

    For each model these are the sums of a row's error and of its minus log-probability (density),
    and of their squares.
    """
    X, y = partition.read(part, number, held_out=True)
    sums = np.zeros((len(models), 4))
    values = np.full(len(y), np.nan) if partition.kind != "f" else y
    for row, model in zip(sums, models, strict=True):
        if len(y):
            loss, nats = _losses(model, X, y)
            row[:] = loss.sum(), loss @ loss, nats.sum(), nats @ nats
    return sums, Column.of_numbers(values)


def _losses(model: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Return each row's error (0 or 1, or squared) and minus log-probability (density)."""
    if not hasattr(model, "classes_"):
        mean, std = distribution(model, X)
        return (y - mean) ** 2, minus_log_density(y, mean, std)
    classes, probability = model.classes_, model.predict_proba(X)
    place = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    true = np.where(classes[place] == y, probability[np.arange(len(y)), place], 0.0)
    wrong = classes[np.argmax(probability, axis=1)] != y
    return wrong.astype(float), -np.log(np.maximum(true, np.finfo(float).eps))
