"""Units, weights, repetitions and order of rows do not matter."""

import numpy as np
import pytest

from flagship_cases import both, check_same, data, nats, says
from laconism import LaconicClassifier, LaconicRegressor
from laconism.datasets import make_ripley


@both
@pytest.mark.parametrize("kernel", ["rbf", "matern", None])
def test_units_of_the_features(kind, kernel):
    X, y = data(kind, 60)
    model = kind(kernel).fit(X, y)
    scale, shift = np.array([1e-3, 1e3]), np.array([-3e-3, 2e3])
    Z = X * scale + shift
    check_same(model, X, kind(kernel).fit(Z, y), Z, rtol=1e-5)


@pytest.mark.parametrize("seed", [4, 7, 13])
def test_units_of_the_features_where_kernels_are_much_alike(seed):
    """Wide kernels are nearly polynomials: which of them are kept must not depend on rounding."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    y = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.5 * rng.normal(size=80)
    Z = X * 10.0 ** rng.uniform(-3, 3, size=3)
    check_same(LaconicRegressor().fit(X, y), X, LaconicRegressor().fit(Z, y), Z, rtol=1e-5)


@both
@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_scales_of_the_features_for_the_kernels_of_products(kind, kernel):
    X, y = data(kind, 60)
    model = kind(kernel).fit(X, y)
    Z = X * np.array([1e-3, 1e3])
    np.testing.assert_allclose(says(kind(kernel).fit(Z, y), Z), says(model, X), rtol=1e-4, atol=1e-4)


@both
@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_shifts_of_the_features_for_the_kernels_of_products(kind, kernel):
    """Standardised inside, says the docstring: where the features' zero is makes no difference."""
    X, y = data(kind, 60)
    model, Z = kind(kernel).fit(X, y), X + 100.0
    np.testing.assert_allclose(says(kind(kernel).fit(Z, y), Z), says(model, X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("kernel", "shift"),
    [
        ("rbf", 1e6),
        (None, 1e6),
        ("rbf", 1e8),
        (None, 1e8),
    ],
)
def test_features_far_from_zero(kernel, shift):
    """Eight digits are left of a feature at 1e8 with deviation one: enough to classify."""
    X, y = make_ripley(100, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model, other = LaconicClassifier(kernel).fit(X, y), LaconicClassifier(kernel).fit(X + shift, y)
    np.testing.assert_allclose(other.predict_proba(X + shift), model.predict_proba(X), atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["rbf", None])
@pytest.mark.parametrize(
    ("scale", "shift"), [(1e-3, 0.0), (1e3, -5.0), (-1.0, 1e3), (1e-6, 1.0), (1e60, 0.0)]
)
def test_units_of_the_targets(kernel, scale, shift):
    X, y = data(LaconicRegressor, 60)
    mean, std = LaconicRegressor(kernel).fit(X, y).predict_dist(X)
    other = LaconicRegressor(kernel).fit(X, scale * y + shift).predict_dist(X)
    np.testing.assert_allclose((other[0] - shift) / scale, mean, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(other[1] / abs(scale), std, rtol=1e-4)


def test_targets_far_from_zero_may_weigh_features():
    """Four digits are left of their differences, which were taken as if there were sixteen."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = 1000 + 1e-9 * (X[:, 0] + 0.1 * np.random.default_rng(1).normal(size=200))
    model = LaconicRegressor().fit(X, y)
    assert model.score(X, y) > 0.95
    assert np.isfinite(model.feature_scales_).all()


@pytest.mark.parametrize("kernel", ["rbf", None])
def test_swapped_labels(kernel):
    X, y = data(LaconicClassifier, 60)
    model, other = LaconicClassifier(kernel).fit(X, y), LaconicClassifier(kernel).fit(X, 1 - y)
    np.testing.assert_allclose(other.predict_proba(X)[:, ::-1], model.predict_proba(X), atol=1e-6)


@both
@pytest.mark.parametrize("kernel", ["rbf", None])
def test_weight_is_repetition(kind, kernel):
    X, y = data(kind, 50)
    times = np.random.default_rng(1).integers(0, 4, size=50)
    repeated = kind(kernel).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    weighted = kind(kernel).fit(X, y, sample_weight=times)
    np.testing.assert_allclose(says(weighted, X), says(repeated, X), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(nats(weighted), nats(repeated), rtol=1e-3, atol=1e-9)


@both
@pytest.mark.parametrize("kernel", ["rbf", None])
def test_weight_zero_is_removal(kind, kernel):
    X, y = data(kind, 60)
    weight = (np.arange(60) % 3 > 0).astype(float)
    kept = weight > 0
    removed = kind(kernel).fit(X[kept], y[kept])
    model = kind(kernel).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(says(model, X), says(removed, X))
    if kernel:
        np.testing.assert_array_equal(model.relevance_, np.flatnonzero(kept)[removed.relevance_])
        np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])


@both
def test_order_of_the_rows(kind):
    X, y = data(kind, 60)
    order = np.random.default_rng(0).permutation(60)
    one, other = kind().fit(X, y), kind().fit(X[order], y[order])
    np.testing.assert_allclose(says(other, X), says(one, X), rtol=1e-5, atol=1e-5)


def test_order_of_many_rows():
    """The width comes from a part of the rows; which part must not be one class by accident."""
    rng = np.random.default_rng(0)
    n = 1199
    X, y = rng.normal(size=(n, 2)), np.arange(n) % 2
    X[y == 1] += 1.5
    order = rng.permutation(n)
    one, other = LaconicClassifier().fit(X, y), LaconicClassifier().fit(X[order], y[order])
    new = rng.normal(size=(500, 2)) + 0.75
    np.testing.assert_allclose(one.predict_proba(new), other.predict_proba(new), atol=0.05)


def test_class_weight():
    X, y = data(LaconicClassifier, 60)
    y[:20] = 0
    balanced = LaconicClassifier(class_weight="balanced").fit(X, y)
    weight = 60 / (2 * np.bincount(y))[y]
    weighted = LaconicClassifier().fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(balanced.predict_proba(X), weighted.predict_proba(X), rtol=1e-10)
    plain = LaconicClassifier().fit(X, y)
    assert balanced.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()
