"""The ``laconism`` command: fit, predict, inspect, evaluate and report from the shell.

``app`` has the commands and their options; each command is the function and the module of its name:
``fit``, ``predict``, ``inspect``, ``evaluate``, ``report``. A table is read by ``raw`` (bytes),
``tables`` (rows and columns) and ``columns`` (the kind of each column). ``models`` splits it into
features and target and makes our estimators, ``rivals`` makes those of scikit-learn, ``compare``
cross-validates them. ``figures`` draws the figures of a report, ``console`` writes to the terminal and
checks output paths.

With ``--engine dask`` the commands are those of ``dask`` (fit), ``dask_predict`` and ``dask_evaluate``,
on the files of ``dask_files``, whose columns ``dask_columns`` summarises.
"""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout

__all__ = ["main"]

# Packages of the extra "cli", which every command needs.
_PACKAGES = ("typer", "rich", "pandas", "skops")


def main() -> None:
    """Run the command line, or report how to install its packages."""
    from importlib.util import find_spec

    missing = [name for name in _PACKAGES if sys.modules.get(name, 0) is None or not find_spec(name)]
    if missing:
        sys.stderr.write(
            f'The laconism command needs the package {missing[0]}: pip install "laconism[cli]".\n'
        )
        raise SystemExit(1)
    from .app import app
    from .console import sentence, whole_output

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # the parent process has closed the stream
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # unknown characters become question marks
    try:
        with redirect_stdout(whole_output(sys.stdout)):
            app(prog_name="laconism")
    except OSError as error:  # writing the help or the version failed
        sys.stderr.write(f"error: {sentence(error)}\n")
        raise SystemExit(1) from None
