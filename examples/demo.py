"""laconism beside scikit-learn on five published data sets: a table and a picture.

Every method sees the same splits and inputs, on one thread. The flagship (``LaconicClassifier``,
``LaconicRegressor``) comes first and chooses everything by itself. Kernels of the others have the
papers' width h, trees scikit-learn's settings. Run it with ``make demo``; ``--quick`` takes one split of
each data set.
"""

import argparse
import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib
import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from scipy.stats import norm, sem
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from laconism import LaconicClassifier, LaconicRegressor, SparseBayesClassifier, SparseBayesRegressor
from laconism.datasets import load_boston, load_breast_cancer, load_crabs, load_pima, load_ripley
from laconism.priors import Laplace

PICTURE = Path("build", "demo", "comparison.png")
COSTS = {"C": [0.1, 1.0, 10.0, 100.0, 1000.0]}
RATES = {"prior__rate": [0.03, 0.1, 0.3, 1.0, 3.0]}
ACCENT = "#1b6ca8"
TREES = {"n_estimators": 300, "random_state": 0}


@dataclass(frozen=True)
class Problem:
    """A data set, training rows (None is the published split), number of splits, the papers' width h."""

    load: object
    rows: int | None
    splits: int
    h: float
    labels: bool = True


PROBLEMS = {
    "Ripley": Problem(load_ripley, 100, 3, 0.5),
    "Pima": Problem(load_pima, None, 1, 4.0),
    "crabs": Problem(load_crabs, 80, 3, 4.0),
    "breast cancer": Problem(load_breast_cancer, 300, 1, 12.0),
    "Boston": Problem(load_boston, 300, 1, 5.0, labels=False),
}


def split(name, seed):
    """Return training and test data, and the places of the test rows; a published test set is whole."""
    problem = PROBLEMS[name]
    data = problem.load()
    X, y, place = data.data, data.target, np.arange(len(data.target))
    if problem.rows is not None:
        strata = y if problem.labels else None
        some = {"train_size": problem.rows, "stratify": strata, "random_state": seed}
        X, X_test, y, y_test, _, place = train_test_split(X, y, place, **some)
    if "data_test" in data:
        X_test, y_test, place = data.data_test, data.target_test, np.arange(len(data.target_test))
    if name != "Ripley":  # whose width is on the scale it was published with
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    if not problem.labels:
        y, y_test = (y - y.mean()) / y.std(), (y_test - y.mean()) / y.std()
    return X, y, X_test, y_test, place


# ---- methods: each fits labels or values -----------------------------------------------------


class CalibratedSVC(CalibratedClassifierCV):
    """Labels by the machine trained on all rows; calibration serves the probabilities only."""

    @property
    def machine(self):
        """The support vector machine inside."""
        return self.calibrated_classifiers_[0].estimator

    def predict(self, X):
        """Return its labels."""
        return self.machine.predict(X)


class Forest(RandomForestClassifier):
    """A forest with one more tree, which votes for all classes alike: no probability is zero."""

    def predict_proba(self, X):
        """Return the shares of the votes."""
        share, trees = super().predict_proba(X), len(self.estimators_)
        return (trees * share + 1 / len(self.classes_)) / (trees + 1)


class WithDeviation:
    """A regressor without a distribution, with the deviation of residuals on rows left out."""

    def __init__(self, machine, residuals):
        self.machine, self.std = machine, np.sqrt(np.mean(residuals**2))

    def predict_dist(self, X):
        """Return mean and deviation."""
        return self.machine.predict(X), self.std


def flagship(X, y, h, labels):
    """Fit the flagship: kernel, width and size are its own choice."""
    return (LaconicClassifier() if labels else LaconicRegressor()).fit(X, y)


def support(X, y, h, labels):
    """Choose C by cross-validation; calibrate probabilities as scikit-learn recommends."""
    search = GridSearchCV((SVC if labels else SVR)(gamma=1 / (2 * h**2)), COSTS).fit(X, y)
    if labels:
        return CalibratedSVC(search.best_estimator_, ensemble=False).fit(X, y)
    return WithDeviation(search.best_estimator_, y - cross_val_predict(search.best_estimator_, X, y))


def process(X, y, h, labels):
    """Choose width and variance by marginal likelihood."""
    # With a variance beyond 1e3 scikit-learn's approximation breaks down on some splits of crabs.
    kernel = ConstantKernel(1.0, (1e-2, 1e3)) * RBF(h, (1e-2, 1e3))
    if labels:
        return GaussianProcessClassifier(kernel).fit(X, y)
    return GaussianProcessRegressor(kernel + WhiteKernel(0.1), normalize_y=True).fit(X, y)


def forest(X, y, h, labels):
    """Fit 300 trees."""
    if labels:
        return Forest(**TREES).fit(X, y)
    machine = RandomForestRegressor(oob_score=True, **TREES).fit(X, y)
    return WithDeviation(machine, y - machine.oob_prediction_)


def boosting(X, y, h, labels):
    """Fit boosted trees as they come."""
    if labels:
        return HistGradientBoostingClassifier(random_state=0).fit(X, y)
    machine = HistGradientBoostingRegressor(random_state=0)
    return WithDeviation(machine.fit(X, y), y - cross_val_predict(machine, X, y))


def linear(X, y, h, labels):
    """Choose C by cross-validation; for values, precision and noise by marginal likelihood."""
    if not labels:
        return BayesianRidge().fit(X, y)
    search = GridSearchCV(LogisticRegression(max_iter=1000), COSTS, scoring="neg_log_loss")
    return search.fit(X, y).best_estimator_


def sparse(labels):
    """Return the class."""
    return SparseBayesClassifier if labels else SparseBayesRegressor


def jeffreys(X, y, h, labels):
    """Fit with the default prior, which has nothing to tune."""
    return sparse(labels)(kernel="rbf", gamma=1 / (2 * h**2)).fit(X, y)


def laplace(X, y, h, labels):
    """Fit labels with the Laplace prior, its rate chosen by cross-validation; values take too long."""
    model = SparseBayesClassifier(Laplace(), kernel="rbf", gamma=1 / (2 * h**2))
    return GridSearchCV(model, RATES, scoring="neg_log_loss").fit(X, y).best_estimator_


def features(X, y, h, labels):
    """Fit without a kernel: which features matter?"""
    return sparse(labels)().fit(X, y)


FLAGSHIP = "laconism"
METHODS = {
    FLAGSHIP: flagship,
    "SVC (CV)": support,
    "Gaussian process": process,
    "random forest": forest,
    "HistGradientBoosting": boosting,
    "linear (CV)": linear,
    "SparseBayes, rbf": jeffreys,
    "SparseBayes, Laplace": laplace,
    "SparseBayes, linear": features,
}


FOR_LABELS = {"SparseBayes, Laplace"}
RIVALS = ("SVC (CV)", "Gaussian process", "random forest", "HistGradientBoosting")


def kept(model):
    """Return how many kernels, features or trees a model needs to predict."""
    machine = getattr(model, "machine", model)
    if hasattr(machine, "n_relevant_"):
        return machine.n_relevant_, "features" if hasattr(machine, "coef_") else "kernels"
    if hasattr(machine, "n_trees_per_iteration_"):
        return machine.n_iter_ * machine.n_trees_per_iteration_, "trees"
    if hasattr(machine, "estimators_"):
        return len(machine.estimators_), "trees"
    if hasattr(machine, "support_"):
        return len(machine.support_), "kernels"
    if hasattr(machine, "coef_"):
        return np.count_nonzero(machine.coef_), "features"
    return len(getattr(machine, "base_estimator_", machine).X_train_), "kernels"


# ---- measurements ----------------------------------------------------------------------------


@dataclass
class Measured:
    """A method on a data set: each test row's losses in each split (NaN in training), and the rest."""

    labels: bool
    error: list = field(default_factory=list)  # in %, or squared
    nats: list = field(default_factory=list)  # minus log probability (density)
    kept: list = field(default_factory=list)
    seconds: list = field(default_factory=list)

    def loss(self, what):
        """Return the mean over rows and splits, of squared errors its root."""
        mean = np.nanmean(getattr(self, what))
        return np.sqrt(mean) if what == "error" and not self.labels else mean

    def above(self, other, what):
        """Return the mean difference to another method, with its standard error over the rows."""
        differences = np.array(getattr(self, what)) - np.array(getattr(other, what))
        held_out = np.isfinite(differences).any(axis=0)
        rows = np.nanmean(differences[:, held_out], axis=0)
        return rows.mean(), sem(rows)


def losses(model, X_test, y_test, labels):
    """Return each test row's error and minus log probability (density)."""
    if labels:
        probability = model.predict_proba(X_test)
        true = probability[np.arange(len(y_test)), np.searchsorted(model.classes_, y_test)]
        return 100.0 * (model.predict(X_test) != y_test), -np.log(np.maximum(true, 1e-15))
    own = hasattr(model, "predict_dist")
    mean, std = model.predict_dist(X_test) if own else model.predict(X_test, return_std=True)
    return (mean - y_test) ** 2, -norm.logpdf(y_test, mean, std)


def measure(name, seed, method, measured):
    """Fit a method to one split, and add what it does on the other rows."""
    X, y, X_test, y_test, place = split(name, seed)
    began = time.perf_counter()
    model = METHODS[method](X, y, PROBLEMS[name].h, measured.labels)
    measured.seconds.append(time.perf_counter() - began)
    measured.kept.append(kept(model))
    rows = len(X) + len(X_test)
    found = losses(model, X_test, y_test, measured.labels)
    for all_losses, each in zip((measured.error, measured.nats), found, strict=True):
        all_losses.append(np.full(rows, np.nan))
        all_losses[-1][place] = each


def run(console, quick):
    """Return what was measured of each data set and method."""
    jobs = [
        (name, seed, method)
        for name, problem in PROBLEMS.items()
        for seed in range(1 if quick else problem.splits)
        for method in METHODS
        if problem.labels or method not in FOR_LABELS
    ]
    results = {(name, method): Measured(PROBLEMS[name].labels) for name, _, method in jobs}
    columns = TextColumn("{task.description:36}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=len(jobs))
        for name, seed, method in jobs:
            bar.update(task, description=f"{name}: {method}")
            measure(name, seed, method, results[name, method])
            bar.advance(task)
    return results


# ---- table and picture -----------------------------------------------------------------------


def cell(results, name, method, what):
    """Return a mean loss, and a sign if it is clearly above or below that of the flagship."""
    if (name, method) not in results:
        return ""
    mine = results[name, method]
    difference, error = mine.above(results[name, FLAGSHIP], what)
    sign = "+" if difference > 2 * error else "-" if difference < -2 * error else " "
    digits = 1 if what == "error" and mine.labels else 2
    return f"{mine.loss(what):.{digits}f}{sign}"


def span(values, form):
    """Return the smallest and the largest."""
    low, high = (f"{value:{form}}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def tabulate(results):
    """Return the table: a column for each data set, a section for errors and one for log-losses."""
    table = Table(box=box.HORIZONTALS, show_edge=False, pad_edge=False, collapse_padding=True)
    table.add_column("", no_wrap=True)
    for name in (*PROBLEMS, ""):
        table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
    for what, title, last in (("error", "errors, %", "keeps"), ("nats", "log-loss", "fit, s")):
        unit = "sd " if what == "error" else ""
        table.add_row(title, "", "", "", "", unit, last, style="dim")
        for method in METHODS:
            own = [results[key] for key in results if key[1] == method]
            counts, kinds = zip(*(pair for each in own for pair in each.kept), strict=True)
            most = f"{span(counts, 'd')} {kinds[0] if len(set(kinds)) == 1 else 'columns'}"
            seconds = span([np.mean(each.seconds) for each in own], ".2g")
            row = [cell(results, name, method, what) for name in PROBLEMS]
            style = "bold" if method == FLAGSHIP else ""
            table.add_row(method, *row, most if what == "error" else seconds, style=style)
        table.add_section()
    return table


def draw_boundary(ax, method, data):
    """Draw the probabilities that a method gives the plane of Ripley's problem."""
    model = METHODS[method](data.data, data.target, PROBLEMS["Ripley"].h, True)
    low, high = data.data.min(axis=0) - 0.15, data.data.max(axis=0) + 0.15
    across, up = (np.linspace(*ends, 120) for ends in zip(low, high, strict=True))
    grid = np.stack(np.meshgrid(across, up), axis=-1)
    probability = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(grid.shape[:2])
    look = {"cmap": "PuOr", "vmin": -0.7, "vmax": 1.7, "shading": "auto", "rasterized": True}
    ax.pcolormesh(across, up, probability, **look)
    ax.contour(across, up, probability, levels=[0.5], colors="black", linewidths=1.4)
    for label, marker, face in zip(model.classes_, "o^", ("#8a3b00", "#2d1b5e"), strict=True):
        ax.scatter(*data.data[data.target == label].T, s=9, marker=marker, c=face, linewidths=0)
    count, kind = kept(model)
    ax.set_title(f"{method}\n{count} {kind}", fontsize=10, weight="bold" if method == FLAGSHIP else None)
    ax.set(xticks=[], yticks=[])
    if method == FLAGSHIP:
        squares = {"s": 70, "marker": "s", "facecolors": "none", "edgecolors": "black"}
        ax.scatter(*model.relevance_vectors_.T, linewidths=1.6, **squares)
        for spine in ax.spines.values():
            spine.set(color=ACCENT, linewidth=3)


def draw_differences(ax, results, name):
    """Draw how far above the flagship's the log-loss of each method is, with two standard errors."""
    ax.axvline(0, color=ACCENT, linewidth=1.2)
    for place, method in enumerate(METHODS):
        if method == FLAGSHIP:
            ax.plot(0, place, marker="s", color=ACCENT, markersize=8)
        elif (name, method) in results:
            mean, error = results[name, method].above(results[name, FLAGSHIP], "nats")
            grey = {"color": "#404040", "markersize": 5, "capsize": 2.5, "linewidth": 1.2}
            ax.errorbar(mean, place, xerr=2 * error, fmt="o", **grey)
    ax.set(ylim=(len(METHODS) - 0.5, -0.5), yticks=range(len(METHODS)), yticklabels=METHODS)
    ax.set_title(name, fontsize=10)
    ax.tick_params(labelsize=9)
    ax.locator_params(axis="x", nbins=4)
    ax.grid(axis="y", color="#e4e4e4")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    for label in ax.get_yticklabels()[:1]:  # only the first panel has labels
        label.set(weight="bold", color=ACCENT)


def draw(results):
    """Save the picture: boundaries learned from all training points of Ripley, and log-losses."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(12, 7), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1, 1.1), hspace=0.04)
    above.suptitle(
        "Ripley's problem: probabilities of two classes; squares are the kernels that laconism keeps"
    )
    shown = (FLAGSHIP, *RIVALS)
    data = load_ripley()
    for ax, method in zip(above.subplots(1, len(shown)), shown, strict=True):
        draw_boundary(ax, method, data)
    below.suptitle("Log-loss on unseen rows, above that of laconism (right of the line is worse)")
    for ax, name in zip(below.subplots(1, len(PROBLEMS), sharey=True), PROBLEMS, strict=True):
        draw_differences(ax, results, name)
    below.supxlabel("nats per row, ± two standard errors of the paired differences", fontsize=10)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=120)
    plt.close(figure)


def main():
    """Measure, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one split of each data set")
    quick = parser.parse_args().quick
    began = time.perf_counter()
    terminal = sys.stdout.isatty()
    # Where there is no terminal, plain text, whatever the environment says about colours.
    console = Console(force_terminal=terminal, width=None if terminal else 100, highlight=False)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # The Gaussian process says so when its variance ends at the bound.
        warnings.filterwarnings("ignore", category=ConvergenceWarning, module="sklearn.gaussian_process")
        results = run(console, quick)
        draw(results)
    console.print(tabulate(results))
    console.print(
        f"\n{FLAGSHIP} is LaconicClassifier, on Boston LaconicRegressor; everything is its own choice. "
        "Errors of Boston are in deviations of the target, log-losses in nats per unseen row; less is "
        f"better. + or - is clearly more or less than {FLAGSHIP}: two standard errors over the rows."
    )
    console.print(f"{time.perf_counter() - began:.0f} s; the picture is {PICTURE}", soft_wrap=True)


if __name__ == "__main__":
    main()
