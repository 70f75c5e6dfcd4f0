"""Rows in Parquet files, workers of 2 GiB: the Dask estimators, and what else one would take.

Half of the twenty features are informative, most of them only together. ``local`` is a fit of 200,000
rows on one machine; ``in memory`` is the same code on plain arrays; ``out of core`` has one worker of
1 GiB and 5 GiB of rows with a thousand features, of which twenty count.
"""

import resource
import tempfile
from pathlib import Path

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss

from laconism import LaconicClassifier, SparseBayesClassifier

from ._harness import Bar, Cell, ratio

METRICS = ("error", "log_loss", "kept", "passes", "worker_mib")
P = 20
ROWS_PER_FILE = 250_000
TEST_ROWS = 200_000
LOCAL_ROWS = 200_000
WORKER_MEMORY = "2GiB"
MAX_PASSES = 20
TREES = 100
SIZES = (1_000_000, 5_000_000, 20_000_000)
# Workers are compared on this many rows.
ROWS_OF_WORKERS = SIZES[1]
LIMIT = 7_200.0
WIDE_P = 1_000
WIDE_ROWS = 672_000
WIDE_ROWS_PER_FILE = 8_000
WIDE_WORKER_MEMORY = "1GiB"


def sample(n, seed):
    """Return rows like those of a collision: ten features that count, mostly in products."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, P), dtype=np.float32)
    f = np.sin(X[:, 0]) * X[:, 1] + 0.5 * (X[:, 2] ** 2 - 1) + X[:, 3] * X[:, 4] - np.abs(X[:, 5]) + 0.8
    f = f + 0.5 * X[:, 6] * np.tanh(X[:, 7]) + 0.3 * X[:, 8] + 0.3 * X[:, 9]
    return X, (f + 0.5 * rng.logistic(size=n) > 0).astype(np.int8)


def wide_sample(n, seed):
    """Return rows of a thousand features, twenty of which count."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, WIDE_P))
    f = X[:, :20] @ np.linspace(1.0, 0.1, 20)
    return X, (f + rng.logistic(size=n) > 0).astype(np.int8)


def files(n, draw=sample, n_per_file=ROWS_PER_FILE):
    """Return a folder with the rows as Parquet files, written once."""
    import pandas as pd

    folder = Path(tempfile.gettempdir()) / f"laconism-dask-{draw.__name__}-{n}"
    parts = -(-n // n_per_file)
    folder.mkdir(exist_ok=True)
    for part in range(parts):
        path = folder / f"part-{part:04d}.parquet"
        if not path.exists():
            X, y = draw(min(n_per_file, n), part + 1)
            frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])]).assign(y=y)
            frame.to_parquet(path.with_suffix(".new"))
            path.with_suffix(".new").rename(path)
    return folder


def cells(quick):
    sizes = (50_000,) if quick else SIZES
    found = [
        Cell("parquet", method, n, P, limit=LIMIT, options={"workers": 2})
        for n in sizes
        for method in ("sparse", "laconic", "lightgbm", "sgd")
    ]
    if quick:
        return found[:1]
    one = {"limit": LIMIT, "options": {"workers": 1}}
    found += [Cell("one worker", "sparse", ROWS_OF_WORKERS, P, **one)]
    found += [Cell("out of core", "sparse", WIDE_ROWS, WIDE_P, **one)]
    found += [Cell("local", method, LOCAL_ROWS, P, threads=2) for method in ("sparse", "laconic")]
    return found + [Cell("in memory", "laconic", n, P, threads=2) for n in (200_000, 1_000_000)]


def run(cell, watch):
    watch.repeats = 1
    wide = cell.case == "out of core"
    X_test, y_test = wide_sample(20_000, 0) if wide else sample(5_000 if cell.quick else TEST_ROWS, 0)
    if cell.case in ("local", "in memory"):
        X, y = sample(cell.n, 1)
        local = {"sparse": lambda: SparseBayesClassifier(kernel="rbf"), "laconic": LaconicClassifier}
        model, row = watch(lambda: local[cell.method]().fit(X, y))
        yield {**row, **figures(model, X_test, y_test)}
        return
    folder = files(cell.n, wide_sample, WIDE_ROWS_PER_FILE) if wide else files(cell.n)
    if cell.method == "sgd":
        model, row = watch(lambda: descend(folder))
        yield {**row, **figures(model, X_test, y_test)}
        return
    from distributed import Client, LocalCluster

    settings = {"n_workers": cell.options["workers"], "threads_per_worker": 1}
    settings["memory_limit"] = WIDE_WORKER_MEMORY if wide else WORKER_MEMORY
    with (
        LocalCluster(**settings, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        model, row = watch(lambda: fit(cell, client, folder))
        peaks = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        passes = len(model.history_) if hasattr(model, "history_") else np.nan
        local = model.to_local()
        more = {"passes": passes, "worker_mib": max(peaks.values())}
        yield {**row, **figures(local, X_test, y_test), **more}


def fit(cell, client, folder):
    """Fit one of the estimators that work on the cluster."""
    import dask.dataframe as dd

    from laconism.dask import DaskLaconicClassifier, DaskSparseBayesClassifier

    frame = dd.read_parquet(folder)
    X, y = frame.drop(columns="y"), frame["y"]
    if cell.method == "lightgbm":
        from lightgbm import DaskLGBMClassifier

        frame = frame.persist()  # else Dask joins the partitions of the target
        X, y = frame.drop(columns="y"), frame["y"]
        return DaskLGBMClassifier(n_estimators=TREES, client=client, verbose=-1).fit(X, y)
    if cell.method == "sparse":
        kernel = None if cell.case == "out of core" else "rbf"
        return DaskSparseBayesClassifier(kernel=kernel, client=client).fit(X, y)
    return DaskLaconicClassifier(client=client).fit(X, y)


def descend(folder, epochs=2):
    """Fit a linear model by stochastic gradient descent over the files, standardised by the first."""
    import pandas as pd

    model, centre, scale = SGDClassifier(loss="log_loss", random_state=0), None, None
    for _ in range(epochs):
        for path in sorted(folder.glob("*.parquet")):
            frame = pd.read_parquet(path)
            X, y = frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()
            if centre is None:
                centre, scale = X.mean(axis=0), X.std(axis=0)
            model.partial_fit((X - centre) / scale, y, classes=[0, 1])
    model.coef_ = model.coef_ / scale
    model.intercept_ = model.intercept_ - model.coef_ @ centre
    return model


def figures(model, X, y):
    """Return error, log-loss and size of a model."""
    proba = np.asarray(model.predict_proba(X))
    size = getattr(model, "n_relevant_", None)
    if size is None:
        size = getattr(model, "n_estimators", X.shape[1])
    return {
        "error": float(np.mean(proba.argmax(axis=1) != y)),
        "log_loss": float(log_loss(y, proba)),
        "kept": size,
    }


def bars(rows):
    found, largest = [], SIZES[-1]

    def at(column, method, n=largest, case="parquet"):
        return rows.median(column, case=case, method=method, n=n)

    for method in ("sparse", "laconic"):
        found.append(
            Bar(f"{method}: passes at {largest:,} rows", at("passes", method), "<=", MAX_PASSES)
        )
        peak = ratio(at("worker_mib", method), 1024)
        found.append(Bar(f"{method}: peak memory of a worker", peak, "<=", 2, " GiB"))
        for rival, case, n in (("sgd", "parquet", largest), (method, "local", LOCAL_ROWS)):
            worse = _difference(at("log_loss", method), at("log_loss", rival, n, case))
            found.append(Bar(f"{method}: log-loss above that of {rival}, {case}", worse, "<=", 0))
        slope = _slope([(n, at("seconds", method, n)) for n in SIZES])
        found.append(Bar(f"{method}: exponent of time in rows", slope, "<=", 1.05))
        found.append(
            Bar(f"{method}: time of lightgbm's", ratio(at("seconds", method), at("seconds", "lightgbm")))
        )
        worse = _difference(at("log_loss", method), at("log_loss", "lightgbm"))
        found.append(Bar(f"{method}: log-loss above that of lightgbm", worse))
    speed = ratio(
        *(at("seconds", "sparse", ROWS_OF_WORKERS, case) for case in ("one worker", "parquet"))
    )
    found.append(Bar("sparse: two workers instead of one", speed, ">=", 1.7, "x"))
    peak = ratio(at("worker_mib", "sparse", WIDE_ROWS, "out of core"), 1024)
    found.append(Bar("5 GiB on disk: peak memory of the worker", peak, "<=", 1, " GiB"))
    for n, seconds, gib in ((200_000, 60, 2), (1_000_000, 300, 6)):
        used = ratio(at("peak_mib", "laconic", n, "in memory"), 1024)
        what = f"in memory, {n:,} rows"
        found.append(Bar(f"{what}: seconds", at("seconds", "laconic", n, "in memory"), "<=", seconds))
        found.append(Bar(f"{what}: memory", used, "<=", gib, " GiB"))
    return found


def _difference(left, right):
    return None if left is None or right is None else left - right


def _slope(points):
    """Return the exponent of time in the number of rows."""
    known = [(n, seconds) for n, seconds in points if seconds]
    if len(known) < 2:
        return None
    n, seconds = np.log(np.array(known)).T
    return float(np.polyfit(n, seconds, 1)[0])
