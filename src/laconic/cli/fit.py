"""``laconic fit`` and ``laconic predict``."""

from __future__ import annotations

import io
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .columns import Plan, columns_of, plan_columns, say_unknown, tidy
from .console import Terminal, UserError, listed, several
from .models import check_size, make_model, make_pipeline, sample_rows, settle_task
from .tables import read_table, split_target

# Rows that a model with kernels is fitted on if nobody says otherwise: a minute or two.
_MOST_ROWS = 20_000


@dataclass(frozen=True)
class Source:
    """A table and how to read it."""

    path: str
    target: str
    task: str = "auto"
    missing: Sequence[str] = ()
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()


@dataclass(frozen=True)
class Data:
    """A table that has been read: features as columns, labels or values, and what the columns are."""

    table: Any
    y: Any
    task: str
    plan: Plan

    def at(self, rows: Any) -> tuple[Any, Any]:
        """Return features and target of some rows."""
        return self.table.iloc[rows], self.y[rows]


def read_data(source: Source, terminal: Terminal, *, as_grid: bool = False) -> Data:
    """Return the data of a table, with notes about everything that was decided.

    Parameters
    ----------
    source : Source
    terminal : Terminal
    as_grid : bool, default=False
        Whether the columns are the entries of a grid.

    Returns
    -------
    Data
    """
    whole = read_table(source.path, terminal, source.missing)
    name = "stdin" if source.path == "-" else source.path
    terminal.remark(f"{name}: {several(len(whole), 'row')}, {several(whole.shape[1], 'column')}")
    rest, target = split_target(whole, source.target, name, terminal)
    task, y = settle_task(target, source.task, terminal)
    plan = plan_columns(rest, terminal, drop=source.drop, keep=source.keep, as_grid=as_grid)
    return Data(tidy(rest, plan.numbers, plan.categories), y, task, plan)


def fit_pipeline(data: Data, estimator: Any, rows: Any, terminal: Terminal) -> Any:
    """Return the fitted pipeline, with the table it comes from in ``table_``.

    Parameters
    ----------
    data : Data
    estimator : estimator
        Of ours; its callbacks are replaced.
    rows : ndarray of int
        To fit on.
    terminal : Terminal
        Shows progress.

    Returns
    -------
    Pipeline
    """
    from ..interop import ProgressBar

    check_size(estimator, len(rows), len(data.plan.used))
    pipeline = make_pipeline(data.plan, estimator)
    if terminal.quiet or terminal.as_json:
        return pipeline.fit(*data.at(rows))
    with ProgressBar(terminal.err) as bar:
        estimator.set_params(callbacks=bar)
        pipeline.fit(*data.at(rows))
    estimator.set_params(callbacks=None)
    return pipeline


def run_fit(
    source: Source,
    out: str,
    terminal: Terminal,
    *,
    model: str,
    kernel: str | None,
    grid_shape: str | None,
    settings: Sequence[str],
    max_rows: int | None,
    seed: int,
) -> None:
    """Fit a model to a table and save it.

    Parameters
    ----------
    source : Source
    out : str
        The file to write.
    terminal : Terminal
    model, kernel, grid_shape, settings, seed
        As in :func:`~laconic.cli.models.make_model`.
    max_rows : int or None
        Most rows to fit on.
    """
    from ..interop.persistence import save

    check_writable(out)
    data = read_data(source, terminal, as_grid=grid_shape is not None)
    estimator = make_model(
        model, data.task, kernel=kernel, grid_shape=grid_shape, seed=seed, settings=settings
    )
    if max_rows is None and getattr(estimator, "kernel", None) is not None:
        max_rows = _MOST_ROWS
    n = len(data.y)
    rows = sample_rows(n, max_rows, data.y, data.task, seed)
    if len(rows) < n:
        terminal.note(
            f"fitted on {len(rows):,} rows drawn from {n:,}; --max-rows {n} takes all of them, and its time."
        )
    began = time.perf_counter()
    pipeline = fit_pipeline(data, estimator, rows, terminal)
    seconds = time.perf_counter() - began
    pipeline.table_ = {
        "target": source.target,
        "task": data.task,
        "rows": len(rows),
        "left_out": sorted(data.plan.left_out),
        "kept_rows": kept_rows(data, estimator, rows),
    }
    save(pipeline, out)
    status = str(estimator.status_)
    terminal.remark(f"{type(estimator).__name__}, {seconds:.1f} s: {status}")
    terminal.remark(f"saved {out}; see `laconic inspect {out}`")
    terminal.finish(
        {
            "model": type(estimator).__name__,
            "task": data.task,
            "target": source.target,
            "rows": len(rows),
            "features": int(estimator.n_features_in_),
            "kept": int(estimator.n_relevant_),
            "converged": bool(estimator.status_.converged),
            "status": status,
            "seconds": round(seconds, 3),
            "out": out,
        }
    )


def kept_rows(data: Data, estimator: Any, rows: Any) -> list[int]:
    """Return the rows of the file, counted from one, that carry the kernels that were kept.

    Parameters
    ----------
    data : Data
    estimator : estimator
    rows : ndarray of int
        That it was fitted on.

    Returns
    -------
    list of int
    """
    if not hasattr(estimator, "dual_coef_"):
        return []
    return [int(row) + 1 for row in data.table.index[rows[estimator.relevance_]]]


def load_pipeline(path: str) -> Any:
    """Return a pipeline that ``laconic fit`` saved, or say why not.

    Parameters
    ----------
    path : str

    Returns
    -------
    Pipeline
    """
    from sklearn.pipeline import Pipeline

    from ..interop.persistence import load

    if not Path(path).exists():
        raise UserError(f"{path}: no such file.")
    try:
        pipeline = load(path)
    except ValueError as error:
        raise UserError(str(error).replace("laconic.save", "laconic fit")) from error
    if not (isinstance(pipeline, Pipeline) and hasattr(pipeline, "table_")):
        raise UserError(
            f"{path} holds a {type(pipeline).__name__} that was not saved by `laconic fit`; "
            "use laconic.load in Python."
        )
    return pipeline


def run_predict(
    model: str, path: str, out: str | None, terminal: Terminal, *, missing: Sequence[str]
) -> None:
    """Predict the rows of a table and write what was found, in their order.

    Parameters
    ----------
    model : str
        A file that ``laconic fit`` wrote.
    path : str
        The table.
    out : str or None
        The file to write; ``None`` is stdout.
    terminal : Terminal
    missing : sequence of str
        More ways to write a missing value.
    """
    if out is not None:
        check_writable(out)
    pipeline = load_pipeline(model)
    numbers, categories = columns_of(pipeline[0])
    table = read_table(path, terminal, missing, text=categories)
    target = pipeline.table_["target"]
    absent = [name for name in (*numbers, *categories) if name not in table.columns]
    if absent:
        raise UserError(f"{path} has no column {listed(absent)}, which the model needs.")
    known = {*numbers, *categories, *pipeline.table_["left_out"], target}
    extra = [name for name in table.columns if name not in known]
    if extra:
        terminal.note(f"columns the model does not know were ignored: {listed(extra)}.")
    rows = tidy(table, numbers, categories)
    say_unknown(rows, pipeline[0], terminal)
    holes = rows.columns[rows.isna().any()]
    if len(holes):
        terminal.note(f"missing values filled in as in the fit: {listed(holes)}.")
    found = _predictions(pipeline, rows, target)
    if terminal.as_json and out is None:
        terminal.finish({"rows": len(found), "predictions": found.to_dict(orient="list")})
        return
    _write(found, out)
    if out is not None:
        terminal.remark(f"wrote {several(len(found), 'row')} to {out}")
    terminal.finish({"rows": len(found), "columns": list(found.columns), "out": out})


def _predictions(pipeline: Any, rows: Any, target: str) -> Any:
    """Return prediction and probabilities, or mean and standard deviation, as a table."""
    import pandas as pd

    X = pipeline[0].transform(rows)
    estimator = pipeline[-1]
    if hasattr(estimator, "classes_"):
        probability = estimator.predict_proba(X)
        label = estimator.classes_[np.argmax(probability, axis=1)]
        columns = {f"P({target}={name})": probability[:, k] for k, name in enumerate(estimator.classes_)}
        return pd.DataFrame({target: label, **columns})
    mean, std = estimator.predict_dist(X)
    return pd.DataFrame({target: mean, f"std({target})": std})


def check_writable(out: str) -> None:
    """Complain about a file that cannot be written before the work is done, not after.

    Parameters
    ----------
    out : str
    """
    path = Path(out)
    folder = path.parent
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder, so {out} cannot be written.")
    if path.is_dir():
        raise UserError(f"{out} is a folder; name a file in it.")
    if not os.access(folder, os.W_OK):
        raise UserError(f"{folder} cannot be written to.")


def write_whole(content: bytes, out: str) -> None:
    """Write a file as a whole or not at all.

    Parameters
    ----------
    content : bytes
    out : str
    """
    path = Path(out)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(draft, 0o666 & ~umask)  # a temporary file is for its owner alone
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _write(table: Any, out: str | None) -> None:
    delimiter = "\t" if out is not None and Path(out).suffix in (".tsv", ".tab") else ","
    if out is not None and Path(out).suffix == ".parquet":
        buffer = io.BytesIO()
        table.to_parquet(buffer, index=False)
        write_whole(buffer.getvalue(), out)
        return
    text = table.to_csv(index=False, sep=delimiter, lineterminator="\n")
    if out is None:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()
    else:
        write_whole(text.encode(), out)
