"""laconism beside scikit-learn on five published data sets: two tables and a picture.

Every method sees the same splits and inputs, on one thread. The flagship (``LaconicClassifier``,
``LaconicRegressor``) chooses everything by itself; kernels of the others have the papers' width h.
Run it with ``make demo``; ``--quick`` takes one split of each data set.
"""

import argparse
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

import matplotlib
import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from scipy.stats import norm
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from laconism import LaconicClassifier, LaconicRegressor, SparseBayesClassifier, SparseBayesRegressor
from laconism.datasets import load_boston, load_breast_cancer, load_crabs, load_pima, load_ripley
from laconism.inspection import BoundaryDisplay
from laconism.priors import Laplace

PICTURE = Path("build", "demo", "ripley.png")
COSTS = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0]}
RATES = {"prior__rate": [0.03, 0.1, 0.3, 1.0, 3.0]}

# name: loader, training rows (None is the published split), number of splits, the papers' width h
DATA = {
    "Ripley": (load_ripley, 100, 20, 0.5),
    "Pima": (load_pima, None, 1, 4.0),
    "crabs": (load_crabs, 80, 20, 4.0),
    "breast cancer": (load_breast_cancer, 300, 10, 12.0),
}
VALUES = {"Boston": (load_boston, 300, 10, 5.0)}


def split(name, seed):
    """Return training and test data; a published test set stays whole."""
    load, n_train, _, _ = (DATA | VALUES)[name]
    data = load()
    X, y = data.data, data.target
    if n_train is not None:
        strata = y if name in DATA else None
        X, X_test, y, y_test = train_test_split(
            X, y, train_size=n_train, stratify=strata, random_state=seed
        )
    if "data_test" in data:
        X_test, y_test = data.data_test, data.target_test
    if name != "Ripley":  # whose width is on the scale it was published with
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return X, y, X_test, y_test


class CalibratedSVC(CalibratedClassifierCV):
    """Labels by the machine trained on all rows; calibration serves the probabilities only."""

    @property
    def machine(self):
        """The support vector machine inside."""
        return self.calibrated_classifiers_[0].estimator

    def predict(self, X):
        """Return its labels."""
        return self.machine.predict(X)


def flagship(X, y, h):
    """Fit the flagship: kernel, width and size are its own choice."""
    return LaconicClassifier().fit(X, y)


def jeffreys(X, y, h):
    """Fit with the default prior, which has nothing to tune."""
    return SparseBayesClassifier(kernel="rbf", gamma=1 / (2 * h**2)).fit(X, y)


def laplace(X, y, h):
    """Fit with the Laplace prior, its rate chosen by cross-validation."""
    model = SparseBayesClassifier(Laplace(), kernel="rbf", gamma=1 / (2 * h**2))
    return GridSearchCV(model, RATES, scoring="neg_log_loss").fit(X, y).best_estimator_


def features(X, y, h):
    """Fit without a kernel: which features matter?"""
    return SparseBayesClassifier().fit(X, y)


def svc(X, y, h):
    """Choose C by cross-validation, then calibrate as scikit-learn recommends."""
    search = GridSearchCV(SVC(gamma=1 / (2 * h**2)), COSTS).fit(X, y)
    return CalibratedSVC(search.best_estimator_, ensemble=False).fit(X, y)


def process(X, y, h):
    """Choose width and variance by marginal likelihood."""
    # With a variance beyond 1e3 scikit-learn's approximation breaks down on some splits of crabs.
    kernel = ConstantKernel(1.0, (1e-2, 1e3)) * RBF(h, (1e-2, 1e3))
    return GaussianProcessClassifier(kernel).fit(X, y)


def logistic(X, y, h):
    """Choose C by cross-validation."""
    search = GridSearchCV(LogisticRegression(max_iter=1000), COSTS, scoring="neg_log_loss")
    return search.fit(X, y).best_estimator_


def flagship_values(X, y, h):
    """Fit the flagship to values."""
    return LaconicRegressor().fit(X, y)


def features_values(X, y, h):
    """Fit without a kernel: which features matter?"""
    return SparseBayesRegressor().fit(X, y)


def process_values(X, y, h):
    """Choose width, variance and noise by marginal likelihood."""
    kernel = ConstantKernel(1.0, (1e-2, 1e3)) * RBF(h, (1e-2, 1e3)) + WhiteKernel(0.1)
    return GaussianProcessRegressor(kernel, normalize_y=True).fit(X, y)


def ridge(X, y, h):
    """Choose precision and noise by marginal likelihood."""
    return BayesianRidge().fit(X, y)


# name: how to fit, what it kept, of which kind
METHODS = {
    "LaconicClassifier": (flagship, lambda model: model.n_relevant_, "kernels"),
    "laconism, Jeffreys": (jeffreys, lambda model: model.n_relevant_, "kernels"),
    "laconism, Laplace (CV)": (laplace, lambda model: model.n_relevant_, "kernels"),
    "laconism, no kernel": (features, lambda model: model.n_relevant_, "features"),
    "SVC (CV, calibrated)": (svc, lambda model: model.machine.n_support_.sum(), "kernels"),
    "Gaussian process": (process, lambda model: len(model.base_estimator_.X_train_), "kernels"),
    "logistic (CV)": (logistic, lambda model: np.count_nonzero(model.coef_), "features"),
}
REGRESSORS = {
    "LaconicRegressor": (flagship_values, lambda model: model.n_relevant_, "kernels"),
    "laconism, no kernel": (features_values, lambda model: model.n_relevant_, "features"),
    "Gaussian process": (process_values, lambda model: len(model.X_train_), "kernels"),
    "Bayesian ridge": (ridge, lambda model: np.count_nonzero(model.coef_), "features"),
}


def measure(name, seed, method):
    """Return errors in %, log-loss, what was kept, seconds to fit and to predict, and the sizes."""
    X, y, X_test, y_test = split(name, seed)
    fit, kept, _ = METHODS[method]
    began = time.perf_counter()
    model = fit(X, y, DATA[name][3])
    fitted = time.perf_counter()
    probability = model.predict_proba(X_test)
    times = fitted - began, time.perf_counter() - fitted
    errors = 100 * np.mean(model.predict(X_test) != y_test)
    return errors, log_loss(y_test, probability), kept(model), *times, len(X), len(X_test)


def measure_values(name, seed, method):
    """Return the error, the loss, what was kept, seconds to fit and to predict, and the sizes.

    The error is the root mean squared one, in deviations of the targets; the loss the mean negative log
    density of a new target.
    """
    X, y, X_test, y_test = split(name, seed)
    fit, kept, _ = REGRESSORS[method]
    began = time.perf_counter()
    model = fit(X, y, VALUES[name][3])
    fitted = time.perf_counter()
    mean, std = (
        model.predict_dist(X_test) if hasattr(model, "predict_dist") else model.predict(X_test, True)
    )
    times = fitted - began, time.perf_counter() - fitted
    error = np.sqrt(np.mean((mean - y_test) ** 2)) / y_test.std()
    loss = -norm.logpdf(y_test, mean, std).mean()
    return error, loss, kept(model), *times, len(X), len(X_test)


def run(console, quick):
    """Return the measurements of each data set and method, one row per split."""
    jobs = [
        (name, seed, method)
        for sets, methods in ((DATA, METHODS), (VALUES, REGRESSORS))
        for name, (_, _, n_splits, _) in sets.items()
        for seed in range(1 if quick else n_splits)
        for method in methods
    ]
    results = defaultdict(list)
    columns = TextColumn("{task.description:36}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=len(jobs))
        for name, seed, method in jobs:
            bar.update(task, description=f"{name}: {method}")
            measured = (measure if name in DATA else measure_values)(name, seed, method)
            results[name, method].append(measured)
            bar.advance(task)
    return {key: np.array(rows, dtype=float) for key, rows in results.items()}


def tabulate(results, sets, methods, plus_minus):
    """Return one table, a section per data set."""
    labels = sets is DATA
    measures, digits = (("errors, %", "log-loss"), 1) if labels else (("error, sd", "log-loss"), 3)
    table = Table(box=box.HORIZONTALS, show_edge=False, pad_edge=False, collapse_padding=True)
    table.add_column("method", no_wrap=True)
    for heading in (*measures, "kept", "fit, ms", "predict,\nms"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name in sets:
        for method, (_, _, kind) in methods.items():
            rows = results[name, method]
            errors, loss, kept, fit, predict, n_train, n_test = rows.mean(axis=0)
            spread, splits = "", "1 split"
            if len(rows) > 1:
                spread = f" {plus_minus} {rows[:, 0].std(ddof=1) / np.sqrt(len(rows)):.{digits}f}"
                splits = f"{len(rows)} splits"
            if method == next(iter(methods)):
                sizes = f"{n_train:.0f} rows", f"{n_test:.0f} rows"
                table.add_row(name.upper(), splits, "", "", *sizes, style="bold")
            times = f"{1e3 * fit:.0f}", f"{1e3 * predict:.1f}"
            error = f"{errors:.{digits}f}{spread}"
            table.add_row(method, error, f"{loss:.3f}", f"{kept:.1f} {kind}", *times)
        table.add_section()
    return table


def draw():
    """Save the boundaries learned from all published training points of Ripley."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    data = load_ripley()
    names = {"feature_names": data.feature_names, "class_names": data.target_names}
    figure, panels = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    kept = []
    for ax, fit in zip(panels, (flagship, jeffreys), strict=True):
        model = fit(data.data, data.target, 0.5)
        BoundaryDisplay.from_estimator(model, data.data, data.target, ax=ax, **names)
        ax.set_title(f"{type(model).__name__}: {model.n_relevant_} of {len(data.target)} kernels")
        kept.append(str(model.n_relevant_))
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=120)
    plt.close(figure)
    return f"Ripley's problem, boundaries of {' and '.join(kept)} of 250 kernels: {PICTURE}"


def main():
    """Measure, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one split of each data set")
    quick = parser.parse_args().quick
    terminal = sys.stdout.isatty()
    # Where there is no terminal, plain text, whatever the environment says about colours.
    console = Console(force_terminal=terminal, width=None if terminal else 100, highlight=False)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # The Gaussian process says so when its variance ends at the bound.
        warnings.filterwarnings("ignore", category=ConvergenceWarning, module="sklearn.gaussian_process")
        results = run(console, quick)
    plus_minus = "+-" if console.options.ascii_only else "±"
    console.print(tabulate(results, DATA, METHODS, plus_minus))
    console.print()
    console.print(tabulate(results, VALUES, REGRESSORS, plus_minus))
    console.print(f"\n{draw()}", soft_wrap=True)
    console.print(
        "How to read the tables: a smaller error (mean and standard error over the splits; of values "
        "in deviations of the targets), a smaller log-loss and less kept are better. A difference of "
        "less than two standard errors may be chance. Fit times include the cross-validation of "
        "methods marked CV; the flagship chooses everything inside its fit."
    )


if __name__ == "__main__":
    main()
