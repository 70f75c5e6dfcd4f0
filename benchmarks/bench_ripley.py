"""Kernel classification of Ripley's problem beside SVC: fit, predict, error, a million rows."""

from sklearn.svm import SVC

from laconism import SparseBayesClassifier
from laconism.datasets import make_ripley

from ._harness import Bar, Cell, difference, ratio
from ._rivals import scores

METRICS = ("predict_seconds", "error", "log_loss", "kept")
PICTURES = [
    ("time", "seconds", "ripley"),
    ("memory", "beyond_mib", "ripley"),
    ("predict", "predict_seconds", "ripley"),
]

GAMMA = 2.0  # the paper's width, h = .5
SIZES = (500, 2_000, 5_000, 20_000, 50_000)
# How long a fit of few rows takes depends on the draw: the median of several is what counts.
FEW, SEEDS = 5_000, tuple(range(10))
MILLION = 1_000_000
METHODS = {
    "laconism": lambda: SparseBayesClassifier(kernel="rbf", gamma=GAMMA),
    "SVC": lambda: SVC(C=1.0, gamma=GAMMA),
}
FASTER = {2_000: 1, 20_000: 5, 50_000: 10}


def cells(quick):
    sizes = (200, 500, 2_000) if quick else SIZES
    million = 5_000 if quick else MILLION

    def seeds(n):
        return SEEDS if n <= FEW and not quick else SEEDS[:1]

    one = [Cell("ripley", method, n, 2, seeds=seeds(n)) for n in sizes for method in METHODS]
    two = [Cell("ripley", "laconism", n, 2, threads=2) for n in sizes]
    return [*one, *two, Cell("million", "laconism", million, 2, threads=2)]


def run(cell, watch):
    for seed in cell.seeds:
        yield {"seed": seed, **one(cell, seed, watch)}


def one(cell, seed, watch):
    X, y = make_ripley(cell.n, random_state=seed)
    X_test, y_test = make_ripley(1_000 if cell.quick else 20_000, random_state=1_000 + seed)
    model, row = watch(lambda: METHODS[cell.method]().fit(X, y))
    return {
        **row,
        "predict_seconds": watch.seconds(lambda: model.predict(X_test)),
        **scores(model, X_test, y_test),
        "kept": int(model.n_support_.sum()) if cell.method == "SVC" else model.n_relevant_,
    }


def bars(rows):
    found = []
    for n in rows.sizes(case="ripley"):
        at = {"case": "ripley", "n": n}
        svc = rows.median("seconds", method="SVC", **at)
        for threads in (1, 2):
            ours = rows.median("seconds", method="laconism", threads=threads, **at)
            bar = FASTER.get(n) if threads == 1 else None
            cores = "one core" if threads == 1 else "two cores (SVC uses one)"
            found.append(
                Bar(f"fit, n = {n:,}, {cores}: times faster than SVC", ratio(svc, ours), ">=", bar, "x")
            )
        one = {**at, "threads": 1}
        speed = ratio(*(rows.median("predict_seconds", method=m, **one) for m in ("SVC", "laconism")))
        bar = 100 if n == 20_000 else None
        found.append(Bar(f"predict, n = {n:,}: times faster than SVC", speed, ">=", bar, "x"))
        worse = difference(*(rows.mean("error", method=m, **one) for m in ("laconism", "SVC")))
        found.append(Bar(f"error above SVC's, n = {n:,}", worse, "<=", 0.002))
    peak = rows.median("peak_mib", case="million", n=MILLION)
    found.append(Bar("a million rows, two cores: peak memory", ratio(peak, 1024), "<=", 8, " GiB"))
    found.append(
        Bar(
            "a million rows, two cores: time",
            rows.median("seconds", case="million", n=MILLION),
            "<=",
            120,
            " s",
        )
    )
    return found
