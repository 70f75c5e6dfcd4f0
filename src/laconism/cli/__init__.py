"""The ``laconism`` command: fit, predict, inspect, evaluate and report from the shell."""

from __future__ import annotations

import os
import sys

__all__ = ["main"]

# What the extra brings and every command needs.
_PACKAGES = ("typer", "rich", "pandas", "skops")


def main() -> None:
    """Run the command line; without its packages say in a sentence how to get them."""
    from importlib.util import find_spec

    missing = [name for name in _PACKAGES if sys.modules.get(name, 0) is None or not find_spec(name)]
    if missing:
        sys.stderr.write(
            f'The laconism command needs the package {missing[0]}: pip install "laconism[cli]".\n'
        )
        raise SystemExit(1)
    from .app import build
    from .console import sentence

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever has started us: nobody there
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without bars shows question marks
    try:
        build()(prog_name="laconism")
    except OSError as error:  # there is no room for the help or the version: no command has begun
        sys.stderr.write(f"error: {sentence(error)}\n")
        raise SystemExit(1) from None
