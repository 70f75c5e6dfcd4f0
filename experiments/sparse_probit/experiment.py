"""Paper 000: sparse probit classifiers with the Jeffreys prior."""

import json
from functools import cache

import numpy as np
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold

from laconism import SparseBayesClassifier
from laconism.datasets import load_glass, make_gaussian_classes

from .._declare import Cell
from .._judge import estimate
from .._methods import MixtureClassifier, classify, kernel_machines, letter
from .._splits import DRAWS, WIDTHS, Split, benchmark, gamma, published, standardised

TITLE = "Bayesian learning of sparse classifiers"
METRICS = ("errors", "error", "percent", "kernels", "features", "log_loss", "wrong", "curve")
BANDS = {
    "error": (0.0, 0.6),
    "percent": (0.0, 100.0),
    "errors": (0, 1000),
    "kernels": (0, 300),
    "features": (0, 300),
    "log_loss": (0.0, 12.0),
}

# Figures 2 and 3: the papers' axes are not legible in print; these dimensions span what is shown.
QUADRATIC, LINEAR = (2, 5, 10, 15, 20), (2, 10, 20, 40, 60, 80)
REPETITIONS, FOLDS = 30, 10
MACHINES = tuple(kernel_machines(1.0))
GLASS = (
    "laconism EM",
    "laconism",
    "LaconicClassifier",
    "SVC",
    "GaussianProcess",
    "MLP",
    "GaussianMixture",
)
LINEARS = ("laconism EM", "laconism", "plug-in")


def cells(quick):
    quick_machines = ("laconism EM", "laconism", "SVC", "LDA")
    found = [Cell("figure 1", "links", "probit")]
    for place, dimensions in (("figure 2", QUADRATIC), ("figure 3", LINEAR)):
        found += [
            Cell(place, f"d = {d}", method, seed, {"d": d})
            for d in (dimensions[:2] if quick else dimensions)
            for seed in range(2 if quick else REPETITIONS)
            for method in LINEARS
        ]
    found.append(Cell("figure 4", "ripley", "laconism EM", 0))
    for place, names in (("table 1", ("ripley",)), ("table 2", ("pima", "crabs", "wbc"))):
        found += [
            Cell(place, name, method, seed, {"h": WIDTHS[name]})
            for name in names
            for seed in range(min(2, DRAWS[name]) if quick else DRAWS[name])
            for method in (quick_machines if quick else MACHINES)
        ]
    found += [
        Cell("table 3", "glass", method, fold, {"h": 4.0})
        for fold in range(2 if quick else FOLDS)
        for method in (("laconism EM", "SVC") if quick else GLASS)
    ]
    return found


def run(cell):
    if cell.place == "figure 1":
        return links()
    if cell.place in ("figure 2", "figure 3"):
        return gaussians(cell)
    if cell.place == "figure 4":
        return boundary()
    if cell.place == "table 3":
        found = classify(glass_machine(cell.method), glass(cell.seed))
        return {"percent": 100 * found["error"], **{k: v for k, v in found.items() if k != "wrong"}}
    width = WIDTHS[cell.data]
    return classify(kernel_machines(gamma(width))[cell.method](), benchmark(cell.data, cell.seed))


def links():
    """Return the largest distance between the logistic link and the probit of section 2, re-scaled."""
    z = np.linspace(-8, 8, 4001)
    # The paper prints 3 z / pi^2; the scale that makes slopes of the two alike in size is sqrt(3) / pi.
    return {"error": float(np.abs(1 / (1 + np.exp(-z)) - norm.cdf(np.sqrt(3) * z / np.pi)).max())}


def gaussians(cell):
    """Return the test error on two Gaussian classes of which only two features differ."""
    quadratic = cell.place == "figure 2"
    rng = np.random.default_rng([cell.seed, cell.config["d"]])
    X, y = make_gaussian_classes(200 if quadratic else 100, cell.config["d"], rng)
    X_test, y_test = make_gaussian_classes(1000, cell.config["d"], rng)
    if cell.method == "plug-in":
        model = QuadraticDiscriminantAnalysis() if quadratic else LinearDiscriminantAnalysis()
    elif cell.method == "laconism EM":
        model = letter(expansion=2 if quadratic else 1)
    else:
        model = SparseBayesClassifier(expansion=2 if quadratic else 1, penalize_intercept=True)
    found = {"error": classify(model, Split(X, y, X_test, y_test))["error"]}
    return found if cell.method == "plug-in" else {**found, "features": float(model.n_relevant_)}


def boundary():
    """Return the number of kernels of the classifier of figure 4, and all that is needed to draw it."""
    split = benchmark("ripley", 0)
    model = letter(kernel="rbf", gamma=gamma(WIDTHS["ripley"])).fit(split.X, split.y)
    wrong = model.predict(split.X_test) != split.y_test
    grid = model.predict_proba(_plane())[:, 1].reshape(GRID, GRID)
    drawn = {
        "points": split.X.round(3).tolist(),
        "labels": split.y.tolist(),
        "kept": model.relevance_.tolist(),
        "proba": grid.round(3).tolist(),
    }
    return {
        "kernels": float(model.n_relevant_),
        "error": float(wrong.mean()),
        "curve": json.dumps(drawn),
    }


# The part of the plane that figure 4 shows, and its resolution.
PLANE, GRID = (-1.4, 1.2, -0.3, 1.2), 40


def _plane():
    left, right, low, high = PLANE
    axes = np.meshgrid(np.linspace(left, right, GRID), np.linspace(low, high, GRID))
    return np.column_stack([axis.ravel() for axis in axes])


@cache
def _glass():
    bunch = published(load_glass)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(bunch.data, bunch.target)
    return bunch, list(folds)


def glass(fold):
    """Return one of ten stratified folds."""
    bunch, folds = _glass()
    train, test = folds[fold]
    X, y = bunch.data, bunch.target
    return standardised(Split(X[train], y[train], X[test], y[test]))


def glass_machine(method):
    return MixtureClassifier() if method == "GaussianMixture" else kernel_machines(gamma(4.0))[method]()


def figures(rows):
    """Draw figures 1 to 4."""
    import matplotlib.pyplot as plt

    found = {}
    z = np.linspace(-6, 6, 301)
    figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
    ax.plot(z, 1 / (1 + np.exp(-z)), label="logistic")
    ax.plot(z, norm.cdf(np.sqrt(3) * z / np.pi), "--", label="probit, re-scaled")
    ax.set(xlabel="z", ylabel="probability")
    ax.legend(frameon=False)
    found["figure_1"] = figure
    for place, dimensions in (("figure 2", QUADRATIC), ("figure 3", LINEAR)):
        figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
        for method in LINEARS:
            curve = [
                estimate(rows, "error", place=place, data=f"d = {d}", method=method) for d in dimensions
            ]
            known = [(d, one) for d, one in zip(dimensions, curve, strict=True) if one]
            if known:
                ax.errorbar(
                    [d for d, _ in known],
                    [one.mean for _, one in known],
                    [2 * (one.error or 0) for _, one in known],
                    fmt="o-",
                    capsize=2,
                    label=method,
                )
        ax.axhline(norm.cdf(-1), color="grey", linewidth=1, linestyle=":", label="best possible")
        ax.set(xlabel="dimension d", ylabel="test error")
        ax.legend(frameon=False)
        found[place.replace(" ", "_")] = figure
    for row in rows:
        if row["place"] == "figure 4" and row.get("curve"):
            found["figure_4"] = _draw_boundary(json.loads(row["curve"]))
    return found


def _draw_boundary(drawn):
    import matplotlib.pyplot as plt

    left, right, low, high = PLANE
    X, y, kept = np.array(drawn["points"]), np.array(drawn["labels"]), drawn["kept"]
    figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
    x, z = np.linspace(left, right, GRID), np.linspace(low, high, GRID)
    ax.contour(x, z, np.array(drawn["proba"]), [0.5], colors="black")
    for label, symbol in ((0, "o"), (1, "x")):
        ax.plot(*X[y == label].T, symbol, markersize=4, label=f"class {label}")
    ax.plot(*X[kept].T, "s", markersize=10, markerfacecolor="none", color="black", label="kernels kept")
    ax.legend(frameon=False, fontsize=8)
    return figure
