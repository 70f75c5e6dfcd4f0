"""``laconism fit --engine dask``: from many files to a saved model."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .columns import Plan, columns_of
from .console import Terminal, check_writable, several
from .dask_columns import Column, Kinds, fit_preprocessing, labels_of, plan_of, settle_target, tidied
from .dask_files import Cluster, check_installed, compute, find_files, read_files
from .fit import save_and_report
from .models import Choice, Source
from .predict import check_columns
from .tables import check_target


@dataclass(frozen=True)
class Partition:
    """How the rows of a partition become features and a target."""

    preprocessing: Any
    target: str
    kind: str  # of the target's array, as numpy has it
    folds: int | None = None  # the first of every ``folds`` rows is held out

    def read(self, part: Any, number: int, held_out: bool) -> tuple[Any, Any]:
        """Return features and target of the rows to fit to, or of those that are held out."""
        part = part[part[self.target].notna()]
        if self.folds is not None:
            part = part[(np.arange(len(part)) % self.folds == 0) == held_out]
        numbers, categories = columns_of(self.preprocessing)
        rows = tidied(part, number, numbers, categories)
        width = len(self.preprocessing.get_feature_names_out())
        X = self.preprocessing.transform(rows) if len(rows) else np.zeros((0, width))
        return X, labels_of(part[self.target], self.kind)


@dataclass(frozen=True)
class Files:
    """The partitions of files that have been looked at once, and what to make of them."""

    parts: Sequence[Any]
    partition: Partition
    plan: Plan
    task: str
    target: Column

    def arrays(self) -> tuple[Any, Any]:
        """Return features and target as Dask arrays."""
        import dask.array as da
        from dask import delayed

        shared, read = delayed(self.partition, traverse=False), delayed(Partition.read, nout=2)
        pairs = [read(shared, part, number, False) for number, part in enumerate(self.parts)]
        width = len(self.partition.preprocessing.get_feature_names_out())
        X = [da.from_delayed(pair[0], (np.nan, width), dtype=float) for pair in pairs]
        y = [da.from_delayed(pair[1], (np.nan,), dtype=self.partition.kind) for pair in pairs]
        return da.concatenate(X, allow_unknown_chunksizes=True), da.concatenate(y)

    def fit(self, choice: Choice, client: Any, report: Callable[[Any], None]) -> Any:
        """Return the local model that was fitted to all rows."""
        model = choice.make(self.task, on_dask=True).set_params(client=client, callbacks=report)
        return model.fit(*self.arrays()).to_local().set_params(callbacks=None)


def open_files(source: Source, terminal: Terminal, folds: int | None = None) -> Files:
    """Return the files after one pass over them, and report all decisions as notes."""
    from dask import delayed

    frame = read_files(source.path, source.missing or ())
    check_target(frame.columns, source.target, source.name)
    (head,), drop, keep = (
        compute([frame.head(1000, compute=False)]),
        source.drop or (),
        source.keep or (),
    )
    kinds = Kinds.of(head, source.target, drop, keep)
    began = time.perf_counter()
    parts = frame[[*kinds.numbers, *kinds.texts, source.target]].to_delayed()
    shared, summarise = delayed(kinds, traverse=False), delayed(Kinds.summarise)
    columns = kinds.join(compute([summarise(shared, part, k) for k, part in enumerate(parts)]))
    target = columns[source.target]
    terminal.remark(
        f"{source.name}: {several(target.known + target.missing, 'row')}, "
        f"{several(len(frame.columns), 'column')}"
    )
    terminal.remark(f"pass over the columns: {time.perf_counter() - began:.1f} s")
    if target.missing:
        gone = several(target.missing, "row")
        terminal.note(f"{gone} without a value of the target {source.target} left out.")
    task, kind = settle_target(target, head[source.target], source.task, terminal)
    plan = plan_of(kinds, columns, head, terminal, drop=drop, keep=keep)
    partition = Partition(fit_preprocessing(plan, columns), source.target, kind, folds)
    return Files(frame[[*plan.used, source.target]].to_delayed(), partition, plan, task, target)


def parts_for(pipeline: Any, source: Source, terminal: Terminal) -> tuple[Sequence[Any], Partition]:
    """Return the partitions of files for a saved model, and how they are read."""
    model, (numbers, categories) = pipeline[-1], columns_of(pipeline[0])
    frame = read_files(source.path, source.missing or (), text=categories)
    check_target(frame.columns, source.target, source.name)
    check_columns(pipeline, frame.columns.drop(source.target), source.name, terminal)
    kind = model.classes_.dtype.kind if hasattr(model, "classes_") else "f"
    parts = frame[[*numbers, *categories, source.target]].to_delayed()
    return parts, Partition(pipeline[0], source.target, str(kind))


def reporter(terminal: Terminal, what: str = "") -> Callable[[Any], None]:
    """Return the callback that reports a pass in one line."""

    def report(record: Any) -> None:
        sent = f"{record.seconds:.1f} s, {record.bytes / 1e6:.3g} MB"
        terminal.remark(f"{what}pass {record.iteration}, {record.kind}: {sent}")

    return report


def fit(
    source: Source, choice: Choice, cluster: Cluster, terminal: Terminal, *, out: str = "model.skops"
) -> None:
    """Fit a model to many files, and save it as one."""
    find_files(source.path)
    check_installed()
    check_writable(out, source.path)
    Choice(choice.model).make("regression", on_dask=True)  # refuses other models before the work begins
    with cluster.client() as client:
        files = open_files(source, terminal)
        began = time.perf_counter()
        model = files.fit(choice, client, reporter(terminal))
        seconds = time.perf_counter() - began
    from sklearn.pipeline import Pipeline

    pipeline = Pipeline([("columns", files.partition.preprocessing), ("model", model)])
    kept = model.relevance_ if hasattr(model, "dual_coef_") else ()
    pipeline.table_ = {
        "target": source.target,
        "task": files.task,
        "rows": files.target.known,
        "left_out": sorted(files.plan.left_out),
        "kept_rows": [f"{int(row) + 1} of the sample" for row in kept],
    }
    passes = [record._asdict() for record in model.history_]
    facts = {"partitions": len(files.parts), "passes": passes}
    save_and_report(pipeline, out, seconds, terminal, **facts)
