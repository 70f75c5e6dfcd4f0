"""A weight of three is a row written three times, and a weight of zero a row left out: everywhere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_classification, make_friedman1, make_moons

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
    SparseBayesRegressor,
)

KERNELS = ("rbf", "poly", "matern", None)
INFERENCES = ("sequential", "evidence", "variational")
CLASSIFIERS = [
    *(SparseBayesClassifier(kernel=kernel) for kernel in KERNELS),
    *(SparseBayesClassifier(prior, kernel="rbf") for prior in ("laplace", "generalized_gaussian")),
    *(LaconicClassifier(kernel=kernel) for kernel in KERNELS),
    RVMClassifier(),
    *(RVMClassifier(inference=inference, calibrate=False) for inference in INFERENCES),
    JCFOClassifier(),
    GridRVMClassifier(basis="per_feature_rbf"),
]
REGRESSORS = [
    *(SparseBayesRegressor(kernel=kernel) for kernel in KERNELS),
    *(LaconicRegressor(kernel=kernel) for kernel in KERNELS),
    *(RVMRegressor(inference=inference) for inference in INFERENCES),
    JCFORegressor(),
    GridRVMRegressor(basis="per_feature_rbf"),
]


def name(model):
    return repr(model)


def both_ways(model, X, y, seed):
    """Return the model fitted on weighted rows, and on rows written as often."""
    weight = np.random.default_rng(seed).integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    model.fit(X, y, sample_weight=weight)
    weighted = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    model.fit(X[rows], y[rows])
    written = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    return weighted, written


@pytest.mark.slow
@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
@pytest.mark.parametrize("classes", [2, 3])
def test_of_classes(model, classes):
    if classes == 2:
        X, y = make_moons(100, noise=0.3, random_state=1)
    else:
        X, y = make_classification(100, 5, n_informative=3, n_classes=3, random_state=3)
    assert_allclose(*both_ways(model, X, y, classes), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("model", REGRESSORS, ids=name)
def test_of_values(model):
    X, y = make_friedman1(80, noise=1.0, random_state=1)
    assert_allclose(*both_ways(model, X, y, 1), atol=1e-4 * y.std())
