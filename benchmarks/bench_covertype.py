"""Forest cover types 1 and 2: a kernel machine on 400,000 rows within 8 GiB."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from laconism import SparseBayesClassifier

from ._harness import Bar, Cell, data_file, difference, ratio
from ._rivals import scores

METRICS = ("error", "log_loss", "kept")
RANK = 300
GAMMA = "scale"
ROWS = 495_141  # of classes 1 and 2
METHODS = ("laconism", "Nystroem + SGD", "HistGradientBoosting")


def cells(quick):
    n = int(0.8 * (4_000 if quick else ROWS))
    found = [Cell("covertype", method, n, 54, threads=2, limit=3600.0) for method in METHODS]
    return [*found, Cell("covertype", "laconism", n, 54, threads=1, limit=3600.0)]


def run(cell, watch):
    X, X_test, y, y_test = load(cell)
    model, row = watch(lambda: make(cell.method, X).fit(X, y))
    extra = (
        {"kept": model.n_relevant_, "message": model.status_.message}
        if cell.method == "laconism"
        else {}
    )
    yield {**row, **scores(model, X_test, y_test), **extra}


def load(cell):
    """Return the split of 80 and 20 per cent: floats, the ten measurements standardised."""
    data = data_file("covtype")
    two = np.flatnonzero(np.isin(data["y"], (1, 2)))
    if cell.quick:
        two = np.random.default_rng(0).choice(two, 4_000, replace=False)
    codes = [np.unique(data[name], return_inverse=True) for name in ("wilderness", "soil")]
    hot = [np.eye(len(levels), dtype=np.float32)[code[two]] for levels, code in codes]
    X = np.hstack([data["num"][two].astype(np.float32), *hot])
    X, X_test, y, y_test = train_test_split(X, data["y"][two], test_size=0.2, random_state=cell.seeds[0])
    scaler = StandardScaler().fit(X[:, :10])
    for part in (X, X_test):
        part[:, :10] = scaler.transform(part[:, :10])
    return X, X_test, y, y_test


def make(method, X):
    if method == "laconism":
        return SparseBayesClassifier(kernel="rbf", gamma=GAMMA, max_rank=RANK)
    if method == "HistGradientBoosting":
        return HistGradientBoostingClassifier(random_state=0)
    gamma = 1 / (X.shape[1] * float(X.var(dtype=float)))  # what "scale" means
    features = Nystroem(kernel="rbf", gamma=gamma, n_components=RANK, random_state=0)
    return make_pipeline(features, SGDClassifier(loss="log_loss", random_state=0))


def bars(rows):
    two = {"threads": 2}
    seconds = rows.median("seconds", method="laconism", **two)
    peak = rows.median("peak_mib", method="laconism", **two)
    found = [Bar("peak memory, two cores", ratio(peak, 1024), "<=", 8, " GiB")]
    for rival in METHODS[1:]:
        worse = difference(*(rows.mean("error", method=m, **two) for m in ("laconism", rival)))
        found.append(Bar(f"error above {rival}'s", worse))
        speed = ratio(rows.median("seconds", method=rival, **two), seconds)
        found.append(Bar(f"fit: times faster than {rival}", speed, unit="x"))
    one = rows.median("seconds", method="laconism", threads=1)
    found.append(Bar("two cores: times faster than one", ratio(one, seconds), unit="x"))
    return [*found, Bar("kernels kept", rows.median("kept", method="laconism", **two))]
