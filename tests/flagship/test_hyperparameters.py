"""Width, weights of features, rows of the search, squashed features."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal
from sklearn.datasets import (
    make_friedman1,
)
from sklearn.metrics import log_loss

from flagship_cases import both, data, nats, root_mean_square, says
from laconism import LaconicClassifier, LaconicRegressor
from laconism.flagship import build_path, projection, references
from laconism.flagship import path as _path
from laconism.flagship.evidence import ProcessEvidence
from laconism.flagship.kernel_family import KernelFamily, weighted_quartiles
from laconism.flagship.rows import MAX_SEARCHED_LABELS, MAX_SEARCHED_VALUES, TrainingRows
from laconism.flagship.tasks import projection_task


def process(X, y, weight, intercept):
    """Return the log evidence of a kernel with feature weights, and its slopes in weights and ratio."""
    family = KernelFamily.of("rbf", 3, 1.0, None, X, weight)
    evidence = ProcessEvidence([y], weight, intercept)

    def value(theta, ratio, width):
        kernel = family.kernel_at(width, theta)
        K = ratio * kernel(X, X)
        found, W = evidence.at(K)
        return found, kernel.gradient(X, X, ratio * W) / family.unit, np.vdot(W, K)

    return value


def test_weights_of_features_are_judged_by_the_evidence():
    """Up to a constant it is the density of the targets at the best noise, a constant added."""
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(12, 3)) * [1.0, 5.0, 0.1], np.ones(12)
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=12)

    def theirs(theta, ratio):
        K = np.exp(-0.5 * cdist(*2 * [X * np.sqrt(theta) / X.std(axis=0)], "sqeuclidean") / 3)
        cov = ratio * K + np.eye(12)
        best = y @ np.linalg.solve(cov, y) / 12
        return multivariate_normal(np.zeros(12), best * cov).logpdf(y)

    value = process(X, y, weight, False)
    points = [(np.array([1.0, 0.5, 1.5]), 3.0), (np.array([2.0, 0.0, 0.1]), 30.0)]
    ours = [value(*point, 0)[0] for point in points]
    np.testing.assert_allclose(np.diff(ours), np.diff([theirs(*point) for point in points]), rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_slopes_of_the_evidence_are_its_differences(intercept):
    rng = np.random.default_rng(1)
    X, weight = rng.normal(size=(15, 3)) * [1.0, 5.0, 0.1], rng.uniform(0.5, 2.0, size=15)
    y = 3 + np.sin(X[:, 0]) + 0.1 * rng.normal(size=15)
    value, h = process(X, y, weight, intercept), 1e-5
    theta, ratio = np.array([1.0, 0.5, 1.5]), 3.0
    _, slopes, slope = value(theta, ratio, 1)
    for k, step in enumerate(h * np.eye(3)):
        up, down = (value(theta + sign * step, ratio, 1)[0] for sign in (1, -1))
        np.testing.assert_allclose(slopes[k], (up - down) / (2 * h), rtol=1e-5)
    up, down = (value(theta, ratio * np.exp(sign * h), 1)[0] for sign in (1, -1))
    np.testing.assert_allclose(slope, (up - down) / (2 * h), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_features_that_say_nothing_weigh_nothing(seed):
    """By one step along the slopes of the latent the errors were .84 and, unweighed, 1.75."""
    X, y = make_friedman1(200, noise=1.0, random_state=seed)
    new_X, f = make_friedman1(500, noise=0.0, random_state=100 + seed)
    model = LaconicRegressor().fit(X, y)
    assert root_mean_square(model.predict(new_X) - f) < 0.75
    assert model.feature_scales_[5:].max() < 0.1
    assert model.feature_scales_[:2].min() > 2
    np.testing.assert_allclose(model.feature_scales_.mean(), 1.0)


def training_rows(kind, X, y, weight=None):
    """Return the rows of a fit, and their places among those that are given."""
    found = kind()._fit_data(X, y, weight)
    return TrainingRows.of(found, projection_task(found), intercept=True)


def test_a_search_on_few_rows_has_them_all():
    X = np.random.default_rng(0).normal(size=(1500, 3))
    rows, _ = training_rows(LaconicRegressor, X[:300], X[:300, 0])
    assert rows.searched() is rows
    assert rows.refined() is None
    assert training_rows(LaconicRegressor, X, X[:, 0])[0].refined() is None  # hardly more


@both
def test_a_search_ends_with_more_rows_in_whatever_order(kind):
    X = np.random.default_rng(0).normal(size=(5000, 3))
    y = X[:, 0] > 0 if kind is LaconicClassifier else X[:, 0]
    rows, _ = training_rows(kind, X, y)
    few, more = rows.searched(), rows.refined()
    most = MAX_SEARCHED_LABELS if kind is LaconicClassifier else MAX_SEARCHED_VALUES
    assert few.weight.size == most < more.weight.size < len(X)
    order = np.random.default_rng(1).permutation(len(X))
    again, _ = training_rows(kind, X[order], y[order])
    np.testing.assert_array_equal(again.searched().X, few.X)
    np.testing.assert_array_equal(again.refined().X, more.X)
    # The targets that are searched are like all of them.
    assert abs(few.targets[0].mean() - rows.targets[0].mean()) < 0.05


@both
def test_the_order_of_the_rows_of_a_fit_does_not_depend_on_the_order_given(kind):
    X, y = data(kind, 60)
    rows, kept = training_rows(kind, X, y)
    np.testing.assert_array_equal(rows.X, X[kept])
    targets = 2.0 * y - 1 if kind is LaconicClassifier else y
    np.testing.assert_array_equal(rows.targets[0], targets[kept])
    order = np.random.default_rng(1).permutation(60)
    again, places = training_rows(kind, X[order][:, ::-1], y[order])
    np.testing.assert_array_equal(order[places], kept)
    np.testing.assert_array_equal(again.X, rows.X[:, ::-1])


@both
def test_duplicates_with_one_target_are_no_more_evidence(kind):
    X, y = data(kind, 60)
    for times, expected in ((2.0, 1.0), (0.5, 0.5)):
        rows, _ = training_rows(kind, X, y, np.full(60, times))
        np.testing.assert_allclose(rows.weight, expected)
    rows, _ = training_rows(kind, np.tile(X, (3, 1)), np.tile(y, 3))
    np.testing.assert_allclose(rows.weight, np.ones(60))
    # Equal rows with different targets are few rows, each observed many times.
    y = np.concatenate([y, 1 - y])
    np.testing.assert_allclose(
        training_rows(kind, np.tile(X, (2, 1)), y, np.full(120, 2.0))[0].weight, 2
    )


@pytest.mark.slow
def test_the_more_rows_the_narrower_the_kernel():
    """What 600 rows cannot resolve: on all of them the width would be that of the noise's average."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(3000, 2))
    y = np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1]) + rng.normal(size=3000)
    coarse = LaconicRegressor().fit(X[:600], y[:600])
    fine = LaconicRegressor().fit(X, y)
    Z = rng.uniform(-1, 1, size=(2000, 2))
    truth = np.sin(9 * Z[:, 0]) * np.cos(7 * Z[:, 1])
    rest = [np.mean((model.predict(Z) - truth) ** 2) for model in (coarse, fine)]
    assert rest[1] < 0.4 * rest[0]
    assert fine.n_relevant_ > 64 or fine.path_[-1].nats <= fine.tolerance_


@both
def test_many_rows_are_judged_by_some_and_spanned_by_few(kind, monkeypatch):
    """What is done with many rows, done with few of them: a little more is needed to say the same."""
    X, y = data(kind, 400)
    whole = kind(gamma=0.5).fit(X, y)
    for module in (_path, build_path):
        monkeypatch.setattr(module, "MAX_EVALUATION_ROWS", 200)
    monkeypatch.setattr(references, "MAX_ENTRIES", 1000)
    monkeypatch.setattr(projection, "_TALL_EXTRA_ROWS", 10)
    model = kind(gamma=0.5).fit(X, y)
    assert model._built.basis.n_columns < 200
    assert abs(model.n_relevant_ - whole.n_relevant_) <= 0.25 * whole.n_relevant_
    np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])
    np.testing.assert_array_equal(says(model.slim(), X), says(model, X))
    judges = _path.evaluation_rows(whole.reference_[0].m)
    assert judges.size == 200
    np.testing.assert_allclose(nats(model)[:3], nats(whole)[:3], rtol=0.2)
    away = says(model, X) - says(whole, X)
    assert np.sqrt((away**2).mean()) < 0.03 * says(whole, X)[:, 0].std() + 0.01


def long_tails(n=200, seed=0):
    """Return rows of which a few are far away, whose class is told by the order of their features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_cauchy(size=(n, 3))
    f = 2 * np.tanh(X[:, 0]) - 1.5 * np.tanh(X[:, 1])
    return X, (f + 0.4 * rng.logistic(size=n) > 0).astype(int)


def test_features_with_long_tails_are_squashed():
    (X, y), (X_new, y_new) = long_tails(), long_tails(1000, 1)
    model = LaconicClassifier().fit(X, y)
    assert model.kernel_.spread is not None
    # The features are seen as they would be if one unit had been as far as another.
    by_hand = LaconicClassifier().fit(np.arcsinh(X), y)
    nats, expected = (
        log_loss(y_new, fitted.predict_proba(rows))
        for fitted, rows in ((model, X_new), (by_hand, np.arcsinh(X_new)))
    )
    assert nats < expected + 0.03


def test_squashed_features_have_no_units_and_weights_are_repeated_rows():
    X, y = long_tails()
    matrices = []
    for rows in (X, X * [1e-3, -1.0, 1e4] + [1.0, 2.0, -3.0]):
        family = KernelFamily.of("rbf", 3, 1.0, None, rows, np.ones(y.size)).squashed(
            rows, np.ones(y.size)
        )
        matrices.append(family.kernel_at(0.0, np.ones(3))(rows, rows))
    np.testing.assert_allclose(*matrices, atol=1e-8)
    times = np.random.default_rng(2).integers(0, 3, size=y.size)
    weighted = LaconicClassifier().fit(X, y, sample_weight=times)
    repeated = LaconicClassifier().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.kernel_.spread is not None
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_features_without_long_tails_are_not_squashed():
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(150, 3))
    rare = np.column_stack([normal, np.arange(150) < 2])  # far away, but one value like another
    for X in (normal, rare):
        family = KernelFamily.of("rbf", 3, 1.0, None, X, np.ones(150))
        assert family.squashed(X, np.ones(150)) is None
    X = np.exp(2 * rare)
    assert KernelFamily.of("rbf", 3, 1.0, None, X, np.ones(150)).squashed(X, np.ones(150)) is not None


def test_quartiles_of_rows_with_weights_are_those_of_repeated_rows():
    rng = np.random.default_rng(0)
    X, times = rng.integers(0, 9, size=(40, 5)).astype(float), rng.integers(1, 4, size=40)
    found = weighted_quartiles(X, times.astype(float))
    expected = np.quantile(
        np.repeat(X, times, axis=0), [0.25, 0.5, 0.75], axis=0, method="averaged_inverted_cdf"
    )
    np.testing.assert_array_equal(np.stack(found), expected)
