"""``laconism predict --engine dask``: the predictions of many files, as many files or as one table."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ..interop.whole_file import whole_file
from .columns import columns_of, unknown_categories
from .console import Terminal, UserError, check_writable, listed, several
from .dask_columns import tidied
from .dask_files import Cluster, check_installed, compute, find_files, in_order, read_files
from .predict import check_columns, load_pipeline, predictions_of, write_parquet

# Ends of the names of tables that are written as text.
_TEXT = (".csv", ".tsv", ".tab", ".txt")


def predict(
    model_file: str,
    path: str,
    cluster: Cluster,
    terminal: Terminal,
    *,
    predictions: str | None = None,
    missing: list[str] | None = None,
) -> None:
    """Predict every row of many files: a folder of Parquet files, or one CSV table."""
    from dask import delayed

    find_files(path)
    check_installed()
    out = None if predictions == "-" else predictions
    if out is None and terminal.as_json:
        raise UserError("--engine dask writes no predictions as JSON; give --out.")
    as_text = out is None or Path(out).suffix.lower() in _TEXT
    if out is not None:
        _check_out(out, as_text, model_file, path)
    pipeline = load_pipeline(model_file)
    numbers, categories = columns_of(pipeline[0])
    with cluster.client() as client:
        frame = read_files(path, missing or (), text=categories)
        check_columns(pipeline, frame.columns, path, terminal)
        parts = frame[[*numbers, *categories]].to_delayed()
        shared = delayed(pipeline, traverse=False)
        if as_text:
            work = delayed(predict_part)
            tables = in_order(client, [work(shared, part, k) for k, part in enumerate(parts)])
            rows, notes = _write_text(tables, out)
        else:
            folder, work = Path(str(out)), delayed(write_part)
            folder.mkdir(exist_ok=True)
            names = [str(folder.resolve() / f"part.{k:06d}.parquet") for k in range(len(parts))]
            done = compute([work(shared, part, k, names[k]) for k, part in enumerate(parts)])
            rows, notes = sum(count for count, _ in done), sum((each for _, each in done), Counter())
    _say(notes, terminal)
    if out is not None:
        terminal.remark(f"wrote {several(rows, 'row')} to {out}")
    terminal.finish({"rows": rows, "partitions": len(parts), "out": out})


def _check_out(out: str, as_text: bool, *inputs: str) -> None:
    """Raise before the work begins if predictions cannot be written there."""
    suffix = Path(out).suffix.lower()
    if as_text:
        check_writable(out, *inputs)
    elif suffix not in ("", ".parquet", ".pq"):
        raise UserError(
            "--engine dask writes predictions as CSV, TSV or a folder of Parquet files, not as "
            f"{suffix[1:]}."
        )
    elif Path(out).exists() and not (Path(out).is_dir() and not any(Path(out).iterdir())):
        raise UserError(f"{out} is there already; name a new folder, or an empty one.")
    elif not Path(out).exists():
        check_writable(out)


def predict_part(pipeline: Any, part: Any, number: int) -> tuple[Any, Counter[tuple[str, str]]]:
    """Return the predictions of a partition, and the numbers of rows to report."""
    rows = tidied(part, number, *columns_of(pipeline[0]))
    notes = Counter({("new", name): len(new) for name, new in unknown_categories(rows, pipeline[0])})
    notes += Counter({("missing", name): int(count) for name, count in rows.isna().sum().items()})
    if len(rows):
        return predictions_of(pipeline, rows), notes
    return predictions_of(pipeline, rows.reindex([0]))[:0], notes


def write_part(pipeline: Any, part: Any, number: int, name: str) -> tuple[int, Counter[tuple[str, str]]]:
    """Write the predictions of a partition as Parquet; return the numbers of rows to report."""
    found, notes = predict_part(pipeline, part, number)
    write_parquet(found, name)
    return len(found), notes


def _write_text(
    tables: Iterable[tuple[Any, Counter[tuple[str, str]]]], out: str | None
) -> tuple[int, Counter[tuple[str, str]]]:
    """Write tables as one; an existing file is replaced when all are written."""
    delimiter = "\t" if out is not None and Path(out).suffix.lower() in (".tsv", ".tab") else ","
    rows, notes = 0, Counter[tuple[str, str]]()
    with nullcontext(sys.stdout.buffer) if out is None else whole_file(out) as file:
        for number, (table, more) in enumerate(tables):
            text = table.to_csv(index=False, header=number == 0, sep=delimiter, lineterminator="\n")
            file.write(text.encode())
            rows, notes = rows + len(table), notes + more
    return rows, notes


def _say(notes: Counter[tuple[str, str]], terminal: Terminal) -> None:
    """Report new categories and missing values."""
    for (what, name), count in notes.items():
        if what == "new":
            terminal.note(f"{name}: {several(count, 'row')} with categories the model has not seen.")
    holes = [name for what, name in notes if what == "missing"]
    if holes:
        terminal.note(f"missing values filled in as in the fit: {listed(holes)}.")
