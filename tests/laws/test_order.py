"""The order of rows and columns does not matter: 210 draws with ties, heavy tails and duplicates."""

import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from laconism import (
    GridRVMClassifier,
    GridRVMRegressor,
    JCFOClassifier,
    JCFORegressor,
    LaconicClassifier,
    LaconicRegressor,
    RVMClassifier,
    RVMRegressor,
    SparseBayesClassifier,
    SparseBayesClassifierCV,
    SparseBayesRegressor,
    SparseBayesRegressorCV,
)

# Ten draws in each block, and the number of blocks of each family.
DRAWS = 10
BLOCKS = {"sparse": 9, "search": 1, "rvm": 4, "grid": 3, "jcfo": 1, "laconic": 3}
KERNELS = (None, "rbf", "matern")
FAMILIES = {
    "sparse": (SparseBayesClassifier, SparseBayesRegressor),
    "search": (SparseBayesClassifierCV, SparseBayesRegressorCV),
    "rvm": (RVMClassifier, RVMRegressor),
    "grid": (GridRVMClassifier, GridRVMRegressor),
    "jcfo": (JCFOClassifier, JCFORegressor),
    "laconic": (LaconicClassifier, LaconicRegressor),
}
# What a family may be given, beside its defaults.
SETTINGS = {
    "sparse": {"prior": ("jeffreys", "laplace"), "kernel": KERNELS},
    "rvm": {"kernel": KERNELS},
    "jcfo": {"kernel": ("rbf", "linear")},
}


def columns(rng, n, p):
    """Return features of one kind: normal, skewed, heavy-tailed, with ties, two-valued, repeated."""
    X = rng.normal(size=(n, p))
    kind = rng.integers(6)
    if kind == 1:
        X = np.exp(1.5 * X)
    elif kind == 2:
        X = rng.standard_t(1, size=(n, p))
    elif kind == 3:
        X = np.round(2 * X) / 2
    elif kind == 4:
        X = (X > 0).astype(float)
    elif kind == 5:
        X[n // 2 :] = X[: n - n // 2]
    return X


def draw(family, seed):
    rng = np.random.default_rng([seed, sum(map(ord, family))])
    n, p = int(rng.integers(25, 60)), int(rng.integers(2, 7))
    X = columns(rng, n, p)
    Z = X - np.median(X, axis=0)
    Z = Z / (np.abs(Z).mean(axis=0) + 1e-9)
    f = Z[:, 0] + Z[:, 1] ** 2 / 2 - np.sin(Z[:, -1])
    y = f + 0.5 * f.std() * rng.normal(size=n)
    kind = FAMILIES[family][seed % 2]
    given = {name: rng.choice(values) for name, values in SETTINGS.get(family, {}).items()}
    model = kind(**{name: value if value is None else str(value) for name, value in given.items()})
    if is_classifier(model):
        y = (y > np.quantile(y, 0.3)).astype(int)
    return model, X, y, rng.permutation(n), rng.permutation(p)


def predictions(model, X):
    if is_classifier(model):
        return model.predict_proba(X)
    return np.column_stack(model.predict_dist(X))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "block"), [(name, block) for name, blocks in BLOCKS.items() for block in range(blocks)]
)
def test_order_of_rows_and_columns(family, block):
    for seed in range(DRAWS * block, DRAWS * (block + 1)):
        model, X, y, rows, cols = draw(family, seed)
        unit = 1.0 if is_classifier(model) else y.std()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of either order
            first = predictions(model.fit(X, y), X)
            other = predictions(model.fit(X[rows], y[rows]), X)
            turned = predictions(model.fit(X[:, cols], y), X[:, cols])
        np.testing.assert_allclose(other, first, atol=1e-6 * unit, err_msg=f"rows, {family} {seed}")
        np.testing.assert_allclose(turned, first, atol=1e-6 * unit, err_msg=f"columns, {family} {seed}")
