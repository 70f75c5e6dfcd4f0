"""A progress bar in the terminal."""

from __future__ import annotations

import multiprocessing
from typing import Any, Self

from ..solvers import Record


class ProgressBar:
    """Callback that shows each iteration on one line of the terminal, written to stderr.

    Used as a context manager it shows a spinner, which disappears at the end of the block. Otherwise it
    rewrites one line per output, which stays. It writes nothing if stderr is not a terminal, and nothing
    in worker processes; with ``n_jobs`` the spinner of a context manager still turns.

    Needs ``pip install "laconism[progress]"``. Clones of an estimator share its bar; a pickled bar
    writes to the stderr of the process that loads it.

    Parameters
    ----------
    console : rich.console.Console or None (stderr), default=None

    Examples
    --------
    >>> from laconism import SparseBayesClassifier
    >>> from laconism.datasets import make_ripley
    >>> from laconism.interop import ProgressBar
    >>> X, y = make_ripley(100, random_state=0)
    >>> with ProgressBar() as bar:
    ...     model = SparseBayesClassifier(kernel="rbf", gamma=2.0, callbacks=bar).fit(X, y)
    >>> model.status_.converged
    True
    """

    def __init__(self, console: Any = None) -> None:
        try:
            from rich.console import Console
        except ImportError as error:
            raise ImportError(
                'ProgressBar needs the package rich: pip install "laconism[progress]".'
            ) from error
        self._console = Console(stderr=True) if console is None else console
        self._spinner: Any = None

    def __call__(self, record: Record) -> None:
        """Show the ``iteration, objective, active, seconds, output`` of a record."""
        if multiprocessing.parent_process() is not None or not self._console.is_terminal:
            return
        text = (
            f"iteration {record.iteration}   objective {record.objective:.4f}   "
            f"{record.active} active   {record.seconds:.1f} s"
        )
        if record.output > 0:  # that there are several outputs is known once the second one starts
            text = f"output {record.output}   {text}"
        if self._spinner is not None:
            self._spinner.update(text)
            return
        from rich.control import Control
        from rich.segment import ControlType

        if record.iteration > 1:
            # Move up to the line of the last iteration. The cursor always rests below it, so that
            # later output starts on a new line.
            self._console.control(Control((ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2)))
        self._console.print(text, no_wrap=True, overflow="ellipsis", highlight=False, markup=False)

    def __enter__(self) -> Self:
        spinner = self._console.status("fitting")
        spinner.start()
        self._spinner = spinner
        return self

    def __exit__(self, *error: object) -> None:
        spinner, self._spinner = self._spinner, None
        spinner.stop()

    def __repr__(self) -> str:
        return "ProgressBar()"

    def __deepcopy__(self, memo: object) -> Self:
        return self  # clones of an estimator share its line in the terminal

    def __reduce__(self) -> tuple[type[ProgressBar], tuple[()]]:
        return type(self), ()  # locks and threads cannot be pickled
