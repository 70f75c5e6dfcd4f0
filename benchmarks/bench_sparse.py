"""Sparse rows stay sparse: a9a and 50,000 x 100,000, beside liblinear's L1 at the same sparsity."""

import numpy as np
from scipy.sparse import csr_matrix

from laconism import SparseBayesClassifier
from laconism.priors import Laplace

from ._harness import Bar, Cell, data_file, ratio
from ._rivals import L1_LIBRARIES, beside, l1_as_sparse, scores

METRICS = ("error", "log_loss", "kept", "C", "dense_mib", "csr_mib")
RELEVANT = 50
# Rates of the Laplace fits: about half of a9a's features, and some hundreds of the generated ones.
RATES = {"a9a": 10.0, "generated": 20.0}
PRIORS = ("laplace", "jeffreys")


def cells(quick):
    generated = (2_000, 1_000) if quick else (50_000, 100_000)
    shapes = {"a9a": (2_000 if quick else 32_561, 123), "generated": generated}
    return [
        Cell(case, method, *shape, options={"prior": prior})
        for case, shape in shapes.items()
        for prior in PRIORS
        for method in beside(prior)
    ]


def run(cell, watch):
    X, y, X_test, y_test = a9a(cell) if cell.case == "a9a" else generated(cell)
    prior = Laplace(rate=RATES[cell.case]) if cell.options["prior"] == "laplace" else "jeffreys"
    model = SparseBayesClassifier(prior=prior)
    extra = {}
    library = cell.method.split()[0]
    if library in L1_LIBRARIES:
        kept = int(np.count_nonzero(model.fit(X, y).coef_))
        model, extra["C"] = l1_as_sparse(library, X, y, max(kept, 1))
    model, row = watch(lambda: model.fit(X, y))
    yield {
        **row,
        **scores(model, X_test, y_test),
        "kept": int(np.count_nonzero(model.coef_)),
        "dense_mib": 8 * X.shape[0] * X.shape[1] / 2**20,
        "csr_mib": (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20,
        **extra,
    }


def a9a(cell):
    data = data_file("a9a")
    width = int(data["n_features"])

    def rows(part):
        indices, indptr = data[f"indices_{part}"], data[f"indptr_{part}"]
        return csr_matrix((np.ones(len(indices)), indices, indptr), shape=(len(indptr) - 1, width))

    X, y = rows("train")[: cell.n], data["y_train"][: cell.n]
    return X, y, rows("test"), data["y_test"]


def generated(cell, entries=50, often=5):
    """Return rows of 50 entries, 5 of them among the relevant columns, so that there is a signal."""
    rng = np.random.default_rng(cell.seeds[0])
    n = cell.n + 5_000
    common = rng.integers(0, RELEVANT, size=(n, often))
    rare = rng.integers(RELEVANT, cell.p, size=(n, entries - often))
    place = rng.permutation(cell.p)[np.hstack([common, rare])]
    X = csr_matrix(
        (rng.standard_normal(n * entries), place.ravel(), np.arange(0, n * entries + 1, entries)),
        shape=(n, cell.p),
    )
    X.sum_duplicates()
    coef = np.zeros(cell.p)
    coef[np.unique(place[:, :often])] = 1.0
    y = (X @ coef + rng.standard_normal(n) > 0).astype(int)
    return X[: cell.n], y[: cell.n], X[cell.n :], y[cell.n :]


def bars(rows):
    found = []
    for case in RATES:
        for prior in PRIORS:
            ours = {"case": case, "method": f"laconism {prior}"}
            theirs = {"case": case, "method": f"liblinear as sparse as {prior}"}
            speed = ratio(rows.median("seconds", **theirs), rows.median("seconds", **ours))
            found.append(Bar(f"{case}, {prior}: times faster than liblinear L1", speed, ">=", 1, "x"))
            peer = {"case": case, "method": f"skglm as sparse as {prior}"}
            speed = ratio(rows.median("seconds", **peer), rows.median("seconds", **ours))
            found.append(Bar(f"{case}, {prior}: times faster than skglm L1", speed, unit="x"))
            parts = [rows.median("error", **ours), rows.median("error", **theirs)]
            found.append(Bar(f"{case}, {prior}: error / liblinear's", ratio(*parts)))
            part = ratio(rows.median("beyond_mib", **ours), rows.median("dense_mib", **ours))
            # a9a as a dense matrix is 30 MiB: nothing that memory beyond the data could tell
            bar = 0.1 if case == "generated" else None
            found.append(Bar(f"{case}, {prior}: memory beyond X / a dense copy", part, "<=", bar))
    return found
