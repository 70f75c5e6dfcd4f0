"""Checks of output paths: writable, and not one of the inputs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ..interop.persistence import write_whole
from .console import UserError

__all__ = ["check_writable", "write_whole"]


def check_writable(out: str, *inputs: str) -> None:
    """Raise before the work begins if a file cannot be written, or is one of those that are read."""
    if out in ("", "-"):
        raise UserError(f"--out needs the name of a file, got {out!r}.")
    path = Path(out)
    folder = path.parent
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder, so {out} cannot be written.")
    if path.is_dir():
        raise UserError(f"{out} is a folder; name a file in it.")
    for name in inputs:
        if path.exists() and Path(name).exists() and os.path.samefile(path, name):
            raise UserError(f"--out {out} would overwrite {name}, which is read; name another file.")
    if path.exists() and not path.is_file():
        return  # a pipe or a device, whose folder does not matter
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UserError(
            f"The folder {folder.resolve()} cannot be written to: {error.strerror}."
        ) from None
