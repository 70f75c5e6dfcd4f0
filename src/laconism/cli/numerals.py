"""Numbers in local notations: 1,234.50 and 1.234,50, €3.20, 12 %."""

from __future__ import annotations

import re
from typing import Any

# Every number of a column may have one of these before or after it.
_SIGNS = re.compile(r"[$€£¥%]")
# Separators of thousands; not a plain space, or telephone numbers would be read as quantities.
_NARROW = "'\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"
# Separators of thousands and of decimals, the likeliest first: 1,234 is read as an integer.
_STYLES = ((",", "."), (".", ","), (_NARROW, "."), (_NARROW, ","))


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
            plain = pd.to_numeric(pd.Series([text.translate(without) for text in bare], index=cells))
            return known.map(plain).reindex(column.index)
    return None
