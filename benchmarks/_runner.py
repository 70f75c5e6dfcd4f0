"""Run cells in processes of their own and keep what they say."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from dataclasses import replace

from ._harness import HERE, Rows, Skip, Watch, as_dict, from_dict, registry, versions

COMMON = [
    "taken", "case", "method", "n", "p", "seed", "threads", "status", "seconds", "cpu_seconds",
    "repeats", "peak_mib", "beyond_mib",
]  # fmt: skip
LAST = ["message", "versions"]
KEY = ("case", "method", "n", "p", "seed", "threads")
MARK = "RESULT "
POOLS = ("OPENBLAS", "OMP", "MKL", "BLIS", "VECLIB", "NUMEXPR", "LOKY")


# ---- the child -----------------------------------------------------------------------------------


def child(name, text):
    """Run one cell here, under its thread limits, and write a line per row."""
    from threadpoolctl import threadpool_limits

    cell = from_dict(json.loads(text))
    bench = registry()[name]
    try:
        with threadpool_limits(limits=cell.threads):
            for row in bench.run(cell, Watch(cell.quick)):
                say({"status": "ok", **row})
    except Skip as reason:
        say({"status": "skipped", "message": str(reason)})
    except Exception as error:
        traceback.print_exc()
        say({"status": "failed", "message": without_paths(f"{type(error).__name__}: {error}")})


def say(row):
    """Write one row for the parent; numpy's numbers become Python's."""
    print("\n" + MARK + json.dumps(row, default=lambda value: value.item()), flush=True)


def without_paths(text):
    """Return the first line without what it says about this machine."""
    return re.sub(r"(/[^\s:'\"]+)+/", ".../", text.splitlines()[0] if text else "")[:300]


# ---- the parent ----------------------------------------------------------------------------------


def run_cell(name, cell):
    """Return the rows of one cell, run in a fresh process."""
    env = {**os.environ, **{f"{pool}_NUM_THREADS": str(cell.threads) for pool in POOLS}}
    env["LOKY_MAX_CPU_COUNT"] = env.pop("LOKY_NUM_THREADS")
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "benchmarks",
        "_cell",
        name,
        json.dumps(as_dict(cell)),
    ]
    process = subprocess.Popen(
        command, cwd=HERE.parent, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    over = False
    try:
        out, err = process.communicate(timeout=cell.limit)
    except subprocess.TimeoutExpired:
        over = True
        os.killpg(process.pid, signal.SIGKILL)  # its own session: the cell and its workers only
        out, err = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    rows = [json.loads(line[len(MARK) :]) for line in out.splitlines() if line.startswith(MARK)]
    if over:
        rows.append({"status": "time limit", "message": f"not finished within {cell.limit:g} s"})
    elif not rows or process.returncode:
        lines = err.strip().splitlines() or [f"the process ended with code {process.returncode}"]
        rows.append({"status": "failed", "message": without_paths(lines[-1])})
    last = rows[-1]
    if last["status"] == "failed":
        sys.stderr.write(err)
    if last["status"] != "ok":  # it is about the first seed that has no row yet
        finished = {row.get("seed") for row in rows}
        last["seed"] = next((seed for seed in cell.seeds if seed not in finished), cell.seeds[0])
    return rows


def choose(name, bench, folder, options):
    """Return the cells of one benchmark that the options of the command line ask for."""
    most = options.limit or float("inf")
    cells = [
        replace(c, quick=options.quick, limit=min(c.limit, most)) for c in bench.cells(options.quick)
    ]
    cells = [cell for cell in cells if options.threads in (None, cell.threads)]
    if options.only:
        cells = [cell for cell in cells if options.only in str(cell)]
    if options.missing:
        known = {tuple(row[key] for key in KEY) for row in read(folder / f"{name}.csv").where()}
        cells = [cell for cell in cells if not known.issuperset(keys(cell))]
    return cells


def keys(cell):
    """Return what identifies each row of a cell."""
    described = describe(cell)
    return {tuple({**described, "seed": seed}[key] for key in KEY) for seed in cell.seeds}


def run(name, bench, cells, *, folder, report):
    """Run cells of one benchmark, writing each row as soon as it is there."""
    path = folder / f"{name}.csv"
    columns = [*COMMON, *bench.METRICS, *LAST]
    for count, cell in enumerate(cells, start=1):
        with report.busy(f"{name} {count}/{len(cells)}: {cell}"):
            rows = run_cell(name, cell)
        described = [{**describe(cell), **row} for row in rows]
        append(path, columns, described)
        report.line(f"{name} {count}/{len(cells)}: {cell}: {outcome(described)}")


def describe(cell):
    """Return what every row of a cell says about it."""
    return {
        "taken": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "case": cell.case,
        "method": cell.method,
        "n": cell.n,
        "p": cell.p,
        "seed": cell.seeds[0],
        "threads": cell.threads,
        "versions": versions(),
    }


def outcome(rows):
    """Return a few words about the rows of a cell."""
    bad = [row for row in rows if row["status"] != "ok"]
    if bad:
        return f"{bad[0]['status']}: {bad[0]['message']}"
    last = rows[-1]
    words = [f"{last['seconds']:.3g} s"] if "seconds" in last else []
    words += [f"{last['beyond_mib']:.0f} MiB beyond the data"] if "beyond_mib" in last else []
    told = ("error", "log_loss", "rmse", "log_density", "kept", "solves")
    words += [f"{key} {last[key]:.3g}" for key in told if key in last]
    return ", ".join(words) or "done"


# ---- results -------------------------------------------------------------------------------------


def append(path, columns, rows):
    """Add rows to a file of results and see them on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    old = read(path, latest=False)
    header = None
    if path.exists():
        with path.open(newline="") as file:
            header = next(csv.reader(file), None)
    if header != columns:  # new, or written when the benchmark measured something else
        fresh = path.with_suffix(".new")
        _write(fresh, "w", columns, old, header=True)
        fresh.replace(path)
    _write(path, "a", columns, rows, header=False)


def _write(path, mode, columns, rows, *, header):
    with path.open(mode, newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        if header:
            writer.writeheader()
        writer.writerows({key: _excess_variance(value) for key, value in row.items()} for row in rows)
        file.flush()
        os.fsync(file.fileno())


def _excess_variance(value):
    return f"{value:.6g}" if isinstance(value, float) else value


def read(path, *, latest=True):
    """Return the rows of a file, numbers as numbers; of equal descriptions the latest only."""
    if not path.exists():
        return Rows()
    with path.open(newline="") as file:
        rows = [{key: _number(value) for key, value in row.items()} for row in csv.DictReader(file)]
    if latest:
        rows = list({tuple(row[key] for key in KEY): row for row in rows}.values())
    return Rows(rows)


def _number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except (TypeError, ValueError):
            continue
    return text
