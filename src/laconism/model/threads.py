"""One BLAS thread: the products of a sparse model are too small to share."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    # Looking for the libraries takes a millisecond, so it is done once.
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread for a while.

    Even on a million rows the work is a long series of short products, and threads that wait for each
    other between them cost more than they bring: on two busy cores fits took two to twelve times as
    long. Cores are put to use by ``n_jobs`` instead, one output each.
    """
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited
