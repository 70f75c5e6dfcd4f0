"""Results on the disk: one line per finished cell, there to stay."""

import csv
import importlib.metadata
import io
import json
import os
import sys
import time

COMMON = ["key", "place", "data", "method", "seed", "status", "seconds"]
LAST = ["config", "message", "taken", "versions"]
# Numbers are kept to this many digits: more than any of them means, few enough to read.
DIGITS = 7


def columns(metrics):
    """Return the header of a file of results."""
    return [*COMMON, *metrics, *LAST]


def describe(cell, status, seconds, message=""):
    """Return what every row says about its cell."""
    return {
        "key": cell.key,
        "place": cell.place,
        "data": cell.data,
        "method": cell.method,
        "seed": cell.seed,
        "status": status,
        "seconds": round(seconds, 4),
        "config": json.dumps(cell.config, sort_keys=True),
        "message": message,
        "taken": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": versions(),
    }


def append(path, header, row):
    """Add one row and see it on the disk before returning.

    One ``write`` of one whole line: whoever is interrupted leaves whole lines and at the most one torn
    one at the end, which ``read`` ignores and the next ``append`` closes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    old = _header(path)
    if old is not None and old != header:
        _rewrite(path, header)
    text = io.StringIO()
    writer = csv.DictWriter(text, header, extrasaction="ignore", lineterminator="\n")
    if old is None:
        writer.writeheader()
    writer.writerow({key: _excess_variance(value) for key, value in row.items()})
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(text.getvalue().encode())
        file.flush()
        os.fsync(file.fileno())


def read(path):
    """Return the rows of a file, numbers as numbers; the latest of each cell, torn lines left out."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        header, *lines = list(csv.reader(file)) or [[]]
    rows = [
        {key: _number(key, value) for key, value in zip(header, line, strict=True)}
        for line in lines
        if len(line) == len(header) and line[-1].startswith("python ")
    ]
    return list({row["key"]: row for row in rows}.values())


def finished(rows):
    """Return the keys of the cells that need not be run again."""
    return {row["key"] for row in rows if row["status"] == "ok"}


def versions():
    """Return what the numbers hang on, without saying where they were taken."""
    parts = ["python " + ".".join(map(str, sys.version_info[:3]))]
    for name in ("laconism", "numpy", "scipy", "scikit-learn"):
        try:
            parts.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return "; ".join(parts)


def _header(path):
    if not path.exists() or not path.stat().st_size:
        return None
    with path.open(newline="") as file:
        return next(csv.reader(file), None)


def _rewrite(path, header):
    """Give a file written under another header the present one, in one step."""
    fresh = path.with_suffix(".new")
    with fresh.open("w", newline="") as file:
        writer = csv.DictWriter(file, header, extrasaction="ignore", restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(read(path))
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _excess_variance(value):
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else value


def _number(key, text):
    if key in ("key", "place", "data", "method", "config", "message", "taken", "versions", "wrong"):
        return text
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if key == "seed" else value
