"""Handwritten digits: 60,000 rows, ten classes, beside SVC on 10,000."""

import numpy as np
from sklearn.svm import SVC

from laconism import SparseBayesClassifier
from laconism.priors import Laplace

from ._harness import Bar, Cell, data_file, difference, ratio
from ._rivals import scores

METRICS = ("predict_seconds", "error", "log_loss", "kept", "kept_per_class")

# The kernel on pixels / 255, the number of centres, the prior: width and rate were chosen on held-out
# training rows (of .01, .02, .03 and .3, .1 on 4,000 rows), never on the test set.
GAMMA = 0.02
MAX_RANK = 3000
PRIOR = Laplace(rate=0.1)
JOBS = 2
SVC_ROWS = 10_000
MINUTES = 30


def cells(quick):
    n, few = (2_000, 2_000) if quick else (60_000, SVC_ROWS)
    return [
        Cell("mnist", "laconism", n, 784, threads=JOBS, limit=2 * 60.0 * MINUTES),
        Cell("mnist", "SVC", few, 784, threads=1),
    ]


def run(cell, watch):
    data = data_file("mnist")
    X, X_test = (pixels(data[name]) for name in ("x_train", "x_test"))
    y, y_test = data["y_train"], data["y_test"]
    if cell.n < len(X):
        chosen = np.random.default_rng(cell.seeds[0]).choice(len(X), cell.n, replace=False)
        X, y = X[chosen], y[chosen]
    model, row = watch(lambda: make(cell.method).fit(X, y))
    row["predict_seconds"] = watch.seconds(lambda: model.predict(X_test))
    if cell.method == "laconism":
        counts = np.count_nonzero(model.dual_coef_, axis=1)
        row |= {"kept": model.n_relevant_, "kept_per_class": float(counts.mean())}
        row["message"] = model.status_.message
    else:
        row["kept"] = int(model.n_support_.sum())
    yield {**row, **scores(model, X_test, y_test)}


def pixels(images):
    return images.reshape(len(images), -1).astype(np.float32) / 255


def make(method):
    if method == "SVC":
        return SVC(C=10.0, gamma=GAMMA)
    return SparseBayesClassifier(prior=PRIOR, kernel="rbf", gamma=GAMMA, max_rank=MAX_RANK, n_jobs=JOBS)


def bars(rows):
    error = rows.mean("error", method="laconism")
    svc = rows.mean("error", method="SVC")
    per_row = [ratio(rows.median("predict_seconds", method=m), 1) for m in ("SVC", "laconism")]
    return [
        Bar("error", None if error is None else 100 * error, "<=", 2.5, " %"),
        Bar(
            "time, two cores",
            ratio(rows.median("seconds", method="laconism"), 60),
            "<=",
            MINUTES,
            " min",
        ),
        Bar("kernels per class", rows.mean("kept_per_class", method="laconism")),
        Bar("kernels of all classes", rows.median("kept", method="laconism")),
        Bar("error above that of SVC on fewer rows", difference(error, svc)),
        Bar("predict: times faster than SVC on fewer rows", ratio(*per_row), unit="x"),
    ]
