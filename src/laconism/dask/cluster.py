"""Passes over partitions that lie on the workers of a Dask cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from dask import delayed
from distributed import CancelledError, Client, default_client, wait
from distributed.client import ClosedClientError

from ..partitions.parts import Part, Partitions, Pass, add

# Seconds that a pass waits for a worker if there is none.
_MAX_SECONDS_WITHOUT_WORKERS = 60.0
# Partitions stay in the memory of the workers if they take at most this fraction of it.
_MAX_MEMORY_FRACTION = 0.35


def current_client(client: Client | None) -> Client:
    """Return the client, or the current one; raise if there is none."""
    if client is not None:
        return client
    try:
        return default_client()
    except ValueError as error:
        raise ValueError(
            "There is no Dask client: create one, such as distributed.Client(), or pass client=."
        ) from error


class NoWorkersError(TimeoutError):
    """A pass has waited too long for a worker."""


class DaskPartitions(Partitions):
    """Partitions on workers. What a lost worker held is computed again by Dask."""

    def __init__(
        self, client: Client, parts: Sequence[Any], report: Callable[[Pass], object] | None = None
    ) -> None:
        super().__init__(len(parts), report)
        self.client, self._parts = client, list(parts)
        self.persisted = False

    def persist_if_small(self, n_bytes: int) -> None:
        """Keep the partitions in the memory of the workers, if that is large enough."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        if n_bytes <= _MAX_MEMORY_FRACTION * sum(each["memory_limit"] for each in workers):
            self._parts, self.persisted = self.client.persist(self._parts), True

    def _gather(
        self, function: Callable[..., Any], own: Sequence[Any], arguments: Sequence[Any]
    ) -> list[Any]:
        shared, call = delayed(tuple(arguments), traverse=False), delayed(_call_numbered, pure=False)
        each = zip(self._parts, range(self.n_parts), own, strict=True)
        tasks = [call(function, *job, shared) for job in each]
        return self._results(tasks)

    def _total(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        shared, call = delayed(tuple(arguments), traverse=False), delayed(_call, pure=False)
        level = [call(function, part, shared) for part in self._parts]
        join, fan_in = delayed(_add_all, pure=False), 8
        while len(level) > 1:  # the same tree whatever worker does what
            level = [join(level[i : i + fan_in]) for i in range(0, len(level), fan_in)]
        return self._results(level)[0]

    def _results(self, tasks: Sequence[Any]) -> list[Any]:
        """Compute tasks and return their results; raise if the cluster cannot finish them."""
        where = getattr(self.client.scheduler, "address", "unknown")
        try:
            futures = self.client.compute(list(tasks))
            self._wait(futures)
        except NoWorkersError:
            raise
        except (OSError, RuntimeError, ClosedClientError, CancelledError) as error:
            raise ConnectionError(
                f"The scheduler at {where} does not answer: the fit ends without a result. Start a "
                f"scheduler and fit again."
            ) from error
        for future in futures:
            if future.status == "error":
                raise future.exception()
            if future.status in ("cancelled", "lost"):
                raise ConnectionError(
                    f"The scheduler at {where} has lost the tasks of the fit, which ends without a "
                    f"result. Fit again."
                )
        return list(self.client.gather(futures))

    def _wait(self, futures: Sequence[Any], poll_seconds: float = 2.0) -> None:
        """Wait until all are done, as long as there is a worker to do them."""
        alone_since: float | None = None
        while True:
            try:
                wait(futures, timeout=poll_seconds)
                return
            except TimeoutError:
                pass
            if self.client.status != "running":
                raise ConnectionError("the connection to the scheduler is closed")
            if self.client.nthreads():
                alone_since = None
                continue
            alone_since = alone_since or time.monotonic()
            if time.monotonic() - alone_since > _MAX_SECONDS_WITHOUT_WORKERS:
                for future in futures:
                    future.cancel()
                raise NoWorkersError(
                    f"There has been no worker for {_MAX_SECONDS_WITHOUT_WORKERS:.0f} seconds, so the "
                    f"fit ends without a result. Start workers and fit again."
                )


def _call(function: Callable[..., Any], part: Part, arguments: Sequence[Any]) -> Any:
    return function(part, *arguments)


def _call_numbered(
    function: Callable[..., Any], part: Part, number: int, own: Any, arguments: Sequence[Any]
) -> Any:
    return function(part, number, own, *arguments)


def _add_all(results: Sequence[Any]) -> Any:
    total = results[0]
    for each in results[1:]:
        total = add(total, each)
    return total
