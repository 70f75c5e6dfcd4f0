"""Kernel classification of the moons beside fastrvm: error, log-loss and time.

fastrvm's likelihood is the logistic one, so the bars judge ours with that. The rows of the probit
likelihood, our default, and of the relevance vector machine by the evidence, which is fastrvm's own
model, stand beside them without a bar.
"""

from sklearn.datasets import make_moons

from laconic import RVMClassifier, SparseBayesClassifier

from ._harness import Bar, Cell, ratio, rival
from ._rivals import scores

METRICS = ("error", "log_loss", "kept")
PICTURES = [("time", "seconds", "moons"), ("memory", "beyond_mib", "moons")]

GAMMA = 1.0
NOISE = 0.25
# The methods differ by a per cent; draws of 200 rows do so by eight times as much, larger ones by less.
# It takes this many, each with test rows of its own.
SEEDS = {200: 100, 500: 40, 1_000: 20, 2_000: 10, 5_000: 5}
LIMIT = 600.0
# fastrvm has no intercept by default, laconic may have one. The moons are symmetric and need none.
INTERCEPT = {"fastrvm": False, "fastrvm with intercept": True}
OURS = {
    "laconic": {"likelihood": "logistic"},
    "laconic without intercept": {"likelihood": "logistic", "fit_intercept": False},
    "laconic probit": {},
    "laconic RVM": {"inference": "evidence"},
}
BESIDE = (
    ("both with intercept", "laconic", "fastrvm with intercept"),
    ("both without intercept", "laconic without intercept", "fastrvm"),
    ("ours probit", "laconic probit", "fastrvm"),
    ("ours RVM", "laconic RVM", "fastrvm"),
)


def cells(quick):
    seeds = {100: 2, 200: 2} if quick else SEEDS
    # At the largest size a fit with an intercept takes minutes: of those there is one.
    return [
        Cell("moons", method, n, 2, seeds=tuple(range(most)), limit=LIMIT)
        if n <= 2_000 or method != "fastrvm with intercept"
        else Cell("moons", method, n, 2, limit=LIMIT)
        for n, most in seeds.items()
        for method in (*OURS, *INTERCEPT)
    ]


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
            part = ratio(*rows.paired(column, "laconic", "fastrvm", n=n))
            found.append(Bar(f"{what} / fastrvm's, n = {n:,}", part, "<=", 1.0))
            for kind, ours, theirs in BESIDE:
                part = ratio(*rows.paired(column, ours, theirs, n=n))
                found.append(Bar(f"{what} / fastrvm's, n = {n:,}, {kind}", part))
        for method in INTERCEPT:
            speed = ratio(*(rows.median("seconds", method=m, n=n) for m in (method, "laconic")))
            bar = 10 if n == 2_000 else None
            found.append(Bar(f"fit, n = {n:,}: times faster than {method}", speed, ">=", bar, "x"))
        speed = ratio(*(rows.median("seconds", method=m, n=n) for m in ("fastrvm", "laconic RVM")))
        found.append(Bar(f"fit, n = {n:,}, ours RVM: times faster than fastrvm", speed, unit="x"))
    return found
