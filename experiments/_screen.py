"""Progress on the terminal: a bar by rich where somebody looks, plain lines otherwise."""

import contextlib


class Screen:
    """Where the runner says what it does."""

    def __init__(self):
        try:
            from rich.console import Console
        except ImportError:
            self.console = None
        else:
            self.console = Console(highlight=False)

    def line(self, text):
        """Write a line that stays."""
        if self.console is None:
            print(text, flush=True)
        else:
            self.console.print(text, markup=False, soft_wrap=True)

    @contextlib.contextmanager
    def progress(self, name, total, done):
        """Yield a function to be called, with a text, after every cell."""
        if self.console is None or not self.console.is_terminal:
            yield lambda text: None
            return
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeRemainingColumn(), console=self.console, transient=True) as bars:
            task = bars.add_task(name, total=total, completed=done)
            yield lambda text: bars.update(task, advance=1, description=f"{name}: {text}")
