"""A million rows of a hundred dense features beside logistic regression by lbfgs."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from laconism import SparseBayesClassifier

from ._harness import Bar, Cell, ratio
from ._rivals import scores

METRICS = ("error", "log_loss", "kept")
RELEVANT = 20
METHODS = {"laconism": SparseBayesClassifier, "lbfgs": LogisticRegression}


def cells(quick):
    n, p = (5_000, 20) if quick else (1_000_000, 100)
    return [Cell("tall", method, n, p, threads=threads) for threads in (1, 2) for method in METHODS]


def run(cell, watch):
    rng = np.random.default_rng(cell.seeds[0])
    X = rng.standard_normal((cell.n + 10_000, cell.p))
    coef = np.zeros(cell.p)
    coef[: min(RELEVANT, cell.p // 2)] = 0.3
    y = (X @ coef + rng.standard_normal(len(X)) > 0).astype(int)
    model, row = watch(lambda: METHODS[cell.method]().fit(X[: cell.n], y[: cell.n]))
    kept = int(np.count_nonzero(model.coef_))
    yield {**row, **scores(model, X[cell.n :], y[cell.n :]), "kept": kept}


def bars(rows):
    found = []
    for threads, cores in ((1, "one core"), (2, "two cores")):
        speed = ratio(
            *(rows.median("seconds", method=m, threads=threads) for m in ("lbfgs", "laconism"))
        )
        found.append(Bar(f"fit, {cores}: times faster than lbfgs", speed, ">=", 1, "x"))
    beyond = ratio(*(rows.median("beyond_mib", method=m, threads=1) for m in ("laconism", "lbfgs")))
    return [*found, Bar("memory beyond X, times lbfgs's", beyond, unit="x")]
