"""Output of the commands: results to stdout or a file; notes, progress and errors to stderr."""

from __future__ import annotations

import io
import json
import math
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


class UserError(Exception):
    """An error that the user can correct; the message says how."""


@dataclass
class Terminal:
    """Results, notes, progress and errors of one command.

    With ``quiet`` there are no notes and no progress, with ``as_json`` one JSON document on stdout,
    notes included, instead of text, and with ``debug`` errors have their traceback.
    """

    quiet: bool = False
    as_json: bool = False
    debug: bool = False
    notes: list[str] = field(default_factory=list, init=False)

    @property
    def err(self) -> Any:
        """The console of everything but results."""
        return _console(stderr=True)

    @property
    def silent(self) -> bool:
        """Whether there are no notes and no progress."""
        return self.quiet or self.as_json

    def say(self, what: Any = "") -> None:
        """Write a part of the result as text."""
        if not self.as_json:
            _console().print(what, markup=False)

    def remark(self, text: str) -> None:
        """Show a line that is not part of the result."""
        if not self.silent:
            self.err.print(text, markup=False)

    def note(self, text: str) -> None:
        """Report a decision about the data, once."""
        if text not in self.notes:
            self.notes.append(text)
            if not self.silent:
                self.err.print(f"note: {text}", markup=False, style="yellow")

    def finish(self, result: Mapping[str, Any]) -> None:
        """Write the result as JSON, with ``as_json``."""
        if self.as_json:
            document = {**result, "notes": self.notes}
            sys.stdout.write(json.dumps(plain(document), ensure_ascii=False, allow_nan=False) + "\n")

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Callable[..., None]]:
        """Show a progress bar on a terminal; the block gets a function ``step(text, advance=1)``."""
        console = self.err
        if self.silent or not console.is_terminal:
            yield lambda *_, **__: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
        from rich.progress import TimeElapsedColumn as Elapsed

        counted = BarColumn(bar_width=20), MofNCompleteColumn()
        columns = SpinnerColumn(), TextColumn("{task.description}"), *counted, Elapsed()
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(what, total=total)

            def step(text: str = "", advance: int = 1) -> None:
                bar.update(task, description=f"{what} {text}".rstrip(), advance=advance)

            yield step

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Turn errors into one line and exit code 1, and relevant warnings into notes."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
                sys.stdout.flush()  # here a full disk is an error like others
        except KeyboardInterrupt:
            raise SystemExit(130) from None
        except BrokenPipeError:  # the reader of our output has closed the pipe
            raise SystemExit(0) from None
        except Exception as error:
            if self.debug:
                traceback.print_exc()
            else:
                self.err.print(f"error: {sentence(error)}", markup=False, style="red", soft_wrap=True)
            raise SystemExit(1) from None


def _console(**where: Any) -> Any:
    """Return a console without markup, since names of columns may look like markup."""
    from rich.console import Console

    class Plain(Console):  # type: ignore[misc]
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # for ``guard``; by itself it would end the process as a failure

    return Plain(highlight=False, emoji=False, **where)


class _Stdout(io.FileIO):
    """The descriptor of stdout. Errors name it, and after one nothing more is written."""

    failed = False

    def write(self, data: Any) -> int:
        """Write some of the bytes, and return how many."""
        try:
            return len(data) if self.failed else super().write(data)
        except OSError as error:
            self.failed, error.filename = True, "stdout"
            raise


def whole_output(stream: Any) -> Any:
    """Return stdout as a stream that writes every byte or raises, also where Python's is not buffered.

    A descriptor may write fewer bytes than it is given, as on a full disk. The buffer writes the others.
    """
    try:
        descriptor = stream.fileno()
    except (AttributeError, OSError):  # in memory
        return stream
    if stream.isatty():
        return stream
    buffer = io.BufferedWriter(_Stdout(descriptor, "w", closefd=False))
    lines = stream.line_buffering or stream.write_through
    return io.TextIOWrapper(buffer, stream.encoding, "replace", line_buffering=lines)


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


def sentence(error: BaseException) -> str:
    """Return an error as one line."""
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename else ""
        reason = error.strerror if name == "" else error.strerror[:1].lower() + error.strerror[1:]
        return f"{name}{reason}."
    if isinstance(error, MemoryError):
        return "There is not enough memory; try fewer rows or --model sparse --kernel none."
    if isinstance(error, UserError | ValueError | ImportError | OSError) and text:
        return text
    return f"{text} ({type(error).__name__}; --debug shows where)."


def plain(value: Any) -> Any:
    """Return a value as JSON types; numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def several(count: int, noun: str) -> str:
    """Return a count with its noun, whose plural is regular."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Any, most: int = 5) -> str:
    """Return names as a list in words; of many only the first few."""
    names = [str(name) for name in names]
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"
