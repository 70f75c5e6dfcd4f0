"""Run the cells that have no result yet, one after the other or several at a time."""

import contextlib
import re
import time
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed

from threadpoolctl import threadpool_limits

from . import _store
from ._declare import Skip, load


def run(name, *, quick, jobs, folder, report):
    """Run what is missing of one experiment; return how many cells failed."""
    experiment = load(name)
    cells = experiment.cells(quick)
    path = folder / f"{name}.csv"
    header = _store.columns(experiment.METRICS)
    known = _store.finished(_store.read(path))
    missing = [cell for cell in cells if cell.key not in known]
    failed, skipped = 0, {}
    with report.progress(name, len(cells), len(cells) - len(missing)) as advance:
        for cell, row in _rows(name, missing, jobs):
            if row["status"] == "skipped":  # not a result: another time the data may be there
                skipped.setdefault(row["message"], []).append(cell)
            else:
                _store.append(path, header, row)
            if row["status"] == "failed":
                failed += 1
                report.line(f"{name}: {cell}: failed: {row['message']}")
            advance(str(cell))
    for message, cells_ in skipped.items():
        report.line(f"{name}: {len(cells_)} cells skipped: {message}")
    done = len(cells) - failed - sum(map(len, skipped.values()))
    report.line(f"{name}: {done} of {len(cells)} cells have results, {len(missing)} were run now")
    return failed


def _rows(name, cells, jobs):
    if jobs == 1 or len(cells) < 2:
        yield from ((cell, run_cell(name, cell)) for cell in cells)
        return
    with ProcessPoolExecutor(jobs) as pool:
        futures = {pool.submit(run_cell, name, cell): cell for cell in cells}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def run_cell(name, cell):
    """Return the row of one cell, on one thread; what goes wrong is a status and a sentence."""
    began = time.perf_counter()
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")  # rivals that do not converge are measured as they are
            stack.enter_context(threadpool_limits(limits=1))
            numbers = load(name).run(cell)
    except Skip as reason:
        return _store.describe(cell, "skipped", 0.0, str(reason))
    except Exception as error:
        traceback.print_exc()
        message = _without_paths(f"{type(error).__name__}: {error}")
        return _store.describe(cell, "failed", time.perf_counter() - began, message)
    return {**_store.describe(cell, "ok", time.perf_counter() - began), **numbers}


def _without_paths(text):
    """Return the first line without what it says about this machine."""
    return re.sub(r"(/[^\s:'\"]+)+/", ".../", text.splitlines()[0] if text else "")[:300]
