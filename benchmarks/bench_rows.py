"""The flagship on labels with 2,000 to 5,000 training rows, beside boosting, forest and logistic models.

The methods, their grids and what is kept are those of the ida benchmark. Features are standardised for
everybody.
"""

import functools

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from . import bench_ida as ida
from ._development import arrays_of, delimited
from ._harness import Bar, Cell
from ._tables import by_case, grid, mean_ranks, plain

METRICS = ida.METRICS
METHODS = (ida.FLAGSHIP, "gradient boosting", "random forest", "L1 logistic CV")
SEEDS = (0, 1)
MAX_TEST_ROWS = 5_000
LIMIT = 900.0


def table(name):
    """Return features and labels of a published table."""
    X, y = arrays_of(name)
    return X, y > 0


def spam():
    X, y = delimited("esl_spam", 57, 57)
    return X, np.unique(y, return_inverse=True)[1] > 0


def houses():
    """Houses above the median price."""
    X, y = delimited("california_housing", 8, 8)
    return X, y > np.median(y)


def halved(name):
    """Return a regression table with its targets above the median as labels."""
    X, y = arrays_of(name)
    return X, y > np.median(y)


# training rows, features, and the table
SETS = {
    "banana": (3_000, 2, lambda: table("ida_banana")),
    "waveform": (3_000, 21, lambda: table("ida_waveform")),
    "twonorm": (3_000, 20, lambda: table("ida_twonorm")),
    "splice": (2_000, 60, lambda: table("ida_splice")),
    "spam": (3_000, 57, spam),
    "houses": (5_000, 8, houses),
    "kin8nm": (5_000, 8, lambda: halved("uci_kin8nm")),
    "elevators": (4_000, 18, lambda: halved("uci_elevators")),
}
QUICK = ("banana",)


def cells(quick):
    return [
        Cell(case, method, n, p, seeds=SEEDS[:1] if quick else SEEDS, limit=LIMIT)
        for case, (n, p, _) in SETS.items()
        if not quick or case in QUICK
        for method in METHODS
    ]


def run(cell, watch):
    watch.repeats = 1  # the splits are the repeats
    n, _, make = SETS[cell.case]
    X, y = make()
    fit = ida.METHODS[cell.method]
    warm_up = np.random.default_rng(0).normal(size=(30, 2))
    fit(0.5, warm_up, (warm_up[:, 0] > 0).astype(int))
    for seed in cell.seeds:
        X_train, X_test, y_train, y_test = train_test_split(
            X.astype(float), y.astype(int), train_size=n, random_state=seed, stratify=y
        )
        scaler = StandardScaler().fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test[:MAX_TEST_ROWS])
        gamma = 1 / X.shape[1]
        model, row = watch(lambda X=X_train, y=y_train, gamma=gamma: fit(gamma, X, y))
        said = ida.scores(model, X_test, y_test[:MAX_TEST_ROWS], least=ida.LEAST_PROBABILITY)
        yield {**row, "seed": seed, **said, "kept": ida.kept(model)}


def ranks(rows, column):
    """Return the mean rank of each method over the sets."""
    found = {m: by_case(rows, column, m) for m in METHODS}
    return mean_ranks({m: {case: v for case, (v, _) in of.items()} for m, of in found.items() if of})


def tables(rows):
    """Return head and rows of each table: every method on every set, with standard errors and ranks."""
    names = {"error": "error", "log_loss": "log-loss", "kept": "kept", "cpu_seconds": "CPU seconds"}
    parts = []
    for column, what in names.items():
        found = {m: by_case(rows, column, m) for m in METHODS}
        head, body = grid(what, found, list(SETS), functools.partial(ida.text, column))
        if column in ("error", "log_loss"):
            rank = ranks(rows, column)
            body.append(["mean rank", *(f"{rank[m]:.2f}" if m in rank else "" for m in found)])
        parts.append((head, body))
    return parts


def details(rows):
    return "\n\n".join(plain(*table) for table in tables(rows))


def bars(rows):
    rank = ranks(rows, "log_loss")
    rivals = [value for m, value in rank.items() if m != ida.FLAGSHIP]
    margin = rank[ida.FLAGSHIP] - min(rivals) if ida.FLAGSHIP in rank and rivals else None
    return [Bar("mean rank in log-loss above the best rival's", margin, "<=", 0.0)]
