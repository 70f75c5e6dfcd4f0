"""Kernel classification of the moons beside fastrvm: error, log-loss and time."""

from sklearn.datasets import make_moons

from laconic import SparseBayesClassifier

from ._harness import Bar, Cell, ratio, rival
from ._rivals import scores

METRICS = ("error", "log_loss", "kept")
PICTURES = [("time", "seconds", "moons"), ("memory", "beyond_mib", "moons")]

GAMMA = 1.0
NOISE = 0.25
SIZES = (200, 500, 1_000, 2_000, 5_000)
LIMIT = 300.0
# fastrvm has no intercept by default and is faster without; laconic always has one.
INTERCEPT = {"fastrvm": False, "fastrvm with intercept": True}


def cells(quick):
    sizes, seeds = ((100, 200), 2) if quick else (SIZES, 5)
    # A cell has all seeds; the largest size gets one, so that its time limit is that of one fit.
    return [
        Cell("moons", method, n, 2, seeds=tuple(range(seeds)))
        if n <= 2_000
        else Cell("moons", method, n, 2, limit=LIMIT)
        for n in sizes
        for method in ("laconic", *INTERCEPT)
    ]


def run(cell, watch):
    X_test, y_test = make_moons(2_000 if cell.quick else 20_000, noise=NOISE, random_state=1_000)
    for seed in cell.seeds:
        X, y = make_moons(cell.n, noise=NOISE, random_state=seed)
        model, row = watch(lambda X=X, y=y: make(cell.method).fit(X, y))
        kept = model.n_relevant_ if cell.method == "laconic" else int(sum(model.n_relevance_))
        yield {**row, "seed": seed, **scores(model, X_test, y_test), "kept": kept}


def make(method):
    if method == "laconic":
        return SparseBayesClassifier(kernel="rbf", gamma=GAMMA)
    return rival("fastrvm").RVC(kernel="rbf", gamma=GAMMA, fit_intercept=INTERCEPT[method])


def bars(rows):
    found = []
    for n in rows.sizes():
        for column, what in (("error", "error"), ("log_loss", "log-loss")):
            part = ratio(*rows.paired(column, "laconic", "fastrvm", n=n))
            found.append(Bar(f"{what} / fastrvm's, n = {n:,}", part, "<=", 1.0))
        for method in INTERCEPT:
            speed = ratio(*(rows.median("seconds", method=m, n=n) for m in (method, "laconic")))
            bar = 10 if n == 2_000 else None
            found.append(Bar(f"fit, n = {n:,}: times faster than {method}", speed, ">=", bar, "x"))
    return found
