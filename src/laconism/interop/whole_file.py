"""Files that are written completely or not at all."""

from __future__ import annotations

import glob
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


def write_whole(data: bytes, path: str | os.PathLike[str]) -> None:
    """Write a file completely or not at all: an existing file stays until all is written."""
    with whole_file(path) as file:
        file.write(data)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of an existing one when all is written.

    Of a link the target is replaced; a device or a pipe is written to directly. The draft of a process
    that is killed has no name and is gone with it. Where the system has no such files, it is a hidden
    file, which a later writer of the same file removes.
    """
    if Path(path).exists() and not Path(path).is_file():
        with Path(path).open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    # File systems allow names of 255 bytes, this one adds 34, and a character may take four.
    start = f".{target.name[:50]}."
    beside = target.with_name(f"{start}{uuid.uuid4().hex}")
    try:
        with _draft(beside) as file:
            if target.exists():  # the draft has the same permissions
                mode = target.stat().st_mode & 0o7777
                os.chmod(file.fileno() if os.chmod in os.supports_fd else beside, mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if isinstance(file.name, int):  # it gets a name, which takes the place of the old file's
                os.link(f"/proc/self/fd/{file.name}", beside, src_dir_fd=file.name, follow_symlinks=True)
        os.replace(beside, target)
        _remove_drafts(target.parent, start)
    except OSError as error:
        if error.errno is not None and str(error.filename) in ("None", str(beside)):
            error.filename = str(path)  # not that of the draft
            del error.filename2
        raise
    finally:
        beside.unlink(missing_ok=True)


def _draft(beside: Path) -> IO[bytes]:
    """Open a file without a name in a folder, or else one with this name."""
    if hasattr(os, "O_TMPFILE") and Path("/proc/self/fd").is_dir():
        with suppress(OSError):  # not every file system has files without a name
            return open(os.open(beside.parent, os.O_TMPFILE | os.O_WRONLY, 0o666), "wb")
    return beside.open("xb")


def _remove_drafts(folder: Path, start: str, stale_seconds: float = 86_400.0) -> None:
    """Remove drafts that nobody has written to for so long that their writers are gone."""
    for draft in folder.glob(f"{glob.escape(start)}{'[0-9a-f]' * 32}"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > stale_seconds:
                draft.unlink()
