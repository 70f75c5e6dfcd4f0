"""Partitions of the rows, and passes over them: a function of each, and the sum of what they return."""

from __future__ import annotations

import os
import pickle
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from joblib import cpu_count

from .._protocols import Array

# Rows of a partition of arrays in memory.
_ROWS_PER_PART = 25_000


class Part(NamedTuple):
    """The rows of one partition, their targets and their weights."""

    X: Any
    y: Array
    weight: Array


class Pass(NamedTuple):
    """One pass over all partitions, as ``history_`` shows it.

    Each partition gets the same arguments and returns one result; ``bytes`` is the size of both, summed
    over the partitions. Objective and number of columns are known for a step of Newton's method.
    """

    iteration: int
    kind: str
    bytes: int
    seconds: float
    objective: float = np.nan
    active: int = 0
    output: int = 0


class Partitions(ABC):
    """The rows of a fit in several partitions. Results are summed in a fixed order."""

    def __init__(self, n_parts: int, report: Callable[[Pass], object] | None = None) -> None:
        self.n_parts = n_parts
        self.passes: list[Pass] = []
        self.report = report

    @abstractmethod
    def _gather(
        self, function: Callable[..., Any], own: Sequence[Any], arguments: Sequence[Any]
    ) -> list[Any]:
        """Return the result of each partition, given an argument of its own and those of all."""

    @abstractmethod
    def _total(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Return the sum of the results of all partitions."""

    def gather(
        self,
        kind: str,
        function: Callable[..., Any],
        *arguments: Any,
        each: Sequence[Any] | None = None,
    ) -> list[Any]:
        """Return a small result of each partition: ``function(part, number, own, *arguments)``.

        ``own`` is its entry of ``each``.
        """
        began = time.perf_counter()
        own = [None] * self.n_parts if each is None else each
        found = self._gather(function, own, arguments)
        moved = sum(_size(value) for pair in zip(found, own, strict=True) for value in pair)
        self._record(kind, arguments, moved, began)
        return found

    def total(self, kind: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the sum over partitions of ``function(part, *arguments)``, a list of arrays."""
        began = time.perf_counter()
        found = self._total(function, arguments)
        self._record(kind, arguments, self.n_parts * _size(found), began)
        return found

    def _record(self, kind: str, arguments: Sequence[Any], received: int, began: float) -> None:
        sent = self.n_parts * _size(arguments)
        seconds = time.perf_counter() - began
        self.passes.append(Pass(len(self.passes) + 1, kind, sent + received, seconds))
        if self.report is not None:
            self.report(self.passes[-1])

    def annotate(self, objective: float, active: int, output: int) -> None:
        """Add objective and number of columns to the last pass."""
        last = self.passes[-1]
        self.passes[-1] = last._replace(objective=objective, active=active, output=output)


def _size(value: Any) -> int:
    """Return the number of bytes that travel."""
    return len(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))


def add(left: Any, right: Any) -> Any:
    """Return the sum of two results, lists of arrays or of such lists."""
    if isinstance(left, list):
        return [add(*pair) for pair in zip(left, right, strict=True)]
    return left + right


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads that sum over partitions: by default all cores, as BLAS uses them.

    The environment variable ``OMP_NUM_THREADS`` limits both.
    """
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    limit, cores = os.environ.get("OMP_NUM_THREADS", ""), int(cpu_count())
    return min(cores, int(limit)) if limit.isdigit() and int(limit) else cores


class LocalPartitions(Partitions):
    """Arrays in memory, in blocks of rows; several threads sum them."""

    def __init__(
        self, X: Any, y: Array, weight: Array, n_jobs: int | None = None, size: int = _ROWS_PER_PART
    ) -> None:
        self.starts = np.arange(0, X.shape[0], size)
        self.parts = [Part(X[i : i + size], y[i : i + size], weight[i : i + size]) for i in self.starts]
        self._n_threads = n_threads(n_jobs)
        super().__init__(len(self.parts))

    def _gather(
        self, function: Callable[..., Any], own: Sequence[Any], arguments: Sequence[Any]
    ) -> list[Any]:
        with ThreadPoolExecutor(self._n_threads) as pool:
            jobs = zip(self.parts, range(self.n_parts), own, strict=True)
            return list(pool.map(lambda job: function(*job, *arguments), jobs))

    def _total(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        with ThreadPoolExecutor(self._n_threads) as pool:
            return reduce(add, pool.map(lambda part: function(part, *arguments), self.parts))
