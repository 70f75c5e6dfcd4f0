"""Free centres: the gradient of the loss, smaller models that lose as little, and what is published."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from flagship_cases import path_builder
from laconism import LaconicClassifier, LaconicRegressor, load, save
from laconism.datasets import make_ripley
from laconism.flagship.build_path import PathBuilder
from laconism.flagship.free_centres import CentreLoss

both = pytest.mark.parametrize("kind", [LaconicClassifier, LaconicRegressor])


def data(kind, n=150):
    X, y = make_ripley(n, random_state=3)
    noise = 0.3 * np.random.default_rng(0).normal(size=n)
    return (X, y) if kind is LaconicClassifier else (X, np.sin(2 * X[:, 0]) + X[:, 1] + noise)


def long_tails(n=150):
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(n, 2)))
    return X, np.log(X).sum(axis=1) + 0.5 * rng.normal(size=n) > 0


def fit(kind, X, y, **settings):
    return kind(weigh_features=False, centres="free", **settings).fit(X, y)


def loss_of(kind, X, y, **settings):
    builder = path_builder(kind(weigh_features=False, **settings), X, y)
    return CentreLoss.of(builder), builder.fitted


@pytest.mark.parametrize("kernel", ["rbf", "matern"])
@both
def test_the_gradient_is_that_of_differences(kind, kernel):
    check_gradient(*loss_of(kind, *data(kind), kernel=kernel))


def test_the_gradient_holds_for_squashed_features():
    loss, fitted = loss_of(LaconicClassifier, *long_tails())
    assert fitted.built.basis.kernel.spread is not None
    check_gradient(loss, fitted)


def check_gradient(loss, fitted):
    centres = fitted.rows.X[::50] + 0.1 * loss.unit
    value = loss.at(centres)[0]

    def at(flat, part):
        found = loss.at(flat.reshape(centres.shape) * loss.unit)[part]
        return found / value if part == 0 else (found * loss.unit).ravel() / value

    flat = (centres / loss.unit).ravel()
    off = check_grad(lambda x: at(x, 0), lambda x: at(x, 1), flat, epsilon=1e-7)
    assert off < 1e-5 * max(np.linalg.norm(at(flat, 1)), 1.0)


@both
def test_the_loss_is_that_of_the_path(kind):
    """Weights that are best for the loss are those of the projection, up to its jitter."""
    loss, fitted = loss_of(kind, *data(kind), kernel="rbf")
    builder = PathBuilder.of(fitted, [0], 0.0, 0.004)
    path = builder.build(8)
    index = path.columns[8]
    w = path.posteriors[8][0].mean
    K = fitted.built.basis.kernel(loss.points, fitted.rows.X[index])
    mine, _ = loss.at(fitted.rows.X[index])
    theirs = 0.5 * float(((loss.root @ K @ w - loss.targets[:, 0]) ** 2).sum())
    assert mine == pytest.approx(theirs, rel=1e-3)


@both
def test_fewer_kernels_lose_as_little(kind):
    X, y = data(kind, 250)
    rows, free = kind(weigh_features=False).fit(X, y), fit(kind, X, y)
    sizes = [{p.kernels: p.nats for p in model.path_} for model in (rows, free)]
    small = [k for k in sizes[1] if 0 < k <= rows.n_relevant_]
    assert small
    moved, fixed = (np.array([size[k] for k in small]) for size in reversed(sizes))
    assert np.mean(moved <= fixed + 1e-9) > 0.8
    assert np.log(fixed / moved).mean() > np.log(1.2)
    fewest = [min(k for k, nats in size.items() if nats <= 0.01) for size in sizes]
    assert fewest[1] < fewest[0]


def test_several_classes_share_centres():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=150)
    X = rng.normal(size=(150, 2)) + 2 * np.eye(3)[y, :2]
    model = fit(LaconicClassifier, X, y)
    assert model.relevance_vectors_.shape == (model.n_relevant_, 2)
    assert model.dual_coef_.shape == (3, model.n_relevant_)
    assert model.score(X, y) > 0.7


@both
def test_what_is_published_is_consistent(kind, tmp_path):
    X, y = data(kind)
    model = fit(kind, X, y)
    centres = model.relevance_vectors_
    if kind is LaconicRegressor:
        mean = model.kernel_(X, centres) @ model.dual_coef_ + model.intercept_
        np.testing.assert_allclose(model.predict(X), mean, atol=1e-9)
    assert model.relevance_.shape == (model.n_relevant_,)
    few = model.with_kernels(4)
    assert np.abs(few.relevance_vectors_ - X[few.relevance_]).max() > 0
    slim = model.slim()
    np.testing.assert_allclose(slim.predict(X), model.predict(X))
    save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(load(tmp_path / "model.skops").predict(X), model.predict(X))


def test_additive_kernels_stay_on_rows():
    X, y = data(LaconicRegressor)
    model = LaconicRegressor("additive", centres="free").fit(X, y)
    assert "stay on training rows" in model.status_.message
    np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])


def test_centres_are_rows_or_free():
    with pytest.raises(ValueError, match="centres must be 'rows' or 'free'"):
        LaconicClassifier(centres="moving").fit([[0.0], [1.0]], [0, 1])
