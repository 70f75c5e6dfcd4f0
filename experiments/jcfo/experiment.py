"""Paper 002: joint classifier and feature optimisation (JCFO)."""

from functools import cache

import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from laconism import JCFOClassifierCV, RVMClassifier, SparseBayesClassifier
from laconism.datasets import load_colon, load_leukemia, load_ripley, make_gaussian_classes
from laconism.priors import Laplace

from .._declare import Cell
from .._judge import estimate
from .._methods import classify, kernel_machines, letter
from .._splits import WIDTHS, Split, benchmark, gamma, published

TITLE = "A Bayesian approach to joint feature selection and classifier design"
METRICS = ("errors", "error", "accuracy", "kernels", "features", "log_loss", "wrong")
BANDS = {
    "errors": (0, 400),
    "error": (0.0, 1.0),
    "accuracy": (0.0, 100.0),
    "kernels": (0, 300),
    "features": (0, 8000),
    "log_loss": (0.0, 28.0),
}

# Figure 1: features, and draws (the paper has 20); 100 training and 500 test points of each class.
DIMENSIONS, REPETITIONS = (2, 10, 50, 100), 8
IRRELEVANT = (
    "laconism JCFO",
    "laconism SPR",
    "laconism SPR, no kernel",
    "laconism RVM",
    "SVC",
    "SVC, C = 1",
)
# Table 2 takes the first of the shared draws: so many.
BENCHMARK_DRAWS = {"ripley": 40, "pima": 1, "crabs": 20, "wbc": 10}
# Twenty draws more of Ripley's data, by another generator, and who is compared on them.
OTHER, OTHER_DRAWS = "ripley, other draws", 20
OTHER_METHODS = ("laconism JCFO", "laconism EM", "laconism RVM", "GaussianProcess")

# Samples that are left out in turn: all of them.
GENES = {"colon": range(62), "leukemia": range(72)}
GENE_METHODS = (
    "laconism JCFO, linear", "laconism JCFO, quadratic", "laconism JCFO, linear, screened outside",
    "laconism SPR, no kernel", "laconism SPR, linear", "laconism SPR, quadratic",
    "laconism RVM, no kernel", "AdaBoost", "SVC, linear", "SVC, quadratic", "LogisticRegression",
)  # fmt: skip


def cells(quick):
    found = [
        Cell("figure 1", f"p = {p}", method, seed, {"p": p})
        for p in ((10,) if quick else DIMENSIONS)
        for seed in range(1 if quick else REPETITIONS)
        for method in (IRRELEVANT[:2] if quick else IRRELEVANT)
    ]
    found += [
        Cell("table 2", name, "laconism JCFO", seed)
        for name in (("crabs",) if quick else BENCHMARK_DRAWS)
        for seed in range(1 if quick else BENCHMARK_DRAWS[name])
    ]
    if not quick:
        found += [
            Cell("table 2", OTHER, method, seed)
            for seed in range(OTHER_DRAWS)
            for method in OTHER_METHODS
        ]
    quick_genes = ("laconism SPR, no kernel", "SVC, linear", "laconism JCFO, linear, screened outside")
    found += [
        Cell("table 1", name, method, left_out)
        for name, samples in GENES.items()
        if not quick or name == "colon"
        for left_out in (samples[:1] if quick else samples)
        for method in (quick_genes if quick else GENE_METHODS)
    ]
    return found


def run(cell):
    if cell.place == "figure 1":
        return irrelevant(cell)
    if cell.place == "table 1":
        return leave_one_out(cell)
    return benchmarked(cell)


def benchmarked(cell):
    """Return errors on a draw of table 2; the joint search begins at the width of the other methods."""
    name = "ripley" if cell.data == OTHER else cell.data
    split = other_draw(cell.seed) if cell.data == OTHER else benchmark(name, cell.seed)
    scale = gamma(WIDTHS[name])
    if cell.method != "laconism JCFO":
        return classify(kernel_machines(scale)[cell.method](), split)
    model = chosen(one_standard_error=False, initial_scales=scale)
    found = classify(model, split)
    return {**found, "features": float(model.get_support().sum())}


def other_draw(seed):
    """Return a hundred rows of Ripley's data, drawn by numpy's older generator, and all test rows."""
    bunch = published(load_ripley)
    rows = np.random.RandomState(seed).permutation(len(bunch.data))[:100]
    return Split(bunch.data[rows], bunch.target[rows], bunch.data_test, bunch.target_test)


def chosen(folds=5, **options):
    """Return a joint model whose rates are chosen by cross-validation."""
    splits = StratifiedKFold(folds, shuffle=True, random_state=0)
    return JCFOClassifierCV(penalize_intercept=True, cv=splits, **options)


def irrelevant(cell):
    """Return the test error on two Gaussian classes of which only two features differ."""
    rng = np.random.default_rng([cell.seed, cell.config["p"]])
    X, y = make_gaussian_classes(200, cell.config["p"], rng)
    X_test, y_test = make_gaussian_classes(1000, cell.config["p"], rng)
    models = {
        "laconism JCFO": lambda: chosen(kernel="linear"),
        "laconism SPR": lambda: letter(kernel="linear"),
        "laconism SPR, no kernel": letter,
        "laconism RVM": lambda: RVMClassifier(kernel="linear", calibrate=False),
        "SVC": lambda: GridSearchCV(SVC(kernel="linear"), {"C": 10.0 ** np.arange(-3, 2)}),
        "SVC, C = 1": lambda: SVC(kernel="linear"),
    }
    model = models[cell.method]()
    found = {"error": classify(model, Split(X, y, X_test, y_test))["error"]}
    inner = getattr(model, "best_estimator_", model)
    if cell.method in ("laconism JCFO", "laconism SPR, no kernel"):
        found["features"] = float(inner.get_support().sum())
    return found


@cache
def _genes(name):
    return published({"leukemia": load_leukemia, "colon": load_colon}[name])


@cache
def _seen_by_all(name):
    """Return the features that a sparse linear model on ALL samples chooses: this leaks, on purpose."""
    bunch = _genes(name)
    X = StandardScaler().fit_transform(bunch.data)
    return SparseBayesClassifier(Laplace(rate=0.5)).fit(X, bunch.target).relevance_


def leave_one_out(cell):
    """Return whether the sample that was left out is classified right, in per cent."""
    bunch = _genes(cell.data)
    X = bunch.data
    if cell.method.endswith("screened outside"):
        X = X[:, _seen_by_all(cell.data)]
    keep = np.arange(len(X)) != cell.seed
    model = gene_model(cell.method, X.shape[1]).fit(X[keep], bunch.target[keep])
    right = bool(model.predict(X[~keep])[0] == bunch.target[cell.seed])
    inner = getattr(model, "best_estimator_", model)
    if not hasattr(inner, "get_support"):
        inner = getattr(inner, "steps", [(None, None)])[-1][1]
    found = {"accuracy": 100.0 * right}
    if hasattr(inner, "get_support") and ("JCFO" in cell.method or "no kernel" in cell.method):
        found["features"] = float(np.sum(inner.get_support()))
    return found


def gene_model(method, p):
    quadratic = "quadratic" in method
    if "JCFO" in method:
        screening = None if method.endswith("screened outside") else "auto"
        # One price for selection and weights, to save time: the paper's model.
        options = {"screening": screening, "weight_rates": [None], "one_standard_error": False}
        return chosen(3, kernel="poly" if quadratic else "linear", **options)
    # 1 / p makes inner products of p standardised genes of order one.
    poly = {"kernel": "poly", "degree": 2, "gamma": 1 / p, "coef0": 1.0}
    models = {
        "laconism SPR, no kernel": lambda: SparseBayesClassifier(penalize_intercept=True),
        "laconism SPR, linear": lambda: SparseBayesClassifier(kernel="linear", penalize_intercept=True),
        "laconism SPR, quadratic": lambda: SparseBayesClassifier(penalize_intercept=True, **poly),
        "laconism RVM, no kernel": lambda: RVMClassifier(kernel=None, calibrate=False),
        "AdaBoost": lambda: AdaBoostClassifier(n_estimators=25, random_state=0),
        "SVC, linear": lambda: SVC(kernel="linear"),
        "SVC, quadratic": lambda: SVC(**poly),
        "LogisticRegression": lambda: LogisticRegression(max_iter=1000),
    }
    return make_pipeline(StandardScaler(), models[method]())


def figures(rows):
    """Draw figure 1."""
    import matplotlib.pyplot as plt
    from scipy.stats import norm

    figure, ax = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
    for method in IRRELEVANT:
        known = [
            (p, one)
            for p in DIMENSIONS
            if (one := estimate(rows, "error", place="figure 1", data=f"p = {p}", method=method))
        ]
        if known:
            ax.errorbar(
                [p for p, _ in known],
                [one.mean for _, one in known],
                [2 * (one.error or 0) for _, one in known],
                fmt="o-",
                markersize=3,
                capsize=2,
                label=method,
            )
    ax.axhline(norm.cdf(-1), color="grey", linewidth=1, linestyle=":", label="best possible")
    ax.set(xlabel="features", ylabel="test error")
    ax.legend(frameon=False, fontsize=8)
    return {"figure_1": figure}
