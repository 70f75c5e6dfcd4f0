"""A hundred rows: a million dense features, and liblinear's L1 at 20,000.

The flagship on gene sets and 20,000 features, beside ``LogisticRegressionCV``.
"""

import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from laconism import LaconicClassifier, SparseBayesClassifier
from laconism.priors import Laplace

from ._development import PROBLEMS
from ._harness import Bar, Cell, ratio
from ._rivals import L1_LIBRARIES, beside, l1_as_sparse, scores

METRICS = ("error", "log_loss", "kept", "C")
MILLION = 1_000_000
RELEVANT = 3
WEIGHT = 3.0
# Of the Laplace fit: large enough for a sparse model of a hundred rows.
RATE = 5.0
# Sets of the development suite whose features outnumber their rows, and a generated one.
GENES = ("colon", "leukemia", "gravier", "srbct", "arcene")
FLAGSHIP = {
    "laconic": LaconicClassifier,
    "logistic cv": lambda: make_pipeline(StandardScaler(), LogisticRegressionCV(max_iter=1000)),
}
MAX_TIME_RATIO = 3
PRIORS = {"jeffreys": "jeffreys", "laplace": Laplace(rate=RATE)}


def cells(quick):
    p, million = (2_000, 20_000) if quick else (20_000, MILLION)
    million = [
        Cell("million", f"laconism {prior}", 100, million, options={"prior": prior}) for prior in PRIORS
    ]
    wide = [
        Cell("wide", method, 100, p, options={"prior": prior})
        for prior in PRIORS
        for method in beside(prior)
    ]
    genes = [PROBLEMS[name] for name in (() if quick else GENES)]
    shapes = [("flagship", 100, p), *((each.name, each.n, each.p) for each in genes)]
    return million + wide + [Cell(name, method, n, q) for name, n, q in shapes for method in FLAGSHIP]


def run(cell, watch):
    if cell.method in FLAGSHIP:
        sampled = cell.case == "flagship"
        data = (
            draw(cell.n, cell.p, cell.seeds[0]) if sampled else PROBLEMS[cell.case].make(cell.seeds[0])
        )
        model, row = watch(lambda: FLAGSHIP[cell.method]().fit(*data[:2]))
        yield {
            **row,
            **scores(model, *data[2:]),
            "kept": getattr(model, "n_relevant_", data[0].shape[1]),
        }
        return
    X, y, X_test, y_test = draw(cell.n, cell.p, cell.seeds[0])
    model = SparseBayesClassifier(prior=PRIORS[cell.options["prior"]])
    extra = {}
    library = cell.method.split()[0]
    if library in L1_LIBRARIES:
        kept = model.fit(X, y).n_relevant_
        model, extra["C"] = l1_as_sparse(library, X, y, max(kept, 1))
    model, row = watch(lambda: model.fit(X, y))
    yield {**row, **scores(model, X_test, y_test), "kept": int(np.count_nonzero(model.coef_)), **extra}


def draw(n, p, seed, n_test=200):
    """Return a probit problem of few relevant features, drawn in place: nothing beside X itself."""
    rng = np.random.default_rng(seed)
    X, X_test = np.empty((n, p)), np.empty((n_test if p <= 20_000 else 10, p))
    rng.standard_normal(out=X)
    rng.standard_normal(out=X_test)
    relevant = rng.choice(p, RELEVANT, replace=False)
    coef = rng.choice([-WEIGHT, WEIGHT], RELEVANT)
    y, y_test = (Z[:, relevant] @ coef + rng.standard_normal(len(Z)) > 0 for Z in (X, X_test))
    return X, y.astype(int), X_test, y_test.astype(int)


def bars(rows):
    found = []
    for prior in PRIORS:
        beyond = ratio(rows.median("beyond_mib", case="million", method=f"laconism {prior}"), 1024)
        found.append(Bar(f"p = 1,000,000, {prior}: memory beyond X", beyond, "<=", 4, " GiB"))
    for prior in PRIORS:
        for library, bar in (("liblinear", 1), ("skglm", None)):
            methods = (f"{library} as sparse as {prior}", f"laconism {prior}")
            speed = ratio(*(rows.median("seconds", case="wide", method=m) for m in methods))
            found.append(Bar(f"wide, {prior}: times faster than {library} L1", speed, ">=", bar, "x"))
    for case in ("flagship", *GENES):
        spent = (rows.median("cpu_seconds", case=case, method=method) for method in FLAGSHIP)
        what = f"{case}: CPU time of the flagship, of LogisticRegressionCV's"
        found.append(Bar(what, ratio(*spent), "<=", MAX_TIME_RATIO, "x"))
    return found
