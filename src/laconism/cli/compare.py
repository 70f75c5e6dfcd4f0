"""Cross-validation of several models on the same folds, everything fitted inside them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .console import Terminal, UserError, listed, sentence, several
from .models import Choice, Data, Source, check_size, make_pipeline, read_data, sample_rows
from .rivals import KERNEL_ROWS, USUAL, Contender, contenders, distribution, minus_log_density


@dataclass(frozen=True)
class Validation:
    """The models to compare, by default the usual ones, and the folds and rows to compare them on."""

    folds: int = 5
    models: str | None = None
    max_rows: int | None = None


@dataclass
class Result:
    """Cross-validated results of one model; every row is predicted once."""

    contender: Contender
    loss: Any  # a row's error: 0 or 1, or the squared difference
    score: Any  # a row's minus log-probability (density)
    predictions: Any  # probabilities of the classes; or mean and deviation
    labels: Any  # of classification only
    kept: list[int] = field(default_factory=list)
    kind: str = ""  # what is counted as kept, for the last fitted model
    seconds: list[float] = field(default_factory=list)
    fitted: list[tuple[Any, Any]] = field(default_factory=list)  # of a report: pipelines, held-out rows

    @property
    def name(self) -> str:
        """Its name in tables."""
        return self.contender.title

    @property
    def error(self) -> tuple[float, float]:
        """Error rate, or root mean squared error, with its standard error."""
        mean, se = mean_and_error(self.loss)
        if self.labels is not None:
            return mean, se
        root = float(np.sqrt(mean))
        return root, se / (2 * root) if root > 0 else 0.0

    @property
    def nats(self) -> tuple[float, float]:
        """Log-loss, or minus log predictive density, with its standard error."""
        return mean_and_error(self.score)


def mean_and_error(values: Any) -> tuple[float, float]:
    """Return a mean with its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def _without_rare(data: Data, folds: int, terminal: Terminal) -> Data:
    """Return the data without classes that have fewer rows than there are folds."""
    if len(data.y) < 2 * folds:
        raise UserError(f"{several(len(data.y), 'row')} are too few for {folds} folds.")
    if data.task == "regression":
        return data
    classes, codes, counts = np.unique(data.y, return_inverse=True, return_counts=True)
    rare = counts < folds
    if (~rare).sum() < 2:
        raise UserError(
            f"Fewer than two classes have {folds} rows, one for each fold; use fewer --folds."
        )
    if not rare.any():
        return data
    rows = np.flatnonzero(~rare[codes])
    left = several(len(data.y) - len(rows), "row")
    terminal.note(f"{left} of classes with fewer rows than folds left out: {listed(classes[rare])}.")
    return Data(*data.at(rows), data.task, data.plan)


def compare(
    source: Source, validation: Validation, terminal: Terminal, seed: int, own: Choice | None = None
) -> tuple[Data, list[Result]]:
    """Cross-validate each model on the same folds; one that fails is left out with a note.

    Without ``max_rows`` only kernel machines are trained on fewer rows. The flagship comes first; the
    result of ``own``, the model of a report, is marked as ``reported``.
    """
    folds, max_rows = validation.folds, validation.max_rows
    as_grid = own is not None and own.grid_shape is not None
    data = _without_rare(read_data(source, terminal, as_grid=as_grid), folds, terminal)
    from sklearn.model_selection import KFold, StratifiedKFold

    keys = USUAL if validation.models is None else validation.models.split(",")
    kind = StratifiedKFold if data.task == "classification" else KFold
    splitter = kind(folds, shuffle=True, random_state=seed)
    splits = list(splitter.split(np.zeros(len(data.y)), data.y))
    entered = contenders(data.task, keys, seed, own)
    entered = _those_that_end(entered, len(splits[0][0]), max_rows, terminal)
    n, classes = len(data.y), np.unique(data.y) if data.task == "classification" else None
    results = [
        Result(
            contender,
            loss=np.full(n, np.nan),
            score=np.full(n, np.nan),
            predictions=np.full((n, 2 if classes is None else len(classes)), np.nan),
            labels=None if classes is None else np.empty_like(data.y),
        )
        for contender in entered
    ]
    with terminal.progress("comparing", total=folds * len(entered)) as step:
        for number, (train, test) in enumerate(splits, start=1):
            for result in list(results):
                step(f"{result.name}, fold {number}", advance=0)
                try:
                    _run(result, data, train, test, max_rows, seed)
                except (ValueError, ArithmeticError, np.linalg.LinAlgError, UserError) as error:
                    terminal.note(f"{result.name} left out: {sentence(error)}")
                    results.remove(result)
                step()
    if own is not None and reported(results) is None:
        raise UserError("The model of the report could not be fitted.")
    if not results:
        raise UserError("No model could be fitted to these data.")
    return data, results


def reported(results: Sequence[Result]) -> Result | None:
    """Return the result of the model that a report is about."""
    return next((result for result in results if result.contender.reported), None)


def _those_that_end(
    entered: list[Contender], rows: int, max_rows: int | None, terminal: Terminal
) -> list[Contender]:
    """Leave out models for which there are too many rows, and report which are trained on fewer."""
    used = min(rows, max_rows or rows)
    stay = [contender for contender in entered if not contender.most or used <= contender.most]
    for contender in entered:
        if contender not in stay:
            terminal.note(
                f"{contender.title} left out: {used:,} rows to train on are more than "
                f"{contender.most:,}; --max-rows {contender.most} takes it in."
            )
    capped = [contender.title for contender in stay if contender.capped]
    if max_rows is not None and rows > max_rows:
        terminal.note(f"every model is trained on {max_rows:,} rows drawn from {rows:,}.")
    elif max_rows is None and rows > KERNEL_ROWS and capped:
        terminal.note(
            f"trained on {KERNEL_ROWS:,} rows drawn from {rows:,}: {', '.join(capped)}; "
            "--max-rows changes that."
        )
    return stay


def _run(result: Result, data: Data, train: Any, test: Any, max_rows: int | None, seed: int) -> None:
    """Fit one model without one fold, and record its predictions for the fold."""
    contender = result.contender
    rows = train[sample_rows(len(train), contender.max_rows(max_rows), data.y[train], data.task, seed)]
    began = time.perf_counter()
    table, y = data.at(rows)
    pipeline = make_pipeline(data.plan, contender.make())
    X, model = pipeline[0].fit_transform(table), pipeline[-1]
    check_size(model, *X.shape)
    model.fit(X, y)
    result.seconds.append(time.perf_counter() - began)
    result.kept.append(contender.kept(model, len(rows)))
    result.kind = contender.counted(model)
    table, y = data.at(test)
    X = pipeline[0].transform(table)
    if data.task == "classification":
        classes = np.unique(data.y)
        probability = np.zeros((len(test), len(classes)))
        probability[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X)
        result.predictions[test] = probability
        result.labels[test] = model.predict(X)
        result.loss[test] = result.labels[test] != y
        true = probability[np.arange(len(test)), np.searchsorted(classes, y)]
        result.score[test] = -np.log(np.maximum(true, np.finfo(float).eps))
    else:
        mean, std = distribution(model, X)
        result.predictions[test, 0] = mean
        result.predictions[test, 1] = std
        result.loss[test] = (y - mean) ** 2
        result.score[test] = minus_log_density(y, mean, std)
    if contender.reported:
        result.fitted.append((pipeline, test))
