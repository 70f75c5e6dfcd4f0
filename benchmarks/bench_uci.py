"""The flagship on the UCI regression sets beside Gaussian processes, boosting and published numbers.

The nine sets and their random splits are those of Hernandez-Lobato and Adams (2015); the six larger ones
are sets of the Gaussian process literature with seeded splits, a tenth of the rows for testing. Features
and targets are standardised by the training rows, for everybody; what is reported is in the units of the
target. Times are those of the whole search of what has to be tuned.

A method that predicts no distribution gets a Gaussian one: its variance is the mean squared residual of
rows left out in cross-validation. What is kept is what a prediction needs: kernels (laconism), training
rows (GP), leaves (gradient boosting), terms (explainable boosting) or features (ridge).
"""

import functools
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, ParameterGrid
from sklearn.preprocessing import StandardScaler

from laconism import LaconicRegressor

from ._harness import Bar, Cell, data_file, rival
from ._rivals import leaves
from ._tables import by_case, grid, mean_ranks, plain, three_digits

METRICS = ("rmse", "log_density", "coverage", "kept")

FLAGSHIP, GP, BOOSTING = "laconism", "GP", "gradient boosting"
EXPLAINABLE, RIDGE = "explainable boosting", "ridge"
# Training rows of the first split, features and splits of each set.
SMALL = {
    "boston": (455, 13, 20),
    "concrete": (927, 8, 20),
    "energy": (691, 8, 20),
    "wine_red": (1_439, 11, 20),
    "yacht": (277, 6, 20),
}
NINE = {
    **SMALL,
    "kin8nm": (7_373, 8, 3),
    "naval": (10_741, 16, 3),
    "power": (8_611, 4, 3),
    "protein": (41_157, 9, 3),
}
LARGER = {
    "elevators": (14_940, 18, 2),
    "bike": (15_642, 17, 2),
    "pol": (13_500, 26, 2),
    "kin40k": (36_000, 8, 2),
    "parkinsons": (5_288, 20, 2),
    "sml": (3_724, 26, 2),
}
SETS = {**NINE, **LARGER}
GROUPS = {"small sets": SMALL, "sets": NINE, "larger sets": LARGER}
QUICK = ("energy", "yacht")
QUICK_SPLITS = 2
# Sets with fewer training rows than this are small. With more, a GP and explainable boosting take too
# long; the latter takes minutes even there, so it has the first splits only.
FEW_ROWS = 2_000
ONLY_FEW_ROWS = (GP, EXPLAINABLE)
EXPLAINABLE_SPLITS = 3
FOLDS = 5
INTERVAL = 0.95
# Half the width of that interval of a Gaussian, in standard deviations.
HALF_WIDTH = 1.96
# Small leaves matter where rows are few, large trees where they are many.
FEW_ROWS_GRID = {"learning_rate": (0.05, 0.1), "max_leaf_nodes": (8, 31), "min_samples_leaf": (5, 20)}
MANY_ROWS_GRID = {"learning_rate": (0.05, 0.1), "max_leaf_nodes": (8, 31, 127)}
# At most so many rounds of boosting; a fold stops when so many of them have brought nothing.
MAX_ROUNDS, PATIENCE = 2_000, 20
# What is required: sets of eight, sets of six, coverage on each set, and points of the mean from 95 %.
MIN_ABOVE_PUBLISHED, MIN_BETTER_THAN_BOOSTING = 7, 3
COVERAGE, MAX_POINTS_AWAY = (0.92, 0.97), 1.0
RIDGE_PENALTIES = np.geomspace(1e-4, 1e4, 33)
LIMIT = 1_800.0

# RMSE and log density of a row, in the units of the target, as published. MC dropout: Gal and Ghahramani
# (2016), on the same 20 splits (5 of protein). Sparse GP: 100 inducing points, on 10 other splits.
PUBLISHED = {
    "MC dropout": {
        "boston": (2.90, -2.40),
        "concrete": (4.82, -2.93),
        "energy": (0.54, -1.21),
        "kin8nm": (0.08, 1.14),
        "power": (4.01, -2.80),
        "protein": (4.27, -2.87),
        "wine_red": (0.62, -0.93),
        "yacht": (0.67, -1.25),
    },
    "sparse GP": {
        "boston": (2.59, -2.40),
        "concrete": (5.97, -3.17),
        "energy": (0.65, -1.08),
        "power": (3.97, -2.80),
        "protein": (4.40, -2.90),
        "yacht": (0.66, -0.77),
    },
}


# ---- methods -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fitted:
    """What a method has learnt: ``tell(X, y)`` returns means, log densities and whether y is inside."""

    tell: Callable
    kept: int


def gaussian(y, mean, std):
    """Return mean, log density and whether y is in the interval, of Gaussians."""
    z = (y - mean) / std
    return mean, -0.5 * z**2 - np.log(std) - 0.5 * math.log(2 * math.pi), np.abs(z) <= HALF_WIDTH


def of_residuals(model, variance, kept):
    """Return a model that predicts means, with the same Gaussian density at every row."""
    std = math.sqrt(variance)
    return Fitted(lambda X, y: gaussian(y, model.predict(X), std), kept)


def fit_laconism(X, y):
    model = LaconicRegressor().fit(X, y)

    def tell(X, y):
        low, high = model.predict_interval(X, INTERVAL)
        return model.predict(X), model.log_density(X, y), (low <= y) & (y <= high)

    return Fitted(tell, int(np.sum(model.n_relevant_)))


def fit_gp(X, y):
    """The better of two kernels with a length scale per feature, by the log marginal likelihood."""
    lengths = np.full(X.shape[1], math.sqrt(X.shape[1]))
    found = []
    for kernel in (RBF(lengths), Matern(lengths, nu=1.5)):
        noise = WhiteKernel(0.1, (1e-6, 10.0))
        model = GaussianProcessRegressor(ConstantKernel(1.0) * kernel + noise, n_restarts_optimizer=0)
        found.append(model.fit(X, y))
    best = max(found, key=lambda model: model.log_marginal_likelihood_value_)
    return Fitted(lambda X, y: gaussian(y, *best.predict(X, return_std=True)), len(X))


def folds_of(X):
    return list(KFold(FOLDS, shuffle=True, random_state=0).split(X))


def fit_boosting(X, y):
    """Learning rate, size of trees and number of rounds by cross-validation."""
    settings_of = FEW_ROWS_GRID if len(X) < FEW_ROWS else MANY_ROWS_GRID
    found = []
    for settings in ParameterGrid(settings_of):
        model = HistGradientBoostingRegressor(**settings, random_state=0)
        losses = left_out_losses(model, X, y)
        rounds = int(np.argmin(losses))
        found.append((losses[rounds], model.set_params(max_iter=rounds + 1, early_stopping=False)))
    variance, model = min(found, key=lambda pair: pair[0])
    return of_residuals(model.fit(X, y), variance, leaves(model))


def left_out_losses(model, X, y):
    """Return the mean squared error of left-out rows after each round of boosting.

    A fold that has stopped early keeps the error that it had then.
    """
    fold = clone(model).set_params(max_iter=MAX_ROUNDS, early_stopping=True, n_iter_no_change=PATIENCE)
    total = np.zeros(MAX_ROUNDS)
    for train, left_out in folds_of(X):
        fold.fit(X[train], y[train], X_val=X[left_out], y_val=y[left_out])
        # Minus half the mean squared error, before the first round and after each.
        losses = -2 * len(left_out) * fold.validation_score_[1:]
        total += np.pad(losses, (0, MAX_ROUNDS - len(losses)), mode="edge")
    return total / len(y)


def fit_explainable(X, y):
    """Default settings; a fit takes minutes, so the noise is that of one fifth only."""
    model = rival("interpret.glassbox").ExplainableBoostingRegressor(n_jobs=1)
    train, left_out = folds_of(X)[0]
    residuals = y[left_out] - model.fit(X[train], y[train]).predict(X[left_out])
    model.fit(X, y)
    return of_residuals(model, np.mean(residuals**2), len(model.term_names_))


def fit_ridge(X, y):
    model = RidgeCV(RIDGE_PENALTIES, scoring="neg_mean_squared_error").fit(X, y)  # leaves one out
    return of_residuals(model, -model.best_score_, int(np.count_nonzero(model.coef_)))


METHODS = {
    FLAGSHIP: fit_laconism,
    GP: fit_gp,
    BOOSTING: fit_boosting,
    EXPLAINABLE: fit_explainable,
    RIDGE: fit_ridge,
}


# ---- cells ---------------------------------------------------------------------------------------


def cells(quick):
    """One cell for each split, the first ones of every set first; what was interrupted goes on there."""
    found = []
    for case, (n, p, splits) in SETS.items():
        if quick and case not in QUICK:
            continue
        methods = [m for m in METHODS if m not in ONLY_FEW_ROWS or n < FEW_ROWS]
        found += [
            Cell(case, method, n, p, seeds=(seed,), limit=LIMIT)
            for seed in range(QUICK_SPLITS if quick else splits)
            for method in methods
            if method != EXPLAINABLE or seed < EXPLAINABLE_SPLITS
        ]
    return sorted(found, key=lambda cell: cell.seeds)


def run(cell, watch):
    watch.repeats = 1  # the splits are the repeats
    arrays = data_file(f"uci_{cell.case}")
    fit = METHODS[cell.method]
    # The first fit of a process pays for what it imports: a small one goes before.
    warm_up = np.random.default_rng(0).normal(size=(40, 2))
    fit(warm_up, warm_up[:, 0])
    for seed in cell.seeds:
        X, y, X_test, y_test, unit = split(arrays, seed)
        fitted, row = watch(lambda X=X, y=y: fit(X, y))
        mean, log_density, inside = fitted.tell(X_test, y_test)
        yield {
            **row,
            "seed": seed,
            "rmse": unit * float(np.sqrt(np.mean((y_test - mean) ** 2))),
            "log_density": float(np.mean(log_density)) - math.log(unit),
            "coverage": float(np.mean(inside)),
            "kept": fitted.kept,
        }


def split(arrays, seed):
    """Return standardised training and test rows of one split, and the unit of the target."""
    X, y = arrays["X"].astype(float), arrays["y"].astype(float)
    test = arrays["is_test"][seed]
    scaler = StandardScaler().fit(X[~test])
    mean, unit = y[~test].mean(), y[~test].std()
    y = (y - mean) / unit
    return scaler.transform(X[~test]), y[~test], scaler.transform(X[test]), y[test], float(unit)


# ---- the tables ----------------------------------------------------------------------------------


def means(rows, column, method):
    """Return the mean of a column for each set."""
    return {case: mean for case, (mean, _) in by_case(rows, column, method).items()}


def ranks(rows, column, group):
    """Return the mean rank of each method that ran on all sets of a group; the best has the lowest.

    The values of a set are means over the splits that all of these methods finished.
    """
    finished = [m for m in METHODS if group and all(rows.where(case=c, method=m) for c in group)]
    values = {m: {} for m in finished}
    for case in group:
        of = {m: {row["seed"]: row[column] for row in rows.where(case=case, method=m)} for m in finished}
        common = set.intersection(*map(set, of.values())) if of else set()
        for m in finished if common else ():
            mean = statistics.fmean(of[m][seed] for seed in common)
            values[m][case] = mean if column == "rmse" else -mean
    return mean_ranks(values) if len(values) > 1 else {}


NAMES = {
    "rmse": "RMSE",
    "log_density": "log density",
    "coverage": "in the 95 % interval, %",
    "kept": "kept",
    "cpu_seconds": "CPU seconds",
}


def tables(rows):
    """Return head and rows of each table: every method on every set, published numbers, mean ranks."""
    measured = [case for case in SETS if rows.where(case=case)]
    parts = []
    for column, what in NAMES.items():
        found = {m: by_case(rows, column, m) for m in METHODS}
        found = {m: cases for m, cases in found.items() if cases}
        found |= published_columns(column, measured)
        head, body = grid(what, found, measured, functools.partial(_text, column))
        for label, values in _below(rows, column, measured):
            body.append([label, *(f"{values[m]:.2f}" if m in values else "" for m in found)])
        if found:
            parts.append((head, body))
    return parts


def published_columns(column, measured):
    """Return what was published of the sets that were measured, by its source."""
    which = ("rmse", "log_density").index(column) if column in ("rmse", "log_density") else None
    columns = {
        source: {case: (of[case][which],) for case in measured if case in of}
        for source, of in PUBLISHED.items()
        if which is not None
    }
    return {source: cases for source, cases in columns.items() if cases}


def _below(rows, column, measured):
    """Return what stands below a table: mean ranks in groups of sets, or the mean coverage."""
    groups = {}
    for name, group in GROUPS.items():
        cases = tuple(case for case in group if case in measured)
        if cases:  # as long as only small sets were measured, they are one group
            groups.setdefault(cases, f"{len(cases)} {name}")
    if column in ("rmse", "log_density"):
        return [(f"mean rank, {name}", ranks(rows, column, group)) for group, name in groups.items()]
    if column != "coverage":
        return []
    below = []
    for group, name in groups.items():
        of = {m: means(rows, column, m) for m in METHODS}
        whole = {m: [of[m][case] for case in group] for m in of if set(group) <= of[m].keys()}
        below.append((f"mean, {name}", {m: 100 * statistics.fmean(v) for m, v in whole.items()}))
    return below


def _text(column, mean, error=None):
    """Return mean and standard error as a table shows them; coverage is in per cent."""
    if column == "log_density":
        return f"{mean:.3f}" + ("" if error is None else f" ({error:.3f})")
    if column == "coverage":
        return f"{100 * mean:.1f} ({100 * error:.1f})"
    return three_digits(mean, error)


def details(rows):
    return "\n\n".join(plain(*table) for table in tables(rows))


# ---- what is required ----------------------------------------------------------------------------


def published_best(case):
    """Return the better log density that was published, or None."""
    values = [of[case][1] for of in PUBLISHED.values() if case in of]
    return max(values, default=None)


def tried(rows, group):
    """Return whether the flagship was run on each set of a group, to whatever end."""
    ran = ("ok", "failed", "time limit")
    found = {row["case"] for row in rows if row["method"] == FLAGSHIP and row["status"] in ran}
    return found.issuperset(group)


def margin(rows, column):
    """Return the flagship's mean rank on the nine sets above that of the best rival."""
    rank = ranks(rows, column, NINE)
    rivals = [value for m, value in rank.items() if m != FLAGSHIP]
    return rank[FLAGSHIP] - min(rivals) if FLAGSHIP in rank else None


def bars(rows):
    density = means(rows, "log_density", FLAGSHIP)
    coverage = means(rows, "coverage", FLAGSHIP)

    published = [case for case in SETS if published_best(case) is not None]
    above = sum(density.get(case, -math.inf) >= published_best(case) for case in published)
    errors = {case: error for case, (_, error) in by_case(rows, "log_density", FLAGSHIP).items()}
    level = sum(
        density.get(case, -math.inf) + errors.get(case, 0.0) >= published_best(case)
        for case in published
    )
    compared = tried(rows, LARGER) and all(rows.where(case=c, method=BOOSTING) for c in LARGER)
    pairs = [rows.paired("rmse", FLAGSHIP, BOOSTING, case=case) for case in LARGER]
    better = sum(None not in pair and pair[0] <= pair[1] for pair in pairs)
    low, high = COVERAGE
    outside = sum(not low <= coverage.get(case, math.inf) <= high for case in NINE)
    complete = coverage.keys() >= NINE.keys()
    mean = statistics.fmean(coverage[case] for case in NINE) if complete else None
    away = None if mean is None else 100 * abs(mean - INTERVAL)
    return [
        Bar(
            f"sets with a log density at or above the better published one, of {len(published)}",
            above if tried(rows, published) else None,
            ">=",
            MIN_ABOVE_PUBLISHED,
        ),
        Bar("mean rank in RMSE above the best rival's, nine sets", margin(rows, "rmse"), "<=", 0.0),
        Bar(
            "mean rank in log density above the best rival's, nine sets",
            margin(rows, "log_density"),
            "<=",
            0.0,
        ),
        Bar(
            f"larger sets with an RMSE at or below that of {BOOSTING}, of {len(LARGER)}",
            better if compared else None,
            ">=",
            MIN_BETTER_THAN_BOOSTING,
        ),
        Bar(
            f"sets whose coverage is not {100 * low:g} to {100 * high:g} %, of nine",
            outside if tried(rows, NINE) else None,
            "<=",
            0,
        ),
        Bar(
            "mean coverage of the 95 % intervals over the nine sets, away from 95 %, in points",
            away,
            "<=",
            MAX_POINTS_AWAY,
        ),
        Bar(
            "sets at or above the better published density, or within a standard error of it",
            level if tried(rows, published) else None,
            ">=",
            MIN_ABOVE_PUBLISHED,
        ),
    ]
