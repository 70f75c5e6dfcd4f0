"""The bytes of a table: decompression, encoding, and detection of other file types."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

from .console import Terminal, UserError


def _unzip(raw: bytes) -> bytes:
    """Return the only file of an archive, or the archive if it has several, as spreadsheets do."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        # macOS adds a second entry for every file.
        files = [name for name in archive.namelist() if name[-1] != "/" and "__MACOSX/" not in name]
        return archive.read(files[0]) if len(files) == 1 else raw


# First bytes of a compressed file, the name of the format, and the function that decompresses it.
_PACKED: tuple[tuple[bytes, str, Any], ...] = (
    (b"\x1f\x8b", "gzip", gzip.decompress),
    (b"BZh", "bzip2", bz2.decompress),
    (b"\xfd7zXZ\0", "xz", lzma.decompress),
    (b"PK\x03\x04", "zip", _unzip),
)
# Errors of damaged or encrypted files.
_DAMAGED = (OSError, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
# Other file types, by their first bytes.
_NO_TABLES = (
    (b"PK", "a spreadsheet, or an archive of more than one file"),
    (b"\xd0\xcf\x11\xe0", "a spreadsheet"),
    (b"<!doctype", "a web page"),
    (b"<html", "a web page"),
    (b"<?xml", "XML"),
)
# Byte order marks, the longer ones first.
_MARKS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)


def read_bytes(path: str, name: str) -> bytes:
    """Return the decompressed content of a file (``"-"`` is stdin), called ``name`` in messages."""
    raw = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    for mark, how, unpack in _PACKED:
        if raw.startswith(mark):
            try:
                raw = unpack(raw)
            except _DAMAGED:
                raise UserError(f"{name}: the {how} file is damaged or locked.") from None
            break
    start = raw.lstrip()[:16].lower()
    if not start:
        raise UserError(f"{name} is empty.")
    for mark, what in _NO_TABLES:
        if start.startswith(mark.lower()):
            raise UserError(f"{name} is {what}, not a table: save it as CSV.")
    if _is_json(raw.strip()):
        raise UserError(f"{name} is JSON, not a table: save it as CSV.")
    if Path(path).suffix.lower() in (".parquet", ".pq") and not raw.startswith(b"PAR1"):
        raise UserError(f"{name} is no Parquet file, though it is called one.")
    return raw


def _is_json(raw: bytes) -> bool:
    """Return whether a text, or its first line, is an object or a list of JSON."""
    if raw[:1] not in (b"{", b"["):
        return False
    for text in (raw.split(b"\n", 1)[0], raw):
        try:
            json.loads(text)
        except ValueError:
            continue
        return True
    return False


def encoding_of(raw: bytes, name: str, terminal: Terminal) -> str:
    """Return the encoding of a text, or raise if the bytes are not text."""
    encoding = next((encoding for mark, encoding in _MARKS if raw.startswith(mark)), "utf-8")
    if encoding.startswith("utf-8") and b"\0" in raw:
        raise UserError(f"{name} is not a table: it holds binary data.")
    try:
        raw.decode(encoding)
    except UnicodeDecodeError:
        if not encoding.startswith("utf-8"):
            raise UserError(f"{name} is damaged: it is not all {encoding.upper()}.") from None
        if any(byte in raw for byte in b"\x81\x8d\x8f\x90\x9d"):  # that encoding has no such characters
            raise UserError(f"{name} is neither UTF-8 nor Windows-1252: save it as UTF-8.") from None
        terminal.note(f"{name} is not UTF-8; it was read as Windows-1252.")
        return "cp1252"
    return encoding
