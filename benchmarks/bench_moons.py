"""Kernel classification of the moons beside fastrvm: error, log-loss and time.

Like is compared with like: fastrvm is a relevance vector machine, and so is what the bars judge, ours by
the evidence. The Jeffreys prior is shown beside it without a bar, with fastrvm's logistic likelihood and
with the probit (docs/decisions/068). CPU seconds of one core are compared, which other work on the
machine hardly changes.
"""

from sklearn.datasets import make_moons

from laconism import RVMClassifier, SparseBayesClassifier

from ._harness import Bar, Cell, ratio, rival
from ._rivals import scores

METRICS = ("error", "log_loss", "kept")
PICTURES = [("time", "cpu_seconds", "moons"), ("memory", "beyond_mib", "moons")]

GAMMA = 1.0
NOISE = 0.25
# The methods differ by a per cent; draws of 200 rows do so by eight times as much, larger ones by less.
# It takes this many, each with test rows of its own.
SEEDS = {200: 400, 500: 40, 1_000: 40, 2_000: 20, 5_000: 20}
FIRST_SEED = 100
LIMIT = 1_800.0
# fastrvm has no intercept by default, laconism may have one. The moons are symmetric and need none.
INTERCEPT = {"fastrvm": False, "fastrvm with intercept": True}
JUDGED = "laconism RVM"
OURS = {
    JUDGED: {"inference": "evidence"},
    "laconism": {"likelihood": "logistic"},
    "laconism without intercept": {"likelihood": "logistic", "fit_intercept": False},
    "laconism probit": {},
}
BESIDE = (
    ("both with intercept", JUDGED, "fastrvm with intercept"),
    ("Jeffreys", "laconism", "fastrvm"),
    ("Jeffreys, both with intercept", "laconism", "fastrvm with intercept"),
    ("Jeffreys, both without intercept", "laconism without intercept", "fastrvm"),
    ("Jeffreys, probit", "laconism probit", "fastrvm"),
)


def cells(quick):
    sizes = {100: 2, 200: 2} if quick else SEEDS
    return [
        Cell("moons", method, n, 2, seeds=draws(method, n, most), limit=LIMIT)
        for n, most in sizes.items()
        for method in (*OURS, *INTERCEPT)
    ]


def draws(method, n, most):
    """Return the seeds of a size; its largest fits with an intercept take minutes: of those one."""
    if n > 2_000 and method == "fastrvm with intercept":
        most = 1
    return tuple(range(FIRST_SEED, FIRST_SEED + most))


def run(cell, watch):
    n_test = 2_000 if cell.quick else 20_000
    for seed in cell.seeds:
        X, y = make_moons(cell.n, noise=NOISE, random_state=seed)
        X_test, y_test = make_moons(n_test, noise=NOISE, random_state=1_000 + seed)
        model, row = watch(lambda X=X, y=y: make(cell.method).fit(X, y))
        kept = model.n_relevant_ if cell.method in OURS else int(sum(model.n_relevance_))
        yield {**row, "seed": seed, **scores(model, X_test, y_test), "kept": kept}


def make(method):
    if method in OURS:
        estimator = RVMClassifier if "RVM" in method else SparseBayesClassifier
        return estimator(kernel="rbf", gamma=GAMMA, **OURS[method])
    return rival("fastrvm").RVC(kernel="rbf", gamma=GAMMA, fit_intercept=INTERCEPT[method])


def bars(rows):
    found = []
    for n in rows.sizes():
        for column, what in (("error", "error"), ("log_loss", "log-loss")):
            part, error = rows.quotient(column, JUDGED, "fastrvm", n=n)
            found.append(Bar(f"{what} / fastrvm's, n = {n:,}", part, "<=", 1.0, error=error))
            for kind, ours, theirs in BESIDE:
                part, error = rows.quotient(column, ours, theirs, n=n)
                found.append(Bar(f"{what} / fastrvm's, n = {n:,}, {kind}", part, error=error))
        for ours, kind in ((JUDGED, ""), ("laconism", ", Jeffreys")):
            for theirs in INTERCEPT:
                speed = ratio(*(rows.median("cpu_seconds", method=m, n=n) for m in (theirs, ours)))
                what = f"fit, n = {n:,}{kind}: times faster than {theirs}"
                bar = 10 if n == 2_000 and ours == JUDGED else None
                found.append(Bar(what, speed, ">=", bar, "x"))
    return found
