"""Many files as one Dask dataframe, and the cluster that reads them."""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

from .console import UserError
from .tables import MISSING, decoded


@dataclass(frozen=True)
class Cluster:
    """Where the work is done: a scheduler's address, or a number of processes on this machine."""

    scheduler: str | None = None
    workers: int | None = None

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Connect to the scheduler, or start one that ends with the block."""
        check_installed()
        import dask
        from distributed import LocalCluster
        from joblib import cpu_count

        if self.scheduler is not None and self.workers is not None:
            raise UserError("--workers starts processes on this machine; leave it out with --scheduler.")
        with ExitStack() as stack:
            # Features and target come from one task, so that a file is read once for both.
            stack.enter_context(dask.config.set({"optimization.fuse.active": False}))
            where: Any = self.scheduler
            if where is None:
                n_workers = self.workers or cpu_count()
                where = stack.enter_context(
                    LocalCluster(
                        n_workers=n_workers,
                        threads_per_worker=1,
                        dashboard_address=None,
                        silence_logs=logging.CRITICAL,  # an error is one sentence, by the command itself
                    )
                )
            yield stack.enter_context(_connect(where))


def find_files(path: str) -> list[str]:
    """Return the files of a pattern, or raise if there are none or the first is empty."""
    if path == "-":
        raise UserError("--engine dask reads files, not stdin.")
    found = [path] if "://" in path else sorted(glob(path))
    if not found:
        raise UserError(f"{path}: no such file.")
    if Path(found[0]).is_file() and not Path(found[0]).stat().st_size:
        raise UserError(f"{found[0]} is empty.")
    return found


def check_installed() -> None:
    """Raise if Dask is not installed."""
    try:
        import dask.dataframe  # noqa: F401
        import distributed  # noqa: F401
    except ImportError:
        raise UserError(
            '--engine dask needs the packages dask and distributed: pip install "laconism[dask]".'
        ) from None


def _connect(where: Any) -> Any:
    from distributed import Client

    try:
        return Client(where, timeout=10)
    except (OSError, ValueError) as error:
        raise UserError(
            f"There is no scheduler at {where}; start one with `dask scheduler`, or leave out "
            "--scheduler."
        ) from error


def read_files(path: str, missing: Sequence[str] = (), text: Sequence[str] = ()) -> Any:
    """Return the dataframe of one file or many, Parquet or CSV, which is not yet read.

    ``missing`` has further texts that mean a missing value, ``text`` the columns to read as text.
    """
    import dask.dataframe as dd

    found = find_files(path)
    if _is_parquet(found[0]):
        frame = dd.read_parquet(path)
        for name in frame.select_dtypes("object").columns:  # bytes or lists; text has a type
            frame[name] = frame[name].map_partitions(decoded, meta=frame._meta[name])
    else:
        frame = dd.read_csv(
            path,
            sep="\t" if Path(found[0]).suffix.lower() in (".tsv", ".tab") else ",",
            keep_default_na=False,
            na_values=[*MISSING, *missing],
            dtype=dict.fromkeys(text, str),
            assume_missing=True,  # whole numbers may be missing in a later file
            skipinitialspace=True,
        )
    if any(not isinstance(name, str) for name in frame.columns):
        frame = frame.rename(columns={name: str(name) for name in frame.columns})
    return frame


def _is_parquet(name: str) -> bool:
    """Return whether a file, or a folder of files, is Parquet."""
    if "://" in name or Path(name).is_dir():
        return not name.lower().endswith((".csv", ".tsv", ".tab", ".txt"))
    with Path(name).open("rb") as file:
        return file.read(4) == b"PAR1"


def compute(tasks: Sequence[Any]) -> list[Any]:
    """Return the results of tasks."""
    import dask

    with _plain_errors():
        return list(dask.compute(*tasks))


def in_order(client: Any, tasks: Sequence[Any]) -> Iterator[Any]:
    """Yield the results of tasks in order; few of them are held at a time."""
    ahead: deque[Any] = deque()
    most = 2 * sum(client.nthreads().values())
    with _plain_errors():
        for task in tasks:
            ahead.append(client.compute(task))
            if len(ahead) > most:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Turn Dask's page about a column of a CSV file that changes its type into a sentence."""
    try:
        yield
    except ValueError as error:
        found = re.search(r"Mismatched dtypes.*?Expected.*?\n\| (.*?) +\|", str(error), re.DOTALL)
        if found is None:
            raise
        raise UserError(
            f"Column {found[1]} has text where its first rows have numbers; correct it, or call the "
            "text missing with --missing."
        ) from error
