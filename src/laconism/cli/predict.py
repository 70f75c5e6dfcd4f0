"""``laconism predict``: from a saved model and a table to predictions."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..interop.whole_file import write_whole
from .columns import columns_of, say_unknown, tidy
from .console import Terminal, UserError, check_writable, listed, several
from .tables import read_table


def load_pipeline(path: str) -> Any:
    """Return a pipeline that ``laconism fit`` saved, or raise."""
    if not Path(path).exists():
        raise UserError(f"{path}: no such file.")
    from sklearn.pipeline import Pipeline

    from ..interop import load

    try:
        pipeline = load(path)
    except ValueError as error:
        raise UserError(str(error).replace("laconism.save", "laconism fit")) from error
    if not (isinstance(pipeline, Pipeline) and hasattr(pipeline, "table_")):
        raise UserError(
            f"{path} holds a {type(pipeline).__name__} that was not saved by `laconism fit`; "
            "use laconism.load in Python."
        )
    return pipeline


def predict(
    model_file: str,
    path: str,
    terminal: Terminal,
    *,
    predictions: str | None = None,
    missing: list[str] | None = None,
) -> None:
    """Predict every row of a table.

    Classes come with their probabilities, numbers with a standard deviation.
    """
    out = None if predictions == "-" else predictions
    if out is not None:
        suffix = Path(out).suffix.lower()
        if suffix in (".xls", ".xlsx", ".ods", ".json", ".html", ".skops"):
            raise UserError(f"Predictions are written as CSV, TSV or Parquet, not as {suffix[1:]}.")
        check_writable(out, model_file, path)
    pipeline = load_pipeline(model_file)
    numbers, categories = columns_of(pipeline[0])
    table = read_table(path, terminal, missing or (), text=categories)
    check_columns(pipeline, table.columns, path, terminal)
    rows = tidy(table, numbers, categories)
    say_unknown(rows, pipeline[0], terminal)
    holes = rows.columns[rows.isna().any()]
    if len(holes):
        terminal.note(f"missing values filled in as in the fit: {listed(holes)}.")
    found = predictions_of(pipeline, rows)
    if terminal.as_json and out is None:
        terminal.finish({"rows": len(found), "predictions": found.to_dict(orient="list")})
        return
    _write(found, out)
    if out is not None:
        terminal.remark(f"wrote {several(len(found), 'row')} to {out}")
    terminal.finish({"rows": len(found), "columns": list(found.columns), "out": out})


def check_columns(pipeline: Any, columns: Iterable[str], path: str, terminal: Terminal) -> None:
    """Raise if a table lacks a column that the model needs; report those that it does not know."""
    needed, columns = [name for names in columns_of(pipeline[0]) for name in names], list(columns)
    absent = [name for name in needed if name not in columns]
    if absent:
        raise UserError(f"{path} has no column {listed(absent)}, which the model needs.")
    known = {*needed, *pipeline.table_["left_out"], pipeline.table_["target"]}
    extra = [name for name in columns if name not in known]
    if extra:
        terminal.note(f"columns the model does not know were ignored: {listed(extra)}.")


def predictions_of(pipeline: Any, rows: Any) -> Any:
    """Return prediction and probabilities, or mean and standard deviation, as a table."""
    import pandas as pd

    target = pipeline.table_["target"]
    X = pipeline[0].transform(rows)
    estimator = pipeline[-1]
    if hasattr(estimator, "classes_"):
        probability = estimator.predict_proba(X)
        label = estimator.classes_[np.argmax(probability, axis=1)]
        columns = {f"P({target}={name})": probability[:, k] for k, name in enumerate(estimator.classes_)}
        return pd.DataFrame({target: label, **columns})
    mean, std = estimator.predict_dist(X)
    return pd.DataFrame({target: mean, f"std({target})": std})


def write_parquet(table: Any, out: str) -> None:
    """Write a table as Parquet, completely or not at all."""
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    write_whole(buffer.getvalue(), out)


def _write(table: Any, out: str | None) -> None:
    *_, before, suffix = ["", "", *Path(out or "").suffixes]
    if out is not None and suffix == ".parquet":
        write_parquet(table, out)
        return
    delimiter = "\t" if {suffix, before if suffix == ".gz" else ""} & {".tsv", ".tab"} else ","
    text = table.to_csv(index=False, sep=delimiter, lineterminator="\n").encode()
    if out is None:
        sys.stdout.buffer.write(text)
    else:
        write_whole(gzip.compress(text, mtime=0) if suffix == ".gz" else text, out)
