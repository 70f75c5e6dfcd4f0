"""Few relevant among many features, beside abess, skglm, LassoCV, OMPCV and ARDRegression."""

import numpy as np
from sklearn.linear_model import ARDRegression, LassoCV, OrthogonalMatchingPursuitCV

from laconism import SparseBayesClassifier, SparseBayesRegressor
from laconism.datasets import make_sparse_classification, make_sparse_regression

from ._harness import Bar, Cell, ratio, rival
from ._rivals import mcp_skglm, scores

METRICS = ("coef_error", "error", "log_loss", "kept")
# One draw in ten decides the mean by what it misses: where draws are cheap there are more of them, for
# the two that are judged.
SEEDS = {500: 600, 1_000: 200, 5_000: 10}
FEW = 10
JUDGED = ("laconism", "abess")
# name: n, p, relevant, correlation of neighbours
REGRESSION = {
    "p=500": (150, 500, 10, 0.0),
    "p=500 correlated": (150, 500, 10, 0.7),
    "p=5000": (500, 5_000, 20, 0.0),
    "p=5000 correlated": (500, 5_000, 20, 0.7),
}
CLASSIFICATION = (150, 1_000, 5)
N_TEST = 5_000
REGRESSORS = {
    "laconism": SparseBayesRegressor,
    "abess": lambda: rival("abess").LinearRegression(),
    "skglm MCP CV": mcp_skglm,
    "LassoCV": LassoCV,
    "OMPCV": OrthogonalMatchingPursuitCV,
    "ARDRegression": ARDRegression,
}
# On thousands of columns they take minutes.
SLOW = ("ARDRegression", "skglm MCP CV")
CLASSIFIERS = {
    "laconism": SparseBayesClassifier,
    "abess": lambda: rival("abess").LogisticRegression(),
}


def cells(quick):
    cases = {"p=500": REGRESSION["p=500"]} if quick else REGRESSION
    found = [
        Cell(case, method, n, p, seeds=draws(method, p, quick), options={"k": k, "rho": rho})
        for case, (n, p, k, rho) in cases.items()
        for method in REGRESSORS
        if p <= 500 or method not in SLOW
    ]
    n, p, k = CLASSIFICATION
    return found + [
        Cell("classification", method, n, p, seeds=draws(method, p, quick), options={"k": k})
        for method in CLASSIFIERS
    ]


def draws(method, p, quick):
    return tuple(range(2 if quick else SEEDS[p] if method in JUDGED else FEW))


def run(cell, watch):
    for seed in cell.seeds:
        yield {"seed": seed, **one(cell, seed, watch)}


def one(cell, seed, watch):
    shape = {"n_features": cell.p, "n_relevant": cell.options["k"], "random_state": seed}
    if cell.case == "classification":
        X, y, _ = make_sparse_classification(cell.n + N_TEST, **shape)
        model, row = watch(lambda: CLASSIFIERS[cell.method]().fit(X[: cell.n], y[: cell.n]))
        row |= scores(model, X[cell.n :], y[cell.n :])
    else:
        X, y, coef = make_sparse_regression(cell.n, rho=cell.options["rho"], **shape)
        model, row = watch(lambda: REGRESSORS[cell.method]().fit(X, y))
        model = getattr(model, "best_estimator_", model)
        row["coef_error"] = float(np.linalg.norm(model.coef_ - coef) / np.linalg.norm(coef))
    return {**row, "kept": int(np.count_nonzero(model.coef_))}


def bars(rows):
    found = []
    tried = {(row["case"], row["method"]) for row in rows}
    for case in [case for case in REGRESSION if (case, "laconism") in tried]:
        for other in [
            method for method in REGRESSORS if method != "laconism" and (case, method) in tried
        ]:
            part, error = rows.quotient("coef_error", "laconism", other, case=case)
            bar = 1 if other in JUDGED else None
            found.append(Bar(f"{case}: coefficient error / {other}'s", part, "<=", bar, error=error))
        found.append(_time(rows, case))
    for column, what in (("error", "error"), ("log_loss", "log-loss")):
        part, error = rows.quotient(column, "laconism", "abess", case="classification")
        found.append(Bar(f"classification: {what} / abess's", part, "<=", 1, error=error))
    return [*found, _time(rows, "classification")]


def _time(rows, case):
    slower = ratio(*(rows.median("seconds", case=case, method=m) for m in ("laconism", "abess")))
    return Bar(f"{case}: time / abess's", slower, "<=", 5 if case in REGRESSION else None)
