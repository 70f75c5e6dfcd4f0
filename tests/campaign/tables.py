"""Odd tables on the command line: an answer, or one sentence and an exit code."""

import contextlib
import datetime
import gzip
import io
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from campaign.runner import Failed, within

LONGEST_COMMAND_SECONDS = 60
ENCODINGS = ["utf-8"] * 4 + [
    "utf-8-sig",
    "utf-16",
    "utf-16-le",
    "utf-32",
    "latin-1",
    "cp1252",
    "shift-jis",
]
INTERNAL = re.compile(r"--debug shows where|Traceback")


def run(seed):
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        path, about = write(rng, Path(folder))
        options = ["--model", str(rng.choice(["sparse", "rvm", "grid", "auto"], p=[0.5, 0.3, 0.1, 0.1]))]
        options += ["--quiet"] * int(rng.random() < 0.5)
        model = Path(folder) / "model.skops"
        fit = ["fit", path, "--target", "y", "--out", model, *options]
        if command(fit, about) == 0:
            if not model.exists():
                raise Failed("no file", "fit says it succeeded, and wrote none", about)
            # The table it was fitted to, and another one.
            # Rows without a target are left out by fit, whatever else is in them, and not by predict.
            same = not any(word in about for word in ("comment", "missing", "ragged"))
            predicts(model, path, folder, about, same)
            other, more = write(rng, Path(folder) / "other")
            predicts(model, other, folder, f"{about}; predict on {more}", same=False)
            command(["inspect", model, "--json"], about)


def predicts(model, path, folder, about, same=True):
    out = Path(folder) / "pred.csv"
    out.unlink(missing_ok=True)
    code = command(["predict", model, path, "--out", out], about)
    if code != 0:
        if same:
            raise Failed("refusal", "predict refuses the table that fit has read", about)
        return
    found = pd.read_csv(out)
    # Names of classes may look like numbers.
    chances = [name for name in found if name.startswith("P(")]
    numbers = found[chances or list(found)].select_dtypes("number").to_numpy(dtype=float)
    if not len(found) or np.isinf(numbers).any():
        raise Failed("predictions", f"{len(found)} rows, or infinite numbers", about)


def command(words, about):
    """Run a command in this process and return its exit code."""
    from laconism.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    before, sys.argv = sys.argv, ["laconism", *map(str, words)]
    code = 0
    try:
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            within(LONGEST_COMMAND_SECONDS),
        ):
            main()
    except SystemExit as end:
        code = end.code or 0
    except Failed as late:
        raise Failed("time", f"{words[0]} takes too long", about) from late
    except BaseException as error:
        raise Failed("error", f"{words[0]}: {type(error).__name__} {error}", about) from error
    finally:
        sys.argv = before
    err.flush()
    said = err.buffer.getvalue().decode("utf-8", "replace").strip()
    if code not in (0, 1, 2):
        raise Failed("exit code", f"{words[0]}: {code}", about)
    if INTERNAL.search(said):
        raise Failed("sentence", f"{words[0]}: {' '.join(said.split())[-300:]}", about)
    errors = [line for line in said.splitlines() if line.startswith("error:")]
    if code == 1 and (len(errors) != 1 or not errors[0].endswith((".", "?"))):
        raise Failed("sentence", f"{words[0]}: {' '.join(said.split())[-300:]!r}", about)
    return code


# ---- tables -------------------------------------------------------------------------------------


def texts(rng, n):
    words = [
        "a",
        "b",
        "ja, nein",
        'say "so"',
        " x ",
        "Köln",
        "客",
        "",
        "NA",
        "-",
        "\u200b",
        "=1+1",
        "a\nb",
        "😀",
    ]
    return rng.choice(rng.choice(words, size=rng.integers(1, 5)), size=n).tolist()


def integers(rng, n):
    digits = int(rng.choice([1, 5, 15, 19, 25, 60, 310, 401]))
    return [str(int(x * 10**6)) + "7" * max(digits - 7, 0) for x in rng.random(n)]


def dates(rng, n):
    form = str(rng.choice(["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y", "%Y-%m-%dT%H:%M:%SZ", "%H:%M"]))
    start = datetime.datetime(int(rng.choice([1, 1600, 1980, 2020, 9000])), 1, 1)
    days = rng.integers(0, 300, size=n)
    return [(start + datetime.timedelta(days=int(k))).strftime(form) for k in days]


def currencies(rng, n):
    form = str(rng.choice(["€{:,.2f}", "{:.1f} %", "{:,.0f}", "${:.2f}", "{:.2f}kg"]))
    return [form.format(x) for x in 5000 * rng.random(n)]


def extremes(rng, n):
    return rng.choice(
        ["1e308", "-1e308", "1e400", "1e-320", "inf", "-inf", "nan", "0", "1", "0x1F"], n
    ).tolist()


COLUMNS = {
    "numbers": lambda rng, n: [repr(float(x)) for x in rng.normal(size=n)],
    "scales": lambda rng, n: [f"{x:.3e}" for x in rng.normal(size=n) * 10.0 ** rng.uniform(-200, 200)],
    "texts": texts,
    "integers": integers,
    "dates": dates,
    "currencies": currencies,
    "extremes": extremes,
    "nothing": lambda rng, n: [""] * n,
    "constant": lambda rng, n: ["7"] * n,
    "rows": lambda rng, n: [str(k) for k in range(n)],
    "switches": lambda rng, n: rng.choice(
        [["yes", "no"], ["True", "False"], ["0", "1"]][rng.integers(3)], n
    ).tolist(),
}
NAMES = [
    "x",
    "x",
    "y",
    "",
    " ",
    "客",
    "a,b",
    'q"',
    "1",
    "nan",
    "Unnamed: 0",
    "x" * 3000,
    "\ufeffx",
    "y ",
]


def write(rng, where):
    """Write a table, and return its path and what it is."""
    where.mkdir(exist_ok=True)
    n, kinds = (
        int(rng.choice([1, 2, 5, 30, 60])),
        rng.choice(["numbers", *COLUMNS], size=rng.integers(1, 5)),
    )
    table = {f"c{k}": COLUMNS[str(kind)](rng, n) for k, kind in enumerate(kinds)}
    target = str(rng.choice(["switches", "numbers", "texts", *COLUMNS]))
    table["y"] = COLUMNS[target](rng, n)
    about = f"{n} rows of {'/'.join(map(str, kinds))}, target of {target}"
    if rng.random() < 0.3:
        for column in table.values():
            for k in rng.integers(0, n, size=n // 4 + 1):
                column[k] = str(rng.choice(["", "NA", "?", "nan", "None"]))
        about += ", missing values"
    if rng.random() < 0.2:
        return parquet(rng, where, table, about)
    return text_file(rng, where, table, about)


def parquet(rng, where, table, about):
    frame = pd.DataFrame(table)
    kind = str(rng.choice(["text", "numbers", "bytes", "category", "list", "decimal", "time"]))
    name = str(rng.choice(list(table)))
    numbers = pd.to_numeric(frame[name], errors="coerce")
    if kind == "numbers":
        frame = frame.apply(pd.to_numeric, errors="coerce")
    elif kind == "bytes":
        frame[name] = [text.encode() for text in frame[name]]
    elif kind == "category":
        frame[name] = frame[name].astype("category")
    elif kind == "list":
        frame[name] = [[float(k), 1.0] for k in range(len(frame))]
    elif kind == "decimal":
        from decimal import Decimal

        frame[name] = [Decimal(k) / 4 for k in range(len(frame))]
    elif kind == "time":
        frame[name] = pd.to_datetime(numbers.fillna(0).clip(-1e9, 1e9), unit="s")
    path = where / "data.parquet"
    frame.to_parquet(path)
    if rng.random() < 0.15:
        data = path.read_bytes()
        path.write_bytes(data[: rng.integers(4, len(data))])
        about += ", cut"
    return path, f"Parquet ({name} as {kind}), {about}"


def text_file(rng, where, table, about):
    separator = str(rng.choice([",", ",", ",", ";", "\t", "|", " "]))
    names = list(table)
    if rng.random() < 0.2:
        k = int(rng.integers(len(names)))
        names[k] = str(rng.choice(NAMES))
        about += f", a column called {names[k][:12]!r}"
    rows = [names, *zip(*table.values(), strict=True)]
    quoted = rng.random() < 0.3
    lines = [separator.join(cell(each, separator, quoted, rng) for each in row) for row in rows]
    spoil = str(
        rng.choice(["nothing"] * 8 + ["above", "ragged", "blank lines", "no rows", "quote", "comment"])
    )
    if spoil == "above":
        lines = ["A table of ours", "", *lines]
    elif spoil == "ragged":
        lines[-1] += separator + "1" if rng.random() < 0.5 else ""
    elif spoil == "blank lines":
        lines[1:1] = ["", "  "]
    elif spoil == "no rows":
        lines = lines[:1]
    elif spoil == "quote":
        lines[-1] = '"' + lines[-1]
    elif spoil == "comment":
        lines[1:1] = ["# a comment"]
    end, encoding = str(rng.choice(["\n", "\n", "\r\n", "\r"])), str(rng.choice(ENCODINGS))
    data = (end.join(lines) + end * int(rng.random() < 0.8)).encode(encoding, "replace")
    if rng.random() < 0.1:
        place = int(rng.integers(len(data) + 1))
        data = data[:place] + bytes([int(rng.choice([0, 26, 128, 144, 255, 13]))]) + data[place:]
        about += ", a strange byte"
    path = where / str(
        rng.choice(
            ["data.csv", "data.txt", "data.tsv", "my data.csv", "data.parquet"],
            p=[0.7, 0.1, 0.1, 0.05, 0.05],
        )
    )
    path.write_bytes(gzip.compress(data) if rng.random() < 0.1 else data)
    return path, f"{path.name} {encoding} {separator!r} {end!r} {spoil}, {about}"


def cell(text, separator, quoted, rng):
    if quoted or (any(each in text for each in (separator, '"', "\n")) and rng.random() < 0.9):
        return '"' + text.replace('"', '""') + '"'
    return text
