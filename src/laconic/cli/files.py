"""Files are written as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .console import UserError


def check_writable(out: str) -> None:
    """Complain about a file that cannot be written before the work is done, not after.

    Parameters
    ----------
    out : str
    """
    path = Path(out)
    folder = path.parent
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder, so {out} cannot be written.")
    if path.is_dir():
        raise UserError(f"{out} is a folder; name a file in it.")
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UserError(
            f"The folder {folder.resolve()} cannot be written to: {error.strerror}."
        ) from None


def write_whole(content: bytes, out: str) -> None:
    """Write a file as a whole or not at all.

    Parameters
    ----------
    content : bytes
    out : str
    """
    path = Path(out)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(draft, 0o666 & ~umask)  # a temporary file is for its owner alone
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
