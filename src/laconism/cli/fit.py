"""``laconism fit``: from a table to a saved model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from .console import Terminal
from .data import Data, Source, read_data
from .files import check_writable
from .models import check_size, make_model, make_pipeline, sample_rows

# Default maximum of training rows for a model with kernels.
_MAX_ROWS = 20_000


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
        As in :func:`~laconism.cli.models.make_model`.
    max_rows : int or None
        Maximum number of rows to fit on.
    """
    from ..interop.persistence import save

    check_writable(out, source.path)
    data = read_data(source, terminal, as_grid=grid_shape is not None)
    estimator = make_model(
        model, data.task, kernel=kernel, grid_shape=grid_shape, seed=seed, settings=settings
    )
    if max_rows is None and getattr(estimator, "kernel", None) is not None:
        max_rows = _MAX_ROWS
    n = len(data.y)
    rows = sample_rows(n, max_rows, data.y, data.task, seed)
    if len(rows) < n:
        terminal.note(
            f"fitted on {len(rows):,} rows drawn from {n:,}; --max-rows {n} takes all of them, and its "
            "time."
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
    terminal.remark(f"saved {out}; see `laconism inspect {out}`")
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
