"""Telling callbacks about each iteration: plain functions, and scikit-learn's where it has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


__all__ = ["CallbackSupportMixin", "Reporter", "check_callbacks", "with_callbacks"]


def check_callbacks(callbacks: object) -> Sequence[Callable[[Record], object]]:
    """Return the callbacks as a sequence, or say what they should have been."""
    if callbacks is None:
        return ()
    if callable(callbacks):
        return (callbacks,)
    if isinstance(callbacks, list | tuple) and all(map(callable, callbacks)):
        return tuple(callbacks)
    raise TypeError(
        f"callbacks must be None, a function of a record or a list of such, got {callbacks!r}."
    )


class Reporter:
    """What the loop calls after each iteration of one output.

    Returns ``True`` to the loop if any callback asked to stop.
    """

    def __init__(
        self,
        callbacks: Sequence[Callable[[Record], object]],
        output: int,
        context: Any = None,
        estimator: Any = None,
    ) -> None:
        self.callbacks = callbacks
        self.output = output
        self.context = context
        self.estimator = estimator

    def __call__(self, record: Record) -> bool:
        record = record._replace(output=self.output)
        stop = False
        for callback in self.callbacks:
            stop |= callback(record) is True
        if self.context is not None:
            task = self.context.subcontext(task_name="iteration")
            task.call_on_fit_task_begin(estimator=self.estimator)
            stop |= task.call_on_fit_task_end(estimator=self.estimator, metadata={"record": record})
        return stop
