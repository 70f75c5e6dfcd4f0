"""Features that outnumber rows and all count: more of them are kept than are chosen one by one."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from flagship_cases import on_features
from laconism import LaconicClassifier, LaconicRegressor
from laconism.cli.inspect import _sizes
from laconism.design import DenseDesign
from laconism.flagship.projection import Projection
from laconism.flagship.references import fit_references
from laconism.flagship.rows import TrainingRows
from laconism.flagship.tasks import ValueProjection
from laconism.flagship.wide_projection import LossWeights, WideProjection, left_out_by_size
from laconism.inspection import ProjectionDisplay
from laconism.judging.folds import N_FOLDS, balanced_folds
from laconism.likelihoods import Gaussian, Probit


def weak(n=50, p=600, shift=0.2, seed=0):
    """Return rows of two classes that differ by little in a third of all features, and new ones."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n + 1000) % 2)
    X = rng.normal(size=(n + 1000, p))
    X[:, : p // 3] += shift * rng.choice([-1, 1], size=p // 3) * (2 * y - 1)[:, None]
    return X[:n], y[:n], X[n:], y[n:]


def sums(n=60, p=300, seed=0):
    """Return rows whose value is a sum of all features, and new ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 1000, 8)) @ rng.normal(size=(8, p)) / 4 + rng.normal(size=(n + 1000, p))
    f = X @ rng.normal(size=p)
    y = 3 * f / f.std() + rng.normal(size=n + 1000)
    return X[:n], y[:n], X[n:], y[n:]


@pytest.fixture(scope="module")
def many():
    X, y, X_new, y_new = weak()
    return LaconicClassifier().fit(X, y), X_new, y_new


def log_loss(model, X, y):
    return -model.predict_log_proba(X)[np.arange(y.size), y].mean()


def test_what_all_features_say_is_said_by_many(many):
    model, X, y = many
    m, v = model.reference_[0].latent(X)
    reference = -Probit().predictive(2.0 * y - 1, m, v).mean()
    assert model.n_relevant_ > 64
    assert log_loss(model, X, y) < reference + 0.02
    assert log_loss(model.with_kernels(64), X, y) > reference + 0.1
    said = replace(model._paths[0], selected=64).message(64, "features", 0.002, 0.0)
    assert said.startswith("64 features lose")
    assert said.endswith("Cross-validation does not clearly prefer more features.")


def test_few_features_that_say_all_stay_few():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 400))
    y = X[:, 3] + X[:, 7] + 0.3 * rng.normal(size=80) > 0
    assert LaconicClassifier().fit(X, y).n_relevant_ < 10


@pytest.mark.slow
def test_a_limit_or_a_tolerance_is_kept_to():
    X, y, _, _ = weak()
    assert LaconicClassifier(max_kernels=20).fit(X, y).n_relevant_ <= 20
    model = LaconicClassifier(tolerance=1e-3).fit(X, y)
    nats = {point.kernels: point.nats for point in model.path_}
    assert nats[model.n_relevant_] <= 1e-3


def test_sizes_beyond_those_one_by_one_leave_some_out(many):
    model, X, _ = many
    sizes = [point.kernels for point in model.path_]
    assert sizes[:65] == list(range(65))
    assert sizes[65:] == [256, 600]
    assert model.with_kernels(599).n_relevant_ == sizes[-2]
    assert model.with_kernels(600).n_relevant_ == 600
    slim = model.slim()
    np.testing.assert_allclose(slim.predict_proba(X[:5]), model.predict_proba(X[:5]), rtol=1e-12)
    assert [point.kernels for point in slim.path_] == [k for k in sizes if k <= model.n_relevant_]


def test_they_are_shown_where_they_are(many):
    model = many[0]
    display = ProjectionDisplay.from_estimator(model)
    assert display.lines_[0].get_xdata()[-1] == 600
    assert display.sizes[0][display.chosen[0]] == model.n_relevant_
    plt.close(display.figure_)
    said = _sizes([(point.kernels, point.nats) for point in model.path_], model.n_relevant_)
    assert f"*{model.n_relevant_}: " in said
    assert "600: " in said


def test_samples_of_many_weights_have_their_covariance(many):
    posterior = many[0].posteriors_[0]
    w, _ = posterior.sample(4000, random_state=0)
    assert posterior.root.shape[0] < posterior.root.shape[1]
    spread = np.sqrt((posterior.root**2).sum(axis=0))
    np.testing.assert_allclose(w.std(axis=0), spread, rtol=0.15)


def test_error_bars_of_many_features_hold():
    # Weights know nothing of the directions that no row has: at new rows these are most of the error.
    X, y, X_new, y_new = sums()
    model = LaconicRegressor(kernel=None).fit(X, y).with_kernels(300)
    m, s = model.predict_dist(X_new)
    reference, _ = model.reference_[0].latent(X_new)
    np.testing.assert_allclose(m, reference, rtol=1e-6, atol=1e-6)
    assert 0.85 < (np.abs(y_new - m) < 1.96 * s).mean() < 0.99


def ready(intercept=True):
    """Return references on 60 features of 25 rows, the weights of their loss, and a projection."""
    X, y, _, _ = sums(n=25, p=60, seed=1)
    X, task = X - X.mean(axis=0), ValueProjection()
    rows = TrainingRows(X, np.ones(25), [y], Gaussian(), task, intercept, leave_whole_rows=True)
    fitted = fit_references(on_features(60, 0.1), rows, max_rank=1000, n_jobs=None)
    loss = LossWeights.of(task, fitted.references, fitted.problems[0], 60)
    m = fitted.references[0].m
    wide = WideProjection.of(
        DenseDesign(X), loss.precisions[0], m, loss.penalty, loss.part, intercept=intercept
    )
    return X, fitted, loss, wide


@pytest.mark.parametrize("size", [3, 40])
def test_a_projection_through_rows_is_one_through_columns(size):
    X, fitted, loss, wide = ready()
    reference, problem, part = fitted.references[0], fitted.problems[0], loss.part
    ((index, w),) = wide.grow(np.arange(0), [size])
    found = wide.onto(index, w, reference.posterior, problem.design, loss.seen[0], 10.0)
    expected = Projection.of(
        X[:, index],
        loss.seen[0],
        reference.m,
        problem.design,
        reference.posterior,
        intercept=True,
        penalty=loss.penalty.on_columns(index),
    ).onto(np.arange(size))
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.intercept, expected.intercept, rtol=1e-8)
    np.testing.assert_allclose(found.root.T @ found.root, expected.root.T @ expected.root, atol=1e-10)
    new = part * np.diag(X.var(axis=0)) + (1 - part) * X.T @ X / 25
    own = np.trace(found.root.T @ found.root @ new[np.ix_(index, index)])
    np.testing.assert_allclose(found.spread, 10.0 - own, rtol=1e-6)


def test_all_features_say_what_the_dense_model_says():
    _, _, loss, wide = ready()
    ((index, w),) = wide.grow(np.arange(0), [60])
    np.testing.assert_array_equal(np.sort(index), np.arange(60))
    np.testing.assert_allclose(w, loss.penalty.weights[index], rtol=1e-6, atol=1e-9)


def test_a_feature_that_does_not_vary_is_not_taken():
    X, y, _, _ = weak()
    X[:, 7] = 2.0
    model = LaconicClassifier(kernel=None).fit(X, y)
    assert max(point.kernels for point in model.path_) == 599
    assert 7 not in model.with_kernels(599).relevance_


@pytest.mark.parametrize("intercept", [True, False])
def test_rows_are_left_out_for_good(intercept):
    X, fitted, _, _ = ready(intercept)
    reference, problem = fitted.references[0], fitted.problems[0]
    left = left_out_by_size(reference, problem, fitted, [5, 60])
    scaled = reference.feature_map.standardise(X)
    for out in balanced_folds(X, problem.y, N_FOLDS):
        stay = np.setdiff1d(np.arange(25), out)
        K = reference.weight_variance * scaled @ scaled.T
        S = np.linalg.inv(K[np.ix_(stay, stay)] + reference.likelihood.variance * np.eye(stay.size))
        b = S.sum(axis=0) @ problem.y[stay] / S.sum() if intercept else 0.0
        expected = b + K[np.ix_(out, stay)] @ S @ (problem.y[stay] - b)
        np.testing.assert_allclose(left[1, out], expected, rtol=1e-5, atol=1e-6)
    assert np.abs(left[0] - left[1]).max() > 0.1
