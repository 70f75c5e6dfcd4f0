"""As many BLAS threads as the work is worth."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

# Products with fewer entries than this are over before a second thread has woken up; on a busy machine
# waiting for it has made a fit ten times slower.
_WORTH_A_THREAD = 20_000_000


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Looking for the libraries takes a millisecond, so it is done once.
    return ThreadpoolController()


def blas_threads(entries: int, n_workers: int) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread while matrices are small or workers share the cores."""
    if entries >= _WORTH_A_THREAD and n_workers == 1:
        return nullcontext()
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited
