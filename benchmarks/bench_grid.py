"""Grids of features: beside variational Bayes by inversion, 100,000 cells, and table 1 of the paper.

CPU seconds of one core are compared, which other work on the machine hardly changes.
"""

import math
import statistics

import numpy as np
from scipy.special import digamma
from sklearn.preprocessing import StandardScaler

from laconism import GridRVMClassifier, GridRVMRegressor
from laconism.datasets import make_grid, make_mixture, mixture_means

from ._harness import Bar, Cell, ratio
from ._rivals import scores

METRICS = (
    "error", "train_error", "rmse", "kept", "sweeps", "converged", "difference", "rows_found",
    "columns_found",
)  # fmt: skip

COMBINE = ("product", "sum")
GAMMA = 1 / (2 * 0.3**2)  # sigma = .3 on standardised inputs
N, N_NOISE, N_TEST = 200, 15, 5_000
PLAIN = "plain"
SEEDS = tuple(range(10))
# What matches the training errors of the paper, so what its table is compared with; the defaults are an
# intercept and 1e-12.
PAPER = {"fit_intercept": False, "shape": 1e-6, "rate": 1e-6}
# Sweeps of the naive implementation that are timed, and sweeps that are counted at the most.
TIMED, MOST = 3, 3_000
HYPER = 1e-12  # shape and rate of the gamma prior, laconism's defaults
LARGE = (1_000, 100)
RELEVANT = (10, 5)
ESTIMATORS = {"classifier": GridRVMClassifier, "regressor": GridRVMRegressor}
METHODS = {
    f"{name} {combine}": (kind, combine) for name, kind in ESTIMATORS.items() for combine in COMBINE
}


def cells(quick):
    n, noise, most = (30, 3, 100) if quick else (N, N_NOISE, MOST)
    options = {"noise": noise, "most": most}
    found = [
        Cell("table", f"{combine} {how}", n, n * (2 + noise), options=options)
        for combine in COMBINE
        for how in ("fast", "vb", "naive")
    ]
    shape, rows = ((40, 10), 60) if quick else (LARGE, 500)
    found += [Cell("large", m, rows, math.prod(shape), options={"shape": list(shape)}) for m in METHODS]
    seeds = SEEDS[:2] if quick else SEEDS
    return found + [
        Cell("paper", method + how, n, n * (2 + noise), seeds=seeds, options=options)
        for how in ("", ", paper's priors")
        for method in (PLAIN, *COMBINE)
    ]


def run(cell, watch):
    if cell.case == "large":
        yield large(cell, watch)
    elif cell.case == "table":
        yield table(cell, watch)
    else:
        for seed in cell.seeds:
            yield {**paper(cell, seed), "seed": seed}


# ---- the paper's problem -------------------------------------------------------------------------


def mixture(cell, seed):
    """Return training and test rows of one problem, standardised by the training rows."""
    shared = {"n_noise": cell.options["noise"], "means": mixture_means(seed)}
    X, y = make_mixture(cell.n, **shared, random_state=1_000 + seed)
    X_test, y_test = make_mixture(N_TEST, **shared, random_state=2_000 + seed)
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(X_test), y_test


def kernels(X, centres):
    """Return the paper's eq. (26): one-dimensional kernels, features by training rows, unfolded."""
    return np.exp(-GAMMA * (X[:, :, None] - centres.T) ** 2).reshape(len(X), -1)


def grid_machine(combine, **settings):
    return GridRVMClassifier(combine=combine, basis="per_feature_rbf", gamma=GAMMA, **settings)


def paper(cell, seed):
    X, y, X_test, y_test = mixture(cell, seed)
    method, _, priors = cell.method.partition(", ")
    settings = PAPER if priors else {}
    if method == PLAIN:
        X, X_test = kernels(X, X), kernels(X_test, X)
        model = GridRVMClassifier(**settings).fit(X, y)
    else:
        model = grid_machine(method, **settings).fit(X, y)
    train, test = scores(model, X, y)["error"], scores(model, X_test, y_test)["error"]
    return {"error": test, "train_error": train, **outcome(model)}


def outcome(model):
    converged = int(model.status_.converged)
    return {"kept": model.n_relevant_, "sweeps": model.n_iter_, "converged": converged}


def table(cell, watch):
    X, y, X_test, y_test = mixture(cell, cell.seeds[0])
    combine, how = cell.method.split()
    if how == "naive":
        Phi, grid = kernels(X, X), (X.shape[1], cell.n)
        w, row = watch(lambda: naive(Phi, y, grid, combine, TIMED))
        # The same sweeps by laconism; its first solve comes before its first iteration.
        ours = grid_machine(combine, solver="vb", max_iter=TIMED - 1).fit(X, y).coef_[0]
        difference = float(np.linalg.norm(ours - w) / np.linalg.norm(w))
        return {**row, "sweeps": TIMED, "difference": difference}
    most = {"solver": "vb", "max_iter": cell.options["most"]} if how == "vb" else {}
    model, row = watch(lambda: grid_machine(combine, **most).fit(X, y))
    return {**row, "error": scores(model, X_test, y_test)["error"], **outcome(model)}


def naive(Phi, y, grid, combine, sweeps):
    """Section 5 of the gridRVM paper as written, an inverse in every sweep; no code of laconism's."""
    n, n_weights = Phi.shape
    start = 0.25 * Phi.var(axis=0).sum()  # where laconism starts from, for balanced classes
    product = combine == "product"
    mean = math.sqrt(start) if product else start / 2
    a = [np.full(size, HYPER + n_weights / size / (2 if product else 4)) for size in grid]
    b = [part / mean for part in a]
    rate = HYPER / mean
    Psi = np.column_stack([np.ones(n), Phi])  # the intercept has a flat prior
    m, v = np.zeros(n), np.full(n, 4.0)
    for _ in range(sweeps):
        alpha, beta = (shape / scale for shape, scale in zip(a, b, strict=True))
        A = np.outer(alpha, beta) if product else np.add.outer(alpha, beta)
        xi = np.sqrt(m**2 + v)
        r = np.tanh(xi / 2) / (2 * xi)
        Sigma = np.linalg.inv((Psi.T * r) @ Psi + np.diag(np.append(0.0, A.ravel())))
        mu = Sigma @ (Psi.T @ (y - 0.5))
        m, v = Psi @ mu, ((Psi @ Sigma) * Psi).sum(axis=1)
        second = (mu**2 + np.diag(Sigma))[1:].reshape(grid)
        if product:
            b[0] = rate + second @ beta / 2
            b[1] = rate + (a[0] / b[0]) @ second / 2
            continue
        for _ in range(5):
            logs = [digamma(shape) - np.log(scale) for shape, scale in zip(a, b, strict=True)]
            share = 1 / (1 + np.exp(logs[1] - logs[0][:, None]))
            a = [HYPER + share.sum(axis=1) / 2, HYPER + (1 - share).sum(axis=0) / 2]
            b = [rate + second.sum(axis=1) / 2, rate + second.sum(axis=0) / 2]
    return mu[1:].reshape(grid)


# ---- a large grid --------------------------------------------------------------------------------


def large(cell, watch):
    kind, combine = METHODS[cell.method]
    shape, classes = tuple(cell.options["shape"]), kind is GridRVMClassifier
    target = "classification" if classes else "regression"
    seed = cell.seeds[0]
    X, y, coef = make_grid(cell.n, shape, relevant=RELEVANT, kind=target, random_state=seed)
    model, row = watch(lambda: kind(combine=combine).fit(X, y))
    rng = np.random.default_rng(1_000 + seed)
    X_test = rng.standard_normal((cell.n, *shape))
    f = X_test.reshape(cell.n, -1) @ coef.ravel()
    if classes:
        y_test = f + 0.5 * rng.standard_normal(cell.n) > 0
        row["error"] = float(np.mean(model.predict(X_test) != y_test))
    else:
        row["rmse"] = float(np.sqrt(np.mean((model.predict(X_test) - f) ** 2)))
    for mode, name in enumerate(("rows_found", "columns_found")):
        true = np.flatnonzero(coef.any(axis=1 - mode))
        first = np.argsort(-model.mode_relevance_[mode])[: true.size]
        row[name] = np.intersect1d(true, first).size
    return {**row, **outcome(model)}


# ---- what came of it -----------------------------------------------------------------------------


def bars(rows):
    return [*against_naive(rows), *of_large(rows), *of_paper(rows)]


def against_naive(rows):
    found = []
    for combine in COMBINE:
        fast, vb, slow = (
            rows.where(case="table", method=f"{combine} {how}") for how in ("fast", "vb", "naive")
        )
        if not (fast and vb and slow):
            found.append(Bar(f"table, {combine}: times faster than naive VB", None, ">=", 100, "x"))
            continue
        fast, vb, slow = fast[-1], vb[-1], slow[-1]
        M, sweeps = fast["p"], vb["sweeps"]
        sweep = slow["cpu_seconds"] / slow["sweeps"]
        capped = "" if vb["converged"] else ", which did not suffice"
        counted = f"{slow['sweeps']} sweeps timed, {sweeps:,} counted{capped}"
        what = f"M = {M:,}, {combine}"
        found += [
            Bar(
                f"{what}: whole fit, times faster than naive VB ({counted})",
                ratio(sweeps * sweep, fast["cpu_seconds"]),
                ">=",
                100,
                "x",
            ),
            Bar(
                f"{what}: whole fit, times faster than solver='vb'",
                ratio(vb["cpu_seconds"], fast["cpu_seconds"]),
                unit="x",
            ),
            Bar(
                f"{what}: one sweep of solver='vb', times faster than a naive one",
                ratio(sweep, vb["cpu_seconds"] / (sweeps + 1)),
                unit="x",
            ),
            Bar(f"{what}: iterations of the fast fit", fast["sweeps"]),
            Bar(
                f"{what}: weights after the timed sweeps, naive against solver='vb'", slow["difference"]
            ),
        ]
    return found


def of_large(rows):
    found = []
    for method in METHODS:
        at = {"case": "large", "method": method}
        shape = " x ".join(f"{size:,}" for size in LARGE)
        what = f"{shape}, N = 500, {method}"
        at["p"] = math.prod(LARGE)
        peak, beyond = (ratio(rows.median(c, **at), 1024) for c in ("peak_mib", "beyond_mib"))
        found += [
            Bar(f"{what}: peak memory, X included", peak, "<=", 4, " GiB"),
            Bar(f"{what}: memory beyond X", beyond, "<=", 4, " GiB"),
            Bar(f"{what}: CPU time", rows.median("cpu_seconds", **at), "<=", 120, " s"),
        ]
    return found


def of_paper(rows):
    found = []
    for how in ("", ", paper's priors"):
        errors = {
            method: {
                row["seed"]: 100 * row["error"] for row in rows.where(case="paper", method=method + how)
            }
            for method in (PLAIN, *COMBINE)
        }
        for method, by_seed in errors.items():
            what = f"table 1{how}: error of {method}"
            found += with_spread(what, list(by_seed.values()), " %")
        for combine in COMBINE:
            both = sorted(errors[PLAIN].keys() & errors[combine].keys())
            below = [errors[PLAIN][s] - errors[combine][s] for s in both]
            what = f"table 1{how}: {combine} below plain"
            found += with_spread(what, below, " points", bar=3 if how else None)
    return found


def with_spread(what, values, unit, bar=None):
    """Return the mean over the seeds and its standard error."""
    mean = statistics.fmean(values) if values else None
    spread = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    return [Bar(what, mean, ">=", bar, unit), Bar(f"{what}, standard error", spread, unit=unit)]
