"""Calls of callbacks after each iteration: plain functions, and scikit-learn's if it has them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..solvers import Record

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef, unused-ignore]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:  # type: ignore[no-redef, unused-ignore]
        """Return the method as it is."""
        return method


__all__ = [
    "SILENT",
    "CallbackSupportMixin",
    "Reporter",
    "begin_reports",
    "candidate_reporter",
    "check_callbacks",
    "with_callbacks",
]


def check_callbacks(callbacks: object) -> Sequence[Callable[[Record], object]]:
    """Return the callbacks as a sequence; raise if they are something else."""
    if callbacks is None:
        return ()
    if callable(callbacks):
        return (callbacks,)
    if isinstance(callbacks, list | tuple) and all(map(callable, callbacks)):
        return tuple(callbacks)
    raise TypeError(
        f"callbacks must be None, a function of a record or a list of such, got {callbacks!r}."
    )


@dataclass(frozen=True)
class Reporter:
    """Called by the loop after each iteration of one output; it returns ``True`` to stop the loop.

    scikit-learn's callbacks get a task per output, with a subtask per iteration.
    """

    callbacks: Sequence[Callable[[Record], object]]
    output: int
    estimator: Any
    task: Any

    def begin(self) -> None:
        """Report that the fit of the output begins."""
        if self.task is not None:
            self.task.call_on_fit_task_begin(estimator=self.estimator)

    def end(self) -> None:
        """Report that the fit of the output has ended."""
        if self.task is not None:
            self.task.call_on_fit_task_end(estimator=self.estimator)

    def __call__(self, record: Record) -> bool:
        """Report one iteration; return whether any callback returned ``True``."""
        record = record._replace(output=self.output)
        stop = False
        for callback in self.callbacks:  # all are called, even if an earlier one stops the fit
            stop |= bool(callback(record))
        if self.task is not None:
            iteration = self.task.subcontext(task_name="iteration")
            iteration.call_on_fit_task_begin(estimator=self.estimator)
            told = {"record": record}
            stop |= bool(iteration.call_on_fit_task_end(estimator=self.estimator, metadata=told))
        return stop


SILENT = Reporter((), 0, None, None)  # calls nothing


def begin_reports(estimator: Any, n_outputs: int) -> tuple[list[Reporter], Callable[[], object]]:
    """Return a reporter for each output, and a function to call when all have ended."""
    callbacks = check_callbacks(estimator.callbacks)
    if not getattr(estimator, "_skl_callbacks", None):
        return [Reporter(callbacks, k, None, None) for k in range(n_outputs)], lambda: None
    root = estimator._init_callback_context(max_subtasks=n_outputs)
    root.call_on_fit_task_begin(estimator=estimator)
    tasks = (root.subcontext(task_name="output", max_subtasks=None) for _ in range(n_outputs))
    reporters = [Reporter(callbacks, k, estimator, task) for k, task in enumerate(tasks)]
    return reporters, lambda: root.call_on_fit_task_end(estimator=estimator)


def candidate_reporter(callbacks: object) -> Callable[[float, float], None]:
    """Return the function that reports each finished candidate of a search: its score and its size."""
    checked, began, number = check_callbacks(callbacks), time.perf_counter(), 0

    def report(score: float, kept: float) -> None:
        nonlocal number
        number += 1
        record = Record(number, score, round(kept), time.perf_counter() - began)
        for callback in checked:
            callback(record)

    return report
