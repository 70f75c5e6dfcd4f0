"""Columns of 1e-160 to 1e60 beside each other and weights of 1e-12 to 1e12: numbers, and no warnings."""

import warnings

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from laconism import GridRVMClassifier, GridRVMRegressor, JCFOClassifier, RVMClassifier

MODELS = [
    GridRVMClassifier(),
    GridRVMRegressor(),
    GridRVMRegressor(basis="per_feature_rbf"),
    JCFOClassifier(),
    RVMClassifier(calibrate=False),
]


def draw(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(8, 50)), int(rng.integers(1, 6))
    X = 3 * rng.normal(size=(n, p))
    X *= 10.0 ** rng.choice([-160, -100, -78, -40, -10, 0, 10, 40, 60], size=rng.choice([1, p]))
    y = rng.normal(size=n) + (X[:, 0] / X[:, 0].std() if X[:, 0].std() > 0 else 0)
    return X, y, 10 ** rng.uniform(-12, 12, n) if rng.random() < 0.6 else None


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model))
@pytest.mark.parametrize("seed", [2, 7, 13])
def test_extreme_columns_and_weights(model, seed):
    X, y, weight = draw(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if not is_classifier(model):
            model.fit(X, y, sample_weight=weight)
            assert np.isfinite(model.predict_dist(X)).all()
            return
        model.fit(X, (y > np.median(y)).astype(int), sample_weight=weight)
    P = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[P.argmax(axis=1)])
