"""The flagship on the ida data sets beside tuned rivals: error, log-loss, kernels, ranks and time.

Inputs are standardised for everybody. CPU seconds of one core are compared; the time of a rival that has
to be tuned is that of its whole search. Original splits of the ida repository are used where there are
enough of them, substitutes of the same size (they are labelled so) elsewhere. What is kept is what a
prediction needs: kernels, training rows, features, or the leaves of trees.
"""

import functools
import math
import statistics

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from laconism import LaconicClassifier, RVMClassifier, SparseBayesClassifier, SparseBayesClassifierCV

from ._harness import Bar, Cell, data_file, ratio, rival
from ._rivals import leaves, scores
from ._tables import by_case, grid, mean_ranks, plain, three_digits

METRICS = ("error", "log_loss", "kept")

FLAGSHIP, SVM = "laconism", "SVC tuned"
# n, p and splits of each set; those whose splits are substitutes for the repository's.
SETS = {
    "banana": (400, 2, 5),
    "german": (700, 20, 3),
    "titanic": (150, 3, 5),
    "twonorm": (400, 20, 5),
    "waveform": (400, 21, 5),
    "flare_solar": (666, 9, 5),
    "thyroid": (140, 5, 5),
    "splice": (1_000, 60, 3),
}
SUBSTITUTES = ("twonorm", "flare_solar", "thyroid", "splice")
QUICK = ("titanic", "thyroid")
C_VALUES = (0.1, 1.0, 10.0, 100.0, 1_000.0)
# Multiples of one over the number of features, which is gamma="scale" on standardised inputs.
WIDTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
FOLDS = 5
LEAF_SIZES = (5, 20)
TREES = 500
# Trees may say that a class is impossible: nobody is charged for less than this probability.
LEAST_PROBABILITY = 1e-6
LIMIT = 900.0


def tuned_svm(gamma):
    grid = {"C": C_VALUES, "gamma": [gamma * width for width in WIDTHS]}
    return GridSearchCV(SVC(), grid, cv=FOLDS)


def fit_svm(gamma, X, y):
    """Search, then calibrate the winner: both are part of the price."""
    best = tuned_svm(gamma).fit(X, y).best_estimator_
    return CalibratedClassifierCV(best, cv=FOLDS, ensemble=False).fit(X, y)


def l1_path():
    return LogisticRegressionCV(
        Cs=10,
        cv=FOLDS,
        l1_ratios=(1.0,),
        solver="liblinear",
        scoring="neg_log_loss",
        max_iter=1_000,
        random_state=0,
        use_legacy_attributes=False,
    )


def boosting():
    """Gradient boosting as it is but for the leaves, which are too large for a hundred rows."""
    trees = HistGradientBoostingClassifier(early_stopping=False, random_state=0)
    return GridSearchCV(trees, {"min_samples_leaf": LEAF_SIZES}, cv=FOLDS, scoring="neg_log_loss")


def forest():
    return RandomForestClassifier(TREES, random_state=0)


# A fit by the name of the method, given gamma="scale" as a number.
METHODS = {
    FLAGSHIP: lambda gamma, X, y: LaconicClassifier().fit(X, y),
    SVM: fit_svm,
    "GP": lambda gamma, X, y: GaussianProcessClassifier(
        ConstantKernel(1.0) * RBF(math.sqrt(0.5 / gamma)), n_restarts_optimizer=0
    ).fit(X, y),
    "L1 logistic CV": lambda gamma, X, y: l1_path().fit(X, y),
    "fastrvm": lambda gamma, X, y: rival("fastrvm").RVC(kernel="rbf", gamma=gamma).fit(X, y),
    "RVM": lambda gamma, X, y: RVMClassifier(gamma="scale").fit(X, y),
    "GGIG CV": lambda gamma, X, y: SparseBayesClassifierCV(kernel="rbf").fit(X, y),
    "Jeffreys": lambda gamma, X, y: SparseBayesClassifier(kernel="rbf", gamma="scale").fit(X, y),
    "gradient boosting": lambda gamma, X, y: boosting().fit(X, y),
    "random forest": lambda gamma, X, y: forest().fit(X, y),
}


def cells(quick):
    found = []
    for case, (n, p, splits) in SETS.items():
        if quick and case not in QUICK:
            continue
        seeds = tuple(range(2 if quick else splits))
        label = f"{case} (substitute)" if case in SUBSTITUTES else case
        found += [
            Cell(label, method, n, p, seeds=seeds, limit=LIMIT, options={"set": case})
            for method in METHODS
        ]
    return found


def run(cell, watch):
    watch.repeats = 1  # the splits are the repeats
    name = cell.options["set"]
    arrays = data_file(f"ida_{name}")
    # The first fit of a process pays for what it imports: a small one goes before.
    warm_up = np.random.default_rng(0).normal(size=(30, 2))
    METHODS[cell.method](0.5, warm_up, (warm_up[:, 0] > 0).astype(int))
    for seed in cell.seeds:
        X, y, X_test, y_test = split(arrays, name, seed)
        gamma = 1 / max(int(np.count_nonzero(X.var(axis=0))), 1)
        model, row = watch(lambda X=X, y=y, gamma=gamma: METHODS[cell.method](gamma, X, y))
        said = scores(model, X_test, y_test, least=LEAST_PROBABILITY)
        yield {**row, "seed": seed, **said, "kept": kept(model)}


def split(arrays, name, seed):
    """Return standardised training and test rows of one split."""
    X, y = arrays["X"].astype(float), (arrays["y"] > 0).astype(int)
    index = arrays["substitute_train_idx" if name in SUBSTITUTES else "train_idx"]
    train = index[seed].astype(int)
    test = np.setdiff1d(np.arange(len(y)), train)
    if name not in SUBSTITUTES:
        test = arrays["test_idx"][seed].astype(int)
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def kept(model):
    """Return how many kernels (or features, rows or leaves) a prediction needs."""
    if isinstance(model, CalibratedClassifierCV):
        model = model.calibrated_classifiers_[0].estimator
    if isinstance(model, LogisticRegressionCV):
        return int(np.count_nonzero(model.coef_))
    if isinstance(model, GaussianProcessClassifier):
        return len(model.base_estimator_.X_train_)
    model = getattr(model, "best_estimator_", model)
    if isinstance(model, HistGradientBoostingClassifier | RandomForestClassifier):
        return leaves(model)
    for name in ("n_relevant_", "n_relevance_", "n_support_"):
        if hasattr(model, name):
            return int(np.sum(getattr(model, name)))
    return None


# ---- the table -----------------------------------------------------------------------------------


def ranks(rows, column):
    """Return the mean rank of each method over the sets that all of them finished."""
    found = _finished(rows, column)
    return mean_ranks({m: {case: mean for case, (mean, _) in of.items()} for m, of in found.items()})


def _finished(rows, column):
    """Return mean and standard error of each set, of each method that finished any."""
    found = {m: by_case(rows, column, m) for m in METHODS}
    return {m: cases for m, cases in found.items() if cases}


def excess(rows):
    """Return the mean error beyond the tuned SVC's over the sets, in its standard errors.

    The difference of a set is that of its splits in pairs; the standard error is that of their mean.
    """
    differences = []
    for case in dict.fromkeys(row["case"] for row in rows):
        ours, theirs = (
            {row["seed"]: row["error"] for row in rows.where(case=case, method=m)}
            for m in (FLAGSHIP, SVM)
        )
        differences.append([ours[s] - theirs[s] for s in ours.keys() & theirs.keys()])
    differences = [d for d in differences if d]
    if not differences:
        return None, None
    mean = statistics.fmean(statistics.fmean(d) for d in differences)
    variances = [statistics.variance(d) / len(d) if len(d) > 1 else 0.0 for d in differences]
    error = math.sqrt(sum(variances)) / len(differences)
    return mean, mean / error if error else None


def tables(rows):
    """Return head and rows of each table: every method on every set, with standard errors and ranks."""
    names = {"error": "error", "log_loss": "log-loss", "kept": "kept", "cpu_seconds": "CPU seconds"}
    parts = []
    for column, what in names.items():
        found = _finished(rows, column)
        cases = dict.fromkeys(row["case"] for row in rows)
        head, body = grid(what, found, cases, functools.partial(text, column))
        if column in ("error", "log_loss"):
            rank = ranks(rows, column)
            body.append(["mean rank", *(f"{rank[m]:.2f}" if m in rank else "" for m in found)])
        else:
            means = [statistics.fmean(mean for mean, _ in cases.values()) for cases in found.values()]
            body.append(["mean", *map(three_digits, means)])
        parts.append((head, body))
    return parts


def details(rows):
    return "\n\n".join(plain(*table) for table in tables(rows))


def text(column, mean, error):
    """Return mean and standard error as a table shows them; errors are in per cent."""
    if column == "error":
        return f"{100 * mean:.2f} ({100 * error:.2f})"
    return f"{mean:.4f} ({error:.4f})" if column == "log_loss" else three_digits(mean, error)


def bars(rows):
    rank = ranks(rows, "log_loss")
    rivals = [value for m, value in rank.items() if m != FLAGSHIP]
    margin = rank[FLAGSHIP] - min(rivals) if FLAGSHIP in rank and rivals else None
    mean, in_errors = excess(rows)
    numbers = [value for value, _ in by_case(rows, "kept", FLAGSHIP).values()]
    seconds = [sum(v for v, _ in by_case(rows, "cpu_seconds", m).values()) for m in (FLAGSHIP, SVM)]
    slowest = [
        ratio(ours, by_case(rows, "cpu_seconds", SVM).get(case, (None,))[0])
        for case, (ours, _) in by_case(rows, "cpu_seconds", FLAGSHIP).items()
    ]
    slowest = [value for value in slowest if value is not None]
    return [
        Bar("mean rank in log-loss above the best rival's", margin, "<=", 0.0),
        Bar("mean error above the tuned SVC's", mean),
        Bar("mean error above the tuned SVC's, in standard errors", in_errors, "<=", 1.0),
        Bar("kernels, mean over the sets", statistics.fmean(numbers) if numbers else None, "<=", 20),
        Bar("CPU time, part of the tuned SVC's whole search, all sets", ratio(*seconds), "<=", 1.0),
        Bar("the same on the slowest set", max(slowest, default=None), "<=", 1.0),
    ]
