"""Quality over many draws, with required values: what single tests are too noisy to show.

The relevance vector machine by each of its three inferences on the problems of its papers, the coverage
of its 95 % intervals, and that of the machine for grids. The flagship where two features count together
only: the exclusive or of two of 100, of two of 50 with a tenth of the labels flipped, and a product.
"""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from laconism import GridRVMRegressor, LaconicClassifier, LaconicRegressor, RVMClassifier, RVMRegressor
from laconism.datasets import load_boston, load_ripley, make_grid, make_sinc

from ._harness import Bar, Cell, Skip

METRICS = ("error", "coverage", "kept")
INFERENCES = ("sequential", "evidence", "variational")
# The papers' width h = 3 of the sinc problem.
SINC_GAMMA = 1 / 18
# case: rows, features, draws
CASES = {"sinc": (50, 1, 20), "boston": (481, 13, 10), "ripley": (100, 2, 20), "coverage": (100, 1, 20)}
GRID_DRAWS = 20
# Largest mean error: RMSE, squared error, share of wrong labels; and most kernels.
MOST_ERROR = {"sinc": 0.05, "boston": 11.2, "ripley": 0.106}
MOST_KEPT = {"sinc": 10, "boston": 60, "ripley": 7}
# rows, features and flipped share of the labels; and the largest error: for values the RMSE over the
# deviation.
TOGETHER = {
    "exclusive or": (400, 100, 0.0),
    "exclusive or, flipped": (1_000, 50, 0.1),
    "product": (400, 100, 0.0),
}
MOST_WRONG = {"exclusive or": 0.05, "exclusive or, flipped": 0.16, "product": 0.16}
TOGETHER_DRAWS = 5
# Between these the coverage of a 95 % interval has to be, on average.
COVERAGE = (0.91, 0.98)


def cells(quick):
    found = [
        Cell(case, inference, n, p, seeds=tuple(range(2 if quick else draws)))
        for case, (n, p, draws) in CASES.items()
        for inference in INFERENCES
    ]
    return [
        *found,
        *(
            Cell(case, "laconism", n, p, seeds=tuple(range(2 if quick else TOGETHER_DRAWS)))
            for case, (n, p, _) in TOGETHER.items()
        ),
        Cell("grid coverage", "product", 120, 48, seeds=tuple(range(2 if quick else GRID_DRAWS))),
    ]


def run(cell, watch):
    for seed in cell.seeds:
        yield {"seed": seed, **STUDIES[cell.case](cell, seed, watch)}


def sinc(cell, seed, watch):
    X, y = make_sinc(cell.n, noise=0.1, random_state=seed)
    grid = np.linspace(-10, 10, 400)[:, None]
    model, row = watch(lambda: RVMRegressor(gamma=SINC_GAMMA, inference=cell.method).fit(X, y))
    truth = np.sinc(grid[:, 0] / np.pi)
    error = float(np.sqrt(np.mean((model.predict(grid) - truth) ** 2)))
    return {**row, "error": error, "kept": model.n_relevant_}


def boston(cell, seed, watch):
    data = load(load_boston)
    order = np.random.default_rng(seed).permutation(len(data.target))
    train, test = order[: cell.n], order[cell.n :]
    machine = RVMRegressor(gamma=1 / 50, inference=cell.method)
    pipeline = make_pipeline(StandardScaler(), machine)
    model, row = watch(lambda: pipeline.fit(data.data[train], data.target[train]))
    error = float(np.mean((model.predict(data.data[test]) - data.target[test]) ** 2))
    return {**row, "error": error, "kept": model[-1].n_relevant_}


def ripley(cell, seed, watch):
    data = load(load_ripley)
    rows = np.random.default_rng(seed).permutation(len(data.target))[: cell.n]
    machine = RVMClassifier(gamma=2.0, inference=cell.method)
    model, row = watch(lambda: machine.fit(data.data[rows], data.target[rows]))
    error = float(1 - model.score(data.data_test, data.target_test))
    return {**row, "error": error, "kept": model.n_relevant_}


def coverage(cell, seed, watch):
    X, y = make_sinc(cell.n, random_state=seed)
    new, target = make_sinc(1000, random_state=100 + seed)
    model, row = watch(lambda: RVMRegressor(gamma=SINC_GAMMA, inference=cell.method).fit(X, y))
    return {**row, "coverage": inside(model, new, target), "kept": model.n_relevant_}


def grid_coverage(cell, seed, watch):
    X, y, _ = make_grid(cell.n + 1000, (8, 6), relevant=(2, 2), random_state=seed)
    model, row = watch(lambda: GridRVMRegressor().fit(X[: cell.n], y[: cell.n]))
    return {**row, "coverage": inside(model, X[cell.n :], y[cell.n :]), "kept": model.n_relevant_}


def inside(model, X, y):
    """Return the share of new observations in their 95 % intervals."""
    mean, std = model.predict_dist(X)
    return float(np.mean(np.abs(y - mean) < 1.96 * std))


def load(loader):
    """Return the data, or say why the cell cannot run."""
    try:
        return loader()
    except (ImportError, OSError) as error:
        raise Skip(str(error)) from error


def together(cell, seed, watch):
    """Two features whose signs, or whose product, decide; the labels of test rows are flipped too."""
    rng, flipped = np.random.default_rng([seed, cell.p]), TOGETHER[cell.case][2]
    X = rng.normal(size=(cell.n + 2_000, cell.p))
    y = X[:, 0] * X[:, 1]
    watch.repeats = 1
    if cell.case == "product":
        y = y + 0.1 * rng.normal(size=len(y))
        model, row = watch(lambda: LaconicRegressor().fit(X[: cell.n], y[: cell.n]))
        missed = y[cell.n :] - model.predict(X[cell.n :])
        return {
            **row,
            "error": float(np.sqrt(np.mean(missed**2)) / np.std(y)),
            "kept": model.n_relevant_,
        }
    label = (y > 0) ^ (rng.uniform(size=len(y)) < flipped)
    model, row = watch(lambda: LaconicClassifier().fit(X[: cell.n], label[: cell.n]))
    error = float(np.mean(model.predict(X[cell.n :]) != label[cell.n :]))
    return {**row, "error": error, "kept": model.n_relevant_}


STUDIES = {
    "sinc": sinc,
    "boston": boston,
    "ripley": ripley,
    "coverage": coverage,
    "grid coverage": grid_coverage,
    **dict.fromkeys(TOGETHER, together),
}


def bars(rows):
    found = []
    for case in TOGETHER:
        error = rows.mean("error", case=case, method="laconism")
        found.append(Bar(f"{case}: mean error of the flagship", error, "<=", MOST_WRONG[case]))
    for case in ("sinc", "boston", "ripley"):
        for method in INFERENCES:
            error, kept = (rows.mean(column, case=case, method=method) for column in ("error", "kept"))
            found.append(Bar(f"{case}, {method}: mean error", error, "<=", MOST_ERROR[case]))
            found.append(Bar(f"{case}, {method}: mean kernels", kept, "<=", MOST_KEPT[case]))
    methods = [("coverage", method) for method in INFERENCES]
    for case, method in [*methods, ("grid coverage", "product")]:
        mean = rows.mean("coverage", case=case, method=method)
        found.append(Bar(f"{case}, {method}: share inside 95 %", mean, ">=", COVERAGE[0]))
        found.append(Bar(f"{case}, {method}: share inside 95 %", mean, "<=", COVERAGE[1]))
    return found
