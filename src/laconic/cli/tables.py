"""Reading tables: CSV with any delimiter, TSV and Parquet, told apart by what is in them."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .console import Terminal, UserError, listed, several
from .numerals import read_numerals

# What stands for a missing value. "None" and "-" do not: they are names of classes and of categories.
_MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "<NA>", "?")
_DELIMITERS = ",;\t|"
# Lines, and bytes, from which the delimiter is told.
_LINES, _HEAD = 20, 1 << 16


def read_table(
    path: str, terminal: Terminal, missing: Sequence[str] = (), text: Sequence[str] = ()
) -> Any:
    """Return a table with the columns' names.

    Parameters
    ----------
    path : str
        A file of CSV, TSV (also gzipped) or Parquet; ``"-"`` is stdin.
    terminal : Terminal
        Gets the notes.
    missing : sequence of str
        More ways to write a missing value.
    text : sequence of str
        Columns to take as text, whatever is in them.

    Returns
    -------
    pandas.DataFrame
    """
    name = "stdin" if path == "-" else path
    raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error):
            raise UserError(f"{name}: the gzip file is damaged.") from None
    if not raw.strip():
        raise UserError(f"{name} is empty.")
    if raw[:4] == b"PAR1":
        return _read_parquet(raw, name)
    if raw[:2] == b"PK":
        raise UserError(f"{name} is an archive or a spreadsheet, not a table: save it as CSV.")
    return _read_text(raw, name, terminal, missing, text)


def _read_parquet(raw: bytes, name: str) -> Any:
    import pandas as pd

    try:
        table = pd.read_parquet(io.BytesIO(raw))
    except ImportError:
        raise UserError(
            'Reading Parquet needs the package pyarrow: pip install "laconic[cli]".'
        ) from None
    except Exception as error:
        raise UserError(f"{name} cannot be read as Parquet: {error}") from error
    table.columns = [str(column) for column in table.columns]
    _check_names(list(table.columns), name)
    return table.reset_index(drop=True)


def _read_text(
    raw: bytes, name: str, terminal: Terminal, missing: Sequence[str], text: Sequence[str]
) -> Any:
    import pandas as pd

    encoding = _encoding(raw, name, terminal)
    head = raw[:_HEAD].decode(encoding, errors="ignore")
    delimiter = _delimiter(head, name)
    names = next(csv.reader(io.StringIO(head, newline=""), delimiter=delimiter))
    _check_names(names, name)
    if all(_is_number(cell) for cell in names):
        raise UserError(f"{name}: the first line has numbers, not names; put a line of names above it.")
    options: dict[str, Any] = {
        "sep": delimiter,
        "encoding": encoding,
        "keep_default_na": False,
        "na_values": [*_MISSING, *missing],
        "low_memory": False,
        "dtype": dict.fromkeys(text, str),
        "index_col": False,
        "skipinitialspace": True,
        "skip_blank_lines": True,
        # A table with semicolons comes from where numbers have decimal commas, unless points are seen.
        "decimal": "," if delimiter == ";" and not _has_points(head) else ".",
    }
    try:
        table = pd.read_csv(io.BytesIO(raw), **options)
    except pd.errors.ParserError as error:
        raise UserError(f"{name}: {_bad_row(str(error))}") from None
    if not len(table):
        raise UserError(f"{name} has names but no rows.")
    table.columns = [str(column).strip() for column in table.columns]
    numbered = [column for column in table.columns if column.startswith("Unnamed: ")]
    for column in numbered:
        if _counts_rows(table[column]):
            table = table.drop(columns=column)
            terminal.note(f"{name}: a column without a name that numbers the rows was left out.")
        elif table[column].isna().all():
            table = table.drop(columns=column)  # a delimiter at the end of every line
    return _with_numerals(table, name, terminal, text)


def _with_numerals(table: Any, name: str, terminal: Terminal, text: Sequence[str]) -> Any:
    """Return the table with numbers for columns that are written like 1,234.50 or €3.20."""
    from pandas.api.types import is_numeric_dtype

    for column in table.columns:
        numbers = None
        if column not in text and not is_numeric_dtype(table[column]):
            numbers = read_numerals(table[column])
        if numbers is not None:
            first = numbers.first_valid_index()
            example = str(table[column][first])
            terminal.note(f"{name}: {column} was read as numbers, {example!r} as {numbers[first]:g}.")
            table[column] = numbers
    return table


def _encoding(raw: bytes, name: str, terminal: Terminal) -> str:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    if b"\0" in raw[:_HEAD]:
        raise UserError(f"{name} is not a table: it holds binary data.")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        terminal.note(f"{name} is not UTF-8; it was read as Windows-1252.")
        return "cp1252"
    return "utf-8-sig"


def _delimiter(head: str, name: str) -> str:
    """Return what splits the first lines into the same number of fields, the most of them."""
    lines = head.splitlines()[:_LINES]
    best, widest = "", 1
    for delimiter in _DELIMITERS:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        steady = sum(width == widths[0] for width in widths) * 2 > len(widths)
        if steady and widths[0] > widest:
            best, widest = delimiter, widths[0]
    if not best:
        if len(lines) == 1 or not any(delimiter in lines[0] for delimiter in _DELIMITERS):
            raise UserError(
                f"{name} has one column only: a table needs a target and something to predict it from, "
                "separated by commas, semicolons or tabs."
            )
        best = Counter(character for character in lines[0] if character in _DELIMITERS).most_common(1)[
            0
        ][0]
    return best


def _check_names(names: Sequence[str], name: str) -> None:
    counts = Counter(column.strip() for column in names if column.strip())
    twice = [column for column, count in counts.items() if count > 1]
    if twice:
        raise UserError(f"{name}: more than one column is called {listed(twice)}; rename all but one.")


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _has_points(head: str) -> bool:
    cells = (cell for row in csv.reader(head.splitlines()[1:_LINES], delimiter=";") for cell in row)
    return any("." in cell and _is_number(cell) for cell in cells)


def _bad_row(message: str) -> str:
    """Return the parser's complaint as a sentence."""
    words = message.split()
    if "Expected" in words and "saw" in words:
        expected, line = words[words.index("Expected") + 1], words[words.index("line") + 1].rstrip(",")
        return (
            f"line {line} has {words[words.index('saw') + 1]} fields, but {expected} were expected; "
            "correct it, or put quotes around a field that holds the delimiter."
        )
    if "EOF inside string" in message:
        return f"a quote is opened in row {words[-1]} and never closed."
    return message.rstrip(".") + "."


def _counts_rows(column: Any) -> bool:
    """Return whether a column is 0, 1, 2, ... or 1, 2, 3, ..."""
    from pandas.api.types import is_integer_dtype

    return bool(
        is_integer_dtype(column) and column.iloc[0] in (0, 1) and (column.diff().iloc[1:] == 1).all()
    )


def split_target(table: Any, target: str, name: str, terminal: Terminal) -> tuple[Any, Any]:
    """Return the other columns and the target, both without the rows that have none.

    Parameters
    ----------
    table : pandas.DataFrame
    target : str
        Name of the column.
    name : str
        Name of the file.
    terminal : Terminal
        Gets the notes.

    Returns
    -------
    rest : pandas.DataFrame
    target : pandas.Series
    """
    if target not in table.columns:
        raise UserError(f"{name} has no column {target!r}; it has {_nearest(target, table.columns)}.")
    known = table[target].notna()
    if not known.any():
        raise UserError(f"{name}: the target {target} is missing in every row.")
    if not known.all():
        gone = int((~known).sum())
        terminal.note(f"{several(gone, 'row')} without a value of the target {target} left out.")
        table = table[known]  # the index still counts the rows of the file
    if table.shape[1] < 2:
        raise UserError(f"{name} has no column besides the target {target}.")
    return table.drop(columns=target), table[target]


def _nearest(target: str, columns: Any) -> str:
    from difflib import get_close_matches

    near = get_close_matches(target, list(columns), n=3, cutoff=0.6)
    return (
        listed(near) + (" among others" if len(near) < len(columns) else "") if near else listed(columns)
    )
