"""Reading tables: CSV with any delimiter, TSV and Parquet, detected by their content."""

from __future__ import annotations

import csv
import io
import itertools
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from ..inspection._draw import brief
from .columns import is_number, to_numbers
from .console import Terminal, UserError, listed, several
from .raw import encoding_of, read_bytes

# Texts that mean a missing value. "None" and "-" are not among them: they may be categories.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "<NA>", "?")
_DELIMITERS = ",;\t| "
# Every number of a column may have one of these before or after it.
_SIGNS = re.compile(r"[$€£¥%]")
# Separators of thousands; not a plain space, or telephone numbers would be read as quantities.
_NARROW = "'\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
# Separators of thousands and of decimals, the likeliest first: 1,234 is read as an integer.
_STYLES = ((",", "."), (".", ","), (_NARROW, "."), (_NARROW, ","))


def read_table(
    path: str,
    terminal: Terminal,
    missing: Sequence[str] = (),
    text: Sequence[str] = (),
    target: str | None = None,
) -> Any:
    """Return the table of a file of CSV or TSV (also packed) or Parquet; ``"-"`` is stdin.

    ``missing`` has further texts that mean a missing value, ``text`` the columns to read as text.
    Without the column ``target`` the file is refused.
    """
    name = "stdin" if path == "-" else path
    raw = read_bytes(path, name)
    if raw.startswith(b"PAR1"):
        return _read_parquet(raw, name)
    return _read_text(raw, name, terminal, missing, text, target)


def _read_parquet(raw: bytes, name: str) -> Any:
    import pandas as pd

    try:
        table = pd.read_parquet(io.BytesIO(raw))
    except ImportError:
        raise UserError(
            'Reading Parquet needs the package pyarrow: pip install "laconism[cli]".'
        ) from None
    except Exception as error:
        raise UserError(f"{name} cannot be read as Parquet: {error}") from error
    table.columns = [str(column) for column in table.columns]
    _check_names(list(table.columns), name)
    return table.apply(decoded).reset_index(drop=True)


def decoded(column: Any) -> Any:
    """Return bytes as text if all of them are UTF-8, and other columns as they are."""
    if column.dtype != object or not any(isinstance(cell, bytes) for cell in column):
        return column
    try:
        return column.map(lambda cell: cell.decode() if isinstance(cell, bytes) else cell)
    except UnicodeDecodeError:
        return column


def _read_text(
    raw: bytes,
    name: str,
    terminal: Terminal,
    missing: Sequence[str],
    text: Sequence[str],
    target: str | None,
) -> Any:
    encoding = encoding_of(raw, name, terminal)
    # The first lines completely; the line of names may be very long.
    start = itertools.islice(io.TextIOWrapper(io.BytesIO(raw), encoding), 20)
    lines = [line.rstrip("\n") for line in start]
    if not any(line.strip() for line in lines):
        raise UserError(f"{name} is empty.")  # except for a byte order mark
    delimiter, above = _layout(lines, name)
    if any(line.strip() for line in lines[:above]):
        terminal.note(f"{name}: the names are in line {above + 1}; what stands above was left out.")
    names, *cells = _split(lines[above:], delimiter)
    _check_names(names, name)
    if all(_is_numeral(cell) for cell in names):
        raise UserError(f"{name}: the first line has numbers, not names; put a line of names above it.")
    if target is not None and all(column.strip() for column in names):
        check_target([column.strip() for column in names], target, name)
    import pandas as pd  # late, so that a refusal takes no time

    missing = [*MISSING, *missing]
    points = any("." in cell and _is_numeral(cell) for row in cells for cell in row)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the names
            table = pd.read_csv(
                io.BytesIO(raw),
                sep=r"\s+" if delimiter == " " else delimiter,
                skiprows=above,
                encoding=encoding,
                keep_default_na=False,
                na_values=missing,
                low_memory=False,
                dtype=dict.fromkeys(text, str),
                index_col=False,
                skipinitialspace=True,
                # With semicolons numbers usually have decimal commas, unless they have points.
                decimal="," if delimiter == ";" and not points else ".",
            )
    except pd.errors.ParserWarning:
        raise UserError(
            f"{name}: there are {several(len(names), 'name')}, but rows with more fields; "
            "give every column a name."
        ) from None
    except pd.errors.ParserError as error:
        raise UserError(f"{name}: {_bad_row(str(error))}") from None
    if not len(table):
        raise UserError(f"{name} has names but no rows.")
    table.columns = [str(column).strip() for column in table.columns]
    if table.iloc[:, -1].isna().any():
        _say_short_rows(io.StringIO(raw.decode(encoding), newline=""), above, delimiter, name, terminal)
    counted = list(range(len(table) + 1))
    for column in [column for column in table.columns if column.startswith("Unnamed: ")]:
        if table[column].tolist() in (counted[:-1], counted[1:]):  # from zero, or from one
            table = table.drop(columns=column)
            terminal.note(f"{name}: a column without a name that numbers the rows was left out.")
        elif table[column].isna().all():
            table = table.drop(columns=column)  # a delimiter at the end of every line
    return _with_numerals(_trimmed(table, missing), name, terminal, text)


def _trimmed(table: Any, missing: Sequence[str]) -> Any:
    """Return the table without blanks around its texts: ``"no "`` and ``"no"`` are one class."""
    for column, texts in table.select_dtypes(exclude=["number", "bool"]).items():
        if any(isinstance(cell, str) and cell != cell.strip() for cell in texts.unique()):
            trimmed = texts.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
            table[column] = trimmed.mask(trimmed.isin(list(missing)))
    return table


def _with_numerals(
    table: Any, name: str, terminal: Terminal, text: Sequence[str], most_notes: int = 5
) -> Any:
    """Return the table with numbers for columns that are written like 1,234.50 or €3.20."""
    written = table.select_dtypes(exclude=["number", "bool"]).drop(columns=text, errors="ignore")
    read = {column: read_numerals(texts) for column, texts in written.items()}
    found = {column: numbers for column, numbers in read.items() if numbers is not None}
    for column in list(found)[:most_notes]:
        first = found[column].first_valid_index()
        example, number = brief(table[column][first], 40), found[column][first]
        terminal.note(f"{name}: {column} was read as numbers, {example!r} as {number:g}.")
    if len(found) > most_notes:
        terminal.note(f"{name}: read as numbers as well: {listed(list(found)[most_notes:])}.")
    for column, numbers in found.items():
        table[column] = numbers
    return table


def read_numerals(column: Any) -> Any:
    """Return a column of text as numbers, or ``None`` if not every entry is written as one.

    Examples
    --------
    >>> import pandas as pd
    >>> read_numerals(pd.Series(["1,234.50", "-7", None])).tolist()
    [1234.5, -7.0, nan]
    >>> read_numerals(pd.Series(["0,52 €", "1.300,00 €"])).tolist()
    [0.52, 1300.0]
    >>> read_numerals(pd.Series(["1,001", "1,002"])).tolist()
    [1001, 1002]
    >>> read_numerals(pd.Series(["12,5", "a dozen"])) is None
    True
    """
    import pandas as pd

    known = column.dropna().astype(str)
    cells = known.unique()  # each once; plain Python is fast for many short columns
    signs = {sign for cell in cells for sign in _SIGNS.findall(cell)}
    if known.empty or len(signs) > 1:
        return None
    sign = "".join(signs)
    bare = [cell.replace(sign, "", 1).strip() for cell in cells]
    for group, decimal in _STYLES:
        among = f"[{re.escape(group)}]"
        written = rf"[+-]?(?:\d+|[1-9]\d{{0,2}}(?:{among}\d{{3}})+)(?:{re.escape(decimal)}\d+)?"
        if all(map(re.compile(written).fullmatch, bare)):
            without = str.maketrans({decimal: "."} | dict.fromkeys(group))
            digits = [text.translate(without) for text in bare]
            plain = to_numbers(pd.Series(digits, index=cells, dtype=object), "raise")
            return known.map(plain).reindex(column.index)
    return None


# ---- names, delimiter and layout from the first lines ------------------------------------------


def _layout(lines: Sequence[str], name: str) -> tuple[str, int]:
    """Return the delimiter, and the number of blank lines and comments above the names."""
    above = next((k for k, line in enumerate(lines) if line.strip() and line[0] != "#"), 0)
    delimiter = _delimiter(lines[above:], name)
    if above and lines[above - 1].startswith("#"):
        # The names themselves may be a comment.
        widths = [len(row) for row in _split(lines[above - 1 : above + 1], delimiter)]
        above -= widths[0] == widths[-1]
    return delimiter, above


def _split(lines: Iterable[str], delimiter: str) -> list[list[str]]:
    """Return the fields of the lines that have any."""
    stripped = (line.strip(" ") for line in lines) if delimiter == " " else lines
    reader = csv.reader(stripped, delimiter=delimiter, skipinitialspace=True)
    try:
        return [row for row in reader if row]
    except csv.Error:  # an unclosed quote
        return [[]]


def _delimiter(lines: Sequence[str], name: str) -> str:
    """Return the delimiter that splits the first lines into the largest constant number of fields."""
    best, widest = "", 1
    for delimiter in _DELIMITERS:
        if delimiter == " " and best:
            break  # blanks are delimiters only if nothing else is
        widths = [len(row) for row in _split(lines, delimiter)]
        steady = sum(width == widths[0] for width in widths) * 2 > len(widths)
        if steady and widths[0] > widest:
            best, widest = delimiter, widths[0]
    if best:
        return best
    counts = Counter(character for character in lines[0] if character in _DELIMITERS.strip())
    if len(lines) == 1 or not counts:
        first = lines[0] if len(lines[0]) <= 40 else f"{lines[0][:37]}..."
        raise UserError(
            f"{name} has one column only, {first!r}: a table needs a target and "
            "something to predict it from, separated by commas, semicolons or tabs."
        )
    return counts.most_common(1)[0][0]


def _say_short_rows(lines: Any, above: int, delimiter: str, name: str, terminal: Terminal) -> None:
    """Report rows with too few fields, whose other values count as missing."""
    reader = csv.reader(itertools.islice(lines, above, None), delimiter=delimiter, skipinitialspace=True)
    width, short = 0, []
    for row in reader:
        width = width or len(row)
        if row and len(row) < width:
            short.append(reader.line_num + above)
    if short and delimiter != " ":
        others = f", and so do {several(len(short) - 1, 'other')}" if short[1:] else ""
        terminal.note(
            f"{name}: line {short[0]} has fewer than {width} fields{others}; "
            "what is not there counts as missing."
        )


def _check_names(names: Sequence[str], name: str) -> None:
    counts = Counter(column.strip() for column in names if column.strip())
    twice = [column for column, count in counts.items() if count > 1]
    if twice:
        raise UserError(f"{name}: more than one column is called {listed(twice)}; rename all but one.")


def _is_numeral(cell: str) -> bool:
    return is_number(cell.replace(",", "."))


def _bad_row(message: str) -> str:
    """Return the parser's error as a sentence."""
    if found := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message):
        expected, line, seen = found.groups()
        return (
            f"line {line} has {seen} fields, but {expected} were expected; "
            "correct it, or put quotes around a field that holds the delimiter."
        )
    if "EOF inside string" in message:
        return f"a quote is opened in row {message.split()[-1]} and never closed."
    return message.rstrip(".") + "."


def check_target(columns: Iterable[str], target: str, name: str) -> None:
    """Raise if a table has no such column, or no other."""
    columns = list(columns)
    if target not in columns:
        near = get_close_matches(target, columns, n=3)
        others = " among others" if 0 < len(near) < len(columns) else ""
        raise UserError(f"{name} has no column {target!r}; it has {listed(near or columns)}{others}.")
    if len(columns) < 2:
        raise UserError(f"{name} has no column besides the target {target}.")


def split_target(table: Any, target: str, name: str, terminal: Terminal) -> tuple[Any, Any]:
    """Return the other columns and the target, both without rows whose target is missing."""
    check_target(table.columns, target, name)
    known = table[target].notna()
    if not known.any():
        raise UserError(f"{name}: the target {target} is missing in every row.")
    if not known.all():
        gone = int((~known).sum())
        terminal.note(f"{several(gone, 'row')} without a value of the target {target} left out.")
        table = table[known]  # the index still counts the rows of the file
    # Booleans with missing values are objects; without them they are booleans again.
    return table.drop(columns=target), table[target].infer_objects()
