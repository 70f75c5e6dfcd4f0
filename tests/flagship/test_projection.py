"""Which columns a projection chooses, and the posterior of their weights."""

import itertools

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.datasets import (
    make_friedman1,
)

from flagship_cases import columns_of, loss, nats, root_mean_square, sizes
from laconism import LaconicClassifier, LaconicRegressor
from laconism.basis import KernelBasis
from laconism.datasets import make_ripley
from laconism.design import DenseDesign, build_design
from laconism.flagship import projection
from laconism.flagship.projection import Projection, _backward, choose_columns
from laconism.kernels import RBF
from laconism.posterior import GaussianPosterior


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_columns_are_nearly_the_best(seed, intercept):
    rng = np.random.default_rng(seed)
    n, p = 30, 9
    T = rng.normal(size=(n, p)) + 0.7 * rng.normal(size=(n, 1))
    z = T @ rng.normal(size=p) + rng.normal(size=n) + 3
    r = rng.uniform(0.1, 2, size=n)
    path = columns_of(T, r, z, intercept)
    assert [len(set(index)) for index in path] == list(range(p + 1))
    for k, index in enumerate(path):
        best = min(loss(T, r, z, s, intercept) for s in itertools.combinations(range(p), k))
        assert loss(T, r, z, index, intercept) <= 1.25 * best + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_columns_of_several_targets_are_nearly_the_best_for_their_sum(seed):
    rng = np.random.default_rng(seed)
    n, p = 30, 8
    T = rng.normal(size=(n, p)) + 0.7 * rng.normal(size=(n, 1))
    Z = T @ (rng.normal(size=(p, 3)) * [0.1, 1, 2]) + rng.normal(size=(n, 3)) + 3
    r = rng.uniform(0.1, 2, size=n)

    def together(subset):
        return sum(loss(T, r, z, subset, True) for z in Z.T)

    for k, index in enumerate(columns_of(T, r, Z)):
        assert len(set(index)) == k
        best = min(together(s) for s in itertools.combinations(range(p), k))
        assert together(index) <= 1.25 * best + 1e-9


@pytest.mark.parametrize("intercept", [True, False])
def test_tall_problems_are_made_small_first(intercept, monkeypatch):
    """Twenty columns through their products choose what all rows choose, and miss as much."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(3000, 2))
    T, r = RBF(1.0)(X, X[:20]) + 2, rng.uniform(0.1, 2, size=3000)
    Z = np.column_stack([np.sin(3 * X[:, 0]), X[:, 1] ** 2]) + 5
    small, t, _ = projection._compressed(DenseDesign(T), r, Z, intercept)
    assert small.shape == (22, 20)
    products = columns_of(T, r, Z, intercept)
    monkeypatch.setattr(projection, "_TALL_EXTRA_ROWS", 10**6)
    whole, u, _ = projection._compressed(DenseDesign(T), r, Z, intercept)
    assert whole.shape == (3000, 20)
    np.testing.assert_allclose(small.T @ small, whole.T @ whole, rtol=1e-8)
    np.testing.assert_allclose(small.T @ t, whole.T @ u, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose((t**2).sum(axis=0), (u**2).sum(axis=0))
    for one, other in zip(products, columns_of(T, r, Z, intercept), strict=True):
        np.testing.assert_array_equal(one, other)


def smooth_of_two(n, noise, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n + 300, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 / 2 + noise * rng.normal(size=n + 300)
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.parametrize("seed", [940, 941])
def test_with_next_to_no_noise_few_kernels_still_say_what_the_reference_says(seed):
    """Weights of kernels that are much alike cancel, and small parts of them are what matters."""
    X, y, new_X, new_y = smooth_of_two(100, 1e-3, seed)
    model = LaconicRegressor("rbf", weigh_features=False).fit(X, y)
    mean, std = model.predict_dist(new_X)
    dense, v = model.reference_[0].latent(new_X)
    assert root_mean_square(mean - new_y) < 2 * root_mean_square(dense - new_y)
    assert np.mean(np.abs(mean - new_y) < 1.96 * std) > 0.9
    assert std.mean() < 3 * np.sqrt(v + model.noise_variance_).mean()


@pytest.mark.slow
def test_without_noise_there_are_as_many_kernels_as_the_loss_needs():
    rng = np.random.default_rng(940)
    X = rng.uniform(-2, 2, size=(500, 2))
    y = np.sin(3 * X).prod(axis=1)
    model = LaconicRegressor().fit(X[:200], y[:200])
    assert model.n_relevant_ > 64
    assert nats(model)[sizes(model).index(model.n_relevant_)] < 0.01 * nats(model)[64]
    few = LaconicRegressor(max_kernels=64).fit(X[:200], y[:200])
    assert few.n_relevant_ <= 64
    many, fewer = (root_mean_square(each.predict(X[200:]) - y[200:]) for each in (model, few))
    assert many < 0.75 * fewer
    noisy = y[:200] + 0.3 * rng.normal(size=200)
    assert LaconicRegressor().fit(X[:200], noisy).n_relevant_ <= 64


def test_few_kernels_own_up_to_what_they_miss_at_other_rows():
    X, y = make_friedman1(600, 5, noise=0.0, random_state=941)
    model = LaconicRegressor(max_kernels=60).fit(X[:200], y[:200])
    mean, std = model.predict_dist(X[200:])
    assert np.mean(np.abs(mean - y[200:]) < 1.96 * std) > 0.85  # by what its own rows miss: .8


def test_columns_of_an_orthogonal_design_are_the_best():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(np.column_stack([np.ones(30), rng.normal(size=(30, 8))]))[0][:, 1:]
    coef = rng.permutation(np.arange(1.0, 9.0))
    scale = 10.0 ** rng.uniform(-3, 3, size=8)
    path = columns_of(Q * scale, np.ones(30), Q @ coef + 5)
    order = np.argsort(-coef)
    assert [set(index) for index in path] == [set(order[:k]) for k in range(9)]


def test_going_back_pays():
    """One column stands in for two at first; when both are there it has to go."""
    rng = np.random.default_rng(1)
    a, b = np.linalg.qr(rng.normal(size=(40, 2)))[0].T
    T = np.column_stack([a + b + 0.3 * rng.normal(size=40) / 40**0.5, a, b, rng.normal(size=(40, 3))])
    path = columns_of(T, np.ones(40), a + 0.9 * b, intercept=False)
    assert set(path[2]) == {1, 2}


def test_columns_on_kernels_do_not_know_of_the_factors():
    X, _ = make_ripley(60, random_state=0)
    weight = np.ones(60)
    built = build_design(
        KernelBasis.on_rows(RBF(2.0), X), X, weight, centre=True, tol=1e-10, max_rank=60
    )
    K = RBF(2.0)(X, X)
    z = np.sin(3 * X[:, 0])
    r = np.random.default_rng(0).uniform(0.5, 1.5, size=60)
    factored = choose_columns(built.design, r, z, intercept=True, max_columns=6, enough=0.0)
    dense = choose_columns(DenseDesign(K), r, z, intercept=True, max_columns=6, enough=0.0)
    for one, other in zip(factored, dense, strict=True):
        np.testing.assert_allclose(loss(K, r, z, one, True), loss(K, r, z, other, True), rtol=1e-5)


def test_repeated_and_empty_columns_are_left_alone():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(20, 3))
    path = columns_of(np.column_stack([a, a, np.zeros((20, 2))]), np.ones(20), a.sum(axis=1))
    assert len(path) == 4
    assert not set(path[-1]) & {6, 7}
    assert len({int(k) % 3 for k in path[-1]}) == 3


def test_nothing_to_explain():
    assert [len(index) for index in columns_of(np.eye(5), np.ones(5), np.full(5, 2.0))] == [0]
    assert [len(index) for index in columns_of(np.zeros((5, 3)), np.ones(5), np.arange(5.0))] == [0]


@pytest.mark.parametrize("intercept", [True, False])
def test_projection_is_the_projection_of_every_draw(intercept):
    """Weights that are drawn from the dense posterior and projected have the projected moments."""
    rng = np.random.default_rng(0)
    n, dense, few = 40, 6, 3
    Z, Phi, r = rng.normal(size=(n, dense)), rng.normal(size=(n, few)), rng.uniform(0.5, 2, size=n)
    A = rng.normal(size=(dense, dense))
    centre = r @ Z / r.sum() if intercept else np.zeros(dense)
    spread = 0.04 if intercept else 0.0
    mean, b = rng.normal(size=dense), 0.7 if intercept else 0.0
    posterior = GaussianPosterior(mean, b, centre, spread, A, None, 6.0)
    m, _ = posterior.latent(Z)
    projection = Projection.of(Phi, r, m, DenseDesign(Z), posterior, intercept=intercept)
    found = projection.onto(np.arange(few))
    B = np.column_stack([Phi, np.ones(n)]) if intercept else Phi
    solve = np.linalg.solve(B.T @ (r[:, None] * B), (r[:, None] * B).T)
    w = solve @ m
    np.testing.assert_allclose(found.mean, w[:few], rtol=1e-6)
    covariance = A.T @ A
    away = Z - centre
    latent = away @ covariance @ away.T + spread
    new = rng.normal(size=(5, few))
    C = np.column_stack([new, np.ones(5)]) if intercept else new
    got_m, got_v = found.latent(new)
    np.testing.assert_allclose(got_m, C @ w, rtol=1e-6)
    np.testing.assert_allclose(got_v, np.diag(C @ solve @ latent @ solve.T @ C.T), rtol=1e-5)


def test_probabilities_stay_those_of_the_reference_between_and_beyond_the_rows():
    """Few kernels that only agree at the rows would swing wildly elsewhere."""
    for seed in range(6):
        a = np.random.default_rng(seed).normal(size=24)
        model = LaconicClassifier().fit(a[:, None], a > 0)
        x = np.linspace(-6, 6, 121)[:, None]
        m, v = model.reference_[0].latent(x)
        p = ndtr(m / np.sqrt(1 + v))
        assert np.abs(model.predict_proba(x)[:, 1] - p).max() < 0.06
        assert model.n_relevant_ <= 8


@pytest.mark.parametrize("apart", [3e-7, 1e-8])
def test_backward_elimination_of_columns_that_are_nearly_equal(apart):
    """Removing one of a pair cancels most digits of the inverse of the products."""
    for seed in range(15):
        rng = np.random.default_rng(seed)
        B = rng.normal(size=(150, 75))
        Q, root = np.linalg.qr(np.hstack([B, B + apart * rng.normal(size=B.shape)]))
        t = Q.T @ (B @ rng.normal(size=(75, 1)))
        sets, lost = _backward(root, t, 0.5 * float((t**2).sum()), np.arange(150))
        assert [each.size for each in sets] == list(range(151))
        assert np.isfinite(lost).all()
        assert lost[75] < 1e-6 * lost[0]  # one of each pair explains the target
