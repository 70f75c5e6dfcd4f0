"""One BLAS thread: the matrix products of a sparse model are too small for several."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from functools import lru_cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Finding the libraries takes time, so it is done once.
    return ThreadpoolController()


class _OneThread(AbstractContextManager["_OneThread"]):
    """The number of threads belongs to the process: the first fit limits it, the last one restores it.

    If each fit restored what it found, two that overlap would leave the limit of the other.
    """

    def __init__(self) -> None:
        self._limiter: Any = None
        self.forget_fits()

    def forget_fits(self) -> None:
        """Begin without fits, as a forked process does: those of other threads go on in its parent."""
        self._lock, self._n_fits = Lock(), 0

    def __enter__(self) -> _OneThread:
        with self._lock:
            if self._limiter is None:
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._n_fits += 1
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._n_fits -= 1
            if self._n_fits <= 0 and self._limiter is not None:
                self._limiter.restore_original_limits()
                self._limiter, self._n_fits = None, 0


_ONE_THREAD = _OneThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ONE_THREAD.forget_fits)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS has one thread; ``n_jobs`` uses several cores instead."""
    return _ONE_THREAD
