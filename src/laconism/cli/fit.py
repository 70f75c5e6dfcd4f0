"""``laconism fit``: from a table to a saved model."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any

from .console import Terminal, check_writable
from .models import Choice, Data, Source, check_size, make_pipeline, read_data, sample_rows


def fit_pipeline(data: Data, estimator: Any, rows: Any, target: str, terminal: Terminal) -> Any:
    """Return preprocessing and estimator, fitted to some rows, and what inspect and predict need."""
    from ..interop import ProgressBar

    check_size(estimator, len(rows), len(data.plan.used))
    pipeline = make_pipeline(data.plan, estimator)
    with nullcontext() if terminal.silent else ProgressBar(terminal.err) as bar:
        estimator.set_params(callbacks=bar)
        pipeline.fit(*data.at(rows))
    estimator.set_params(callbacks=None)
    kept = rows[estimator.relevance_] if hasattr(estimator, "dual_coef_") else rows[:0]
    pipeline.table_ = {
        "target": target,
        "task": data.task,
        "rows": len(rows),
        "left_out": sorted(data.plan.left_out),
        "kept_rows": [int(row) + 1 for row in data.table.index[kept]],  # of the file, counted from one
    }
    return pipeline


def fit(
    source: Source,
    choice: Choice,
    terminal: Terminal,
    *,
    out: str = "model.skops",
    max_rows: int | None = None,
) -> None:
    """Fit a model to a table and save it as one file.

    Categories become 0 and 1, missing values are filled in, numbers are standardised: all of that
    is saved with the model. auto is the flagship, which needs no settings; sparse selects columns.
    """
    check_writable(out, source.path)
    data = read_data(source, terminal, as_grid=choice.grid_shape is not None)
    estimator = choice.make(data.task)
    if max_rows is None and getattr(estimator, "kernel", None) is not None:
        max_rows = 20_000
    n = len(data.y)
    rows = sample_rows(n, max_rows, data.y, data.task, choice.seed)
    if len(rows) < n:
        terminal.note(
            f"fitted on {len(rows):,} rows drawn from {n:,}; --max-rows {n} takes all of them, and its "
            "time."
        )
    began = time.perf_counter()
    pipeline = fit_pipeline(data, estimator, rows, source.target, terminal)
    save_and_report(pipeline, out, time.perf_counter() - began, terminal)


def save_and_report(pipeline: Any, out: str, seconds: float, terminal: Terminal, **facts: Any) -> None:
    """Save a fitted pipeline, and report what it is; ``facts`` are added to the report as JSON."""
    from ..interop.persistence import save

    model, table = pipeline[-1], pipeline.table_
    save(pipeline, out)
    status = str(model.status_)
    terminal.remark(f"{type(model).__name__}, {seconds:.1f} s: {status}")
    terminal.remark(f"saved {out}; see `laconism inspect {out}`")
    terminal.finish(
        {
            "model": type(model).__name__,
            "task": table["task"],
            "target": table["target"],
            "rows": table["rows"],
            "features": int(model.n_features_in_),
            "kept": int(model.n_relevant_),
            "converged": bool(model.status_.converged),
            "status": status,
            **facts,
            "seconds": round(seconds, 3),
            "out": out,
        }
    )
