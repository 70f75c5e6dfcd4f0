"""laconism beside scikit-learn on four published data sets: a table and a picture.

Every method sees the same splits, inputs and kernel width h, on one thread. Run it with ``make demo``;
``--quick`` takes one split of each data set.
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
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from laconism import SparseBayesClassifier
from laconism.datasets import load_breast_cancer, load_crabs, load_pima, load_ripley
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


def split(name, seed):
    """Return training and test data; a published test set stays whole."""
    load, n_train, _, _ = DATA[name]
    data = load()
    X, y = data.data, data.target
    if n_train is not None:
        X, X_test, y, y_test = train_test_split(X, y, train_size=n_train, stratify=y, random_state=seed)
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


# name: how to fit, what it kept, of which kind
METHODS = {
    "laconism, Jeffreys": (jeffreys, lambda model: model.n_relevant_, "kernels"),
    "laconism, Laplace (CV)": (laplace, lambda model: model.n_relevant_, "kernels"),
    "laconism, no kernel": (features, lambda model: model.n_relevant_, "features"),
    "SVC (CV, calibrated)": (svc, lambda model: model.machine.n_support_.sum(), "kernels"),
    "Gaussian process": (process, lambda model: len(model.base_estimator_.X_train_), "kernels"),
    "logistic (CV)": (logistic, lambda model: np.count_nonzero(model.coef_), "features"),
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


def run(console, quick):
    """Return the measurements of each data set and method, one row per split."""
    jobs = [
        (name, seed, method)
        for name, (_, _, n_splits, _) in DATA.items()
        for seed in range(1 if quick else n_splits)
        for method in METHODS
    ]
    results = defaultdict(list)
    columns = TextColumn("{task.description:36}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=len(jobs))
        for name, seed, method in jobs:
            bar.update(task, description=f"{name}: {method}")
            results[name, method].append(measure(name, seed, method))
            bar.advance(task)
    return {key: np.array(rows, dtype=float) for key, rows in results.items()}


def tabulate(results, plus_minus):
    """Return one table, a section per data set."""
    table = Table(box=box.HORIZONTALS, show_edge=False, pad_edge=False, collapse_padding=True)
    table.add_column("method", no_wrap=True)
    for heading in ("errors, %", "log-loss", "kept", "fit, ms", "predict,\nms"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name in DATA:
        for method, (_, _, kind) in METHODS.items():
            rows = results[name, method]
            errors, loss, kept, fit, predict, n_train, n_test = rows.mean(axis=0)
            spread, splits = "", "1 split"
            if len(rows) > 1:
                spread = f" {plus_minus} {rows[:, 0].std(ddof=1) / np.sqrt(len(rows)):.1f}"
                splits = f"{len(rows)} splits"
            if method == next(iter(METHODS)):
                sizes = f"{n_train:.0f} rows", f"{n_test:.0f} rows"
                table.add_row(name.upper(), splits, "", "", *sizes, style="bold")
            times = f"{1e3 * fit:.0f}", f"{1e3 * predict:.1f}"
            table.add_row(method, f"{errors:.1f}{spread}", f"{loss:.3f}", f"{kept:.1f} {kind}", *times)
        table.add_section()
    return table


def draw():
    """Save the boundary learned from all published training points of Ripley."""
    matplotlib.use("agg")
    data = load_ripley()
    model = jeffreys(data.data, data.target, 0.5)
    names = {"feature_names": data.feature_names, "class_names": data.target_names}
    display = BoundaryDisplay.from_estimator(model, data.data, data.target, **names)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    display.figure_.savefig(PICTURE, dpi=150)
    return f"The boundary of Ripley's problem, drawn by {model.n_relevant_} of 250 kernels: {PICTURE}"


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
    console.print(tabulate(results, "+-" if console.options.ascii_only else "±"))
    console.print(f"\n{draw()}", soft_wrap=True)
    console.print(
        "How to read the table: fewer errors (mean and standard error over the splits), a smaller "
        "log-loss and less kept are better; a difference of less than two standard errors says "
        "little, and fit times include the cross-validation of the methods marked CV."
    )


if __name__ == "__main__":
    main()
