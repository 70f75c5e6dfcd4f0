"""Paper 002: joint classifier and feature optimisation (JCFO)."""

from functools import cache

import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from laconic import JCFOClassifier, RVMClassifier, SparseBayesClassifier
from laconic.datasets import load_colon, load_leukemia, make_gaussian_classes
from laconic.priors import Laplace

from .._declare import Cell
from .._judge import estimate
from .._methods import classify, letter
from .._splits import DRAWS, Split, benchmark, published

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
    "laconic JCFO",
    "laconic SPR",
    "laconic SPR, no kernel",
    "laconic RVM",
    "SVC",
    "SVC, C = 1",
)
# With the linear kernel only the product of the two rates matters; with the others scale_rate keeps its
# default and weight_rate is chosen.
LINEAR_RATES = (10.0, 30.0, 100.0, 300.0, 1000.0)
GENE_RATES = (1.0, 4.0)
WEIGHT_RATES = (0.1, 0.3, 1.0, 3.0)
# Table 2 takes the first of the shared draws, at most so many.
BENCHMARK_DRAWS = 10

# Samples that are left out in turn: all of them.
GENES = {"colon": range(62), "leukemia": range(72)}
GENE_METHODS = (
    "laconic JCFO, linear", "laconic JCFO, quadratic", "laconic JCFO, linear, screened outside",
    "laconic SPR, no kernel", "laconic SPR, linear", "laconic SPR, quadratic", "laconic RVM, no kernel",
    "AdaBoost", "SVC, linear", "SVC, quadratic", "LogisticRegression",
)  # fmt: skip


def cells(quick):
    found = [
        Cell("figure 1", f"p = {p}", method, seed, {"p": p})
        for p in ((10,) if quick else DIMENSIONS)
        for seed in range(1 if quick else REPETITIONS)
        for method in (IRRELEVANT[:2] if quick else IRRELEVANT)
    ]
    found += [
        Cell("table 2", name, "laconic JCFO", seed)
        for name in (("crabs",) if quick else DRAWS)
        for seed in range(1 if quick else min(BENCHMARK_DRAWS, DRAWS[name]))
    ]
    quick_genes = ("laconic SPR, no kernel", "SVC, linear", "laconic JCFO, linear, screened outside")
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
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    rates = {"weight_rate": WEIGHT_RATES}
    model = GridSearchCV(
        JCFOClassifier(penalize_intercept=True), rates, cv=folds, scoring="neg_log_loss"
    )
    found = classify(model, benchmark(cell.data, cell.seed))
    return {**found, "features": float(model.best_estimator_.get_support().sum())}


def sparsest_within_one_error(results):
    """Return the candidate of the highest rate whose score is within a standard error of the best."""
    score = results["mean_test_score"]
    folds = sum(key.startswith("split") and key.endswith("_test_score") for key in results)
    best = int(np.argmax(score))
    near = score >= score[best] - results["std_test_score"][best] / np.sqrt(folds)
    return int(np.flatnonzero(near)[-1])  # rates are given in rising order


def chosen(model, grid, folds=5):
    """Return a model whose rate is chosen by cross-validation, with the one-standard-error rule."""
    splits = StratifiedKFold(folds, shuffle=True, random_state=0)
    return GridSearchCV(model, grid, cv=splits, refit=sparsest_within_one_error)


def irrelevant(cell):
    """Return the test error on two Gaussian classes of which only two features differ."""
    rng = np.random.default_rng([cell.seed, cell.config["p"]])
    X, y = make_gaussian_classes(200, cell.config["p"], rng)
    X_test, y_test = make_gaussian_classes(1000, cell.config["p"], rng)
    jcfo = JCFOClassifier(kernel="linear", penalize_intercept=True)
    models = {
        "laconic JCFO": lambda: chosen(jcfo, {"scale_rate": LINEAR_RATES}),
        "laconic SPR": lambda: letter(kernel="linear"),
        "laconic SPR, no kernel": letter,
        "laconic RVM": lambda: RVMClassifier(kernel="linear"),
        "SVC": lambda: GridSearchCV(SVC(kernel="linear"), {"C": 10.0 ** np.arange(-3, 2)}),
        "SVC, C = 1": lambda: SVC(kernel="linear"),
    }
    model = models[cell.method]()
    found = {"error": classify(model, Split(X, y, X_test, y_test))["error"]}
    inner = getattr(model, "best_estimator_", model)
    if cell.method in ("laconic JCFO", "laconic SPR, no kernel"):
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
        options = {"kernel": "poly" if quadratic else "linear", "screening": screening}
        model = JCFOClassifier(penalize_intercept=True, **options)
        return chosen(model, {"scale_rate": GENE_RATES}, folds=3)
    # 1 / p makes inner products of p standardised genes of order one.
    poly = {"kernel": "poly", "degree": 2, "gamma": 1 / p, "coef0": 1.0}
    models = {
        "laconic SPR, no kernel": lambda: SparseBayesClassifier(penalize_intercept=True),
        "laconic SPR, linear": lambda: SparseBayesClassifier(kernel="linear", penalize_intercept=True),
        "laconic SPR, quadratic": lambda: SparseBayesClassifier(penalize_intercept=True, **poly),
        "laconic RVM, no kernel": lambda: RVMClassifier(kernel=None),
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
