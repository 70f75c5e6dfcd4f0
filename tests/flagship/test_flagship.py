"""The flagship: its projection, its reference and its path, each against an explicit computation."""

import itertools
import pickle
import time
import warnings
from copy import deepcopy
from functools import lru_cache

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.special import ndtr
from scipy.stats import multivariate_normal
from sklearn.base import clone, is_classifier
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.datasets import (
    load_iris,
    make_classification,
    make_friedman1,
    make_moons,
    make_regression,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LassoCV
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from laconism import LaconicClassifier, LaconicRegressor
from laconism.basis import KernelBasis
from laconism.datasets import make_ripley, make_sinc
from laconism.design import DenseDesign, build_design
from laconism.flagship import path as _path
from laconism.flagship import projection, references
from laconism.flagship.ard import ARDEvidence
from laconism.flagship.dense_reference import fit_reference
from laconism.flagship.kernel_family import KernelFamily, ReferenceFeatures, weighted_quartiles
from laconism.flagship.path import Path, default_max_columns
from laconism.flagship.projection import Projection, ShrinkagePenalty, choose_columns
from laconism.flagship.reference_features import FeatureMap
from laconism.flagship.rows import leaves_whole_rows
from laconism.flagship.search import HyperparameterSearch, search_rows
from laconism.flagship.tasks import ValueProjection
from laconism.flagship.wide import shrinkage
from laconism.judging.duplicates import merge_near_duplicates
from laconism.judging.left_out import leave_one_out
from laconism.kernels import RBF
from laconism.laplace.first_precision import first_precision
from laconism.laplace.mode import find_mode
from laconism.laplace.shared_precision import fit_shared, row_products
from laconism.likelihoods import Gaussian, Logistic, Probit
from laconism.posterior import GaussianPosterior
from laconism.priors import Jeffreys
from laconism.solvers import Problem

KINDS = [LaconicClassifier, LaconicRegressor]
both = pytest.mark.parametrize("kind", KINDS)


def known(reason, raises=AssertionError):
    """A bug that is known: strict, so whoever cures it has to take the mark away."""
    return pytest.mark.xfail(reason=reason, raises=raises, strict=True)


def data(kind, n=40, seed=0):
    """Return a small problem: a ridge in the plane, noisy."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    f = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)
    return X, (f > 0).astype(int) if kind is LaconicClassifier else f


@lru_cache
def fitted(kind, n=80):
    """Return the data and the model with all defaults."""
    X, y = data(kind, n)
    return X, y, kind().fit(X, y)


def says(model, X):
    """Everything that the model says about X, which has to be finite and possible."""
    if is_classifier(model):
        proba = model.predict_proba(X)
        assert np.isfinite(model.decision_function(X)).all()
        assert np.isfinite(model.predict_log_proba(X)).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        assert set(model.predict(X)) <= set(model.classes_)
        return proba
    mean, std = model.predict_dist(X)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert (std > 0).all()
    np.testing.assert_array_equal(mean, model.predict(X))
    return np.column_stack([mean, std])


def survives(model, X, y, **fit_params):
    """A fit without a warning, whose every part is finite."""
    model.fit(X, y, **fit_params)
    assert all(np.isfinite(point.nats) and point.nats >= 0 for point in model.path_)
    assert model.status_.message
    says(model, X)
    m, v = model.reference_[0].latent(X)
    assert np.isfinite(m).all()
    assert (v >= 0).all()
    return model


def nats(model, output=0):
    return np.array([point.nats for point in model.path_ if point.output == output])


# ---- the search for columns -----------------------------------------------------------------


def loss(T, r, z, subset, intercept):
    """What the best weights on these columns miss, in nats."""
    A = T[:, list(subset)]
    A = np.column_stack([A, np.ones(len(z))]) if intercept else A
    half = np.sqrt(r)
    if not A.shape[1]:
        return 0.5 * r @ z**2
    w = np.linalg.lstsq(half[:, None] * A, half * z, rcond=None)[0]
    return 0.5 * r @ (z - A @ w) ** 2


def columns_of(T, r, z, intercept=True, max_columns=20, enough=0.0):
    return choose_columns(
        DenseDesign(T), r, z, intercept=intercept, max_columns=max_columns, enough=enough
    )


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


def root_mean_square(error):
    return float(np.sqrt(np.mean(error**2)))


@pytest.mark.parametrize("seed", [940, 941])
def test_with_next_to_no_noise_few_kernels_still_say_what_the_reference_says(seed):
    """Weights of kernels that are much alike cancel, and small parts of them are what matters."""
    X, y, new_X, new_y = smooth_of_two(100, 1e-3, seed)
    model = LaconicRegressor().fit(X, y)
    mean, std = model.predict_dist(new_X)
    dense, v = model.reference_[0].latent(new_X)
    assert root_mean_square(mean - new_y) < 2 * root_mean_square(dense - new_y)
    assert np.mean(np.abs(mean - new_y) < 1.96 * std) > 0.9
    assert std.mean() < 3 * np.sqrt(v + model.noise_variance_).mean()


def test_without_noise_there_may_be_twice_as_many_kernels():
    rng = np.random.default_rng(940)
    X = rng.uniform(-2, 2, size=(500, 2))
    y = np.sin(3 * X).prod(axis=1)
    model = LaconicRegressor().fit(X[:200], y[:200])
    assert 64 < model.n_relevant_ <= 128
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


# ---- the projection -------------------------------------------------------------------------


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


# ---- the reference --------------------------------------------------------------------------


def kernel_matrix(model, X, C, scale=None):
    """The kernel that the docstring promises: RBF on standardised features."""
    scale = X.std(axis=0) if scale is None else scale
    return np.exp(-model.gamma_ * (((X / scale)[None, :, :] - (C / scale)[:, None, :]) ** 2).sum(axis=2))


def laplace(Phi, y, alpha, likelihood):
    """Newton's method on weights and intercept; mode, covariance and evidence but for a constant."""
    n, p = Phi.shape
    A = np.column_stack([Phi, np.ones(n)])
    penalty = np.diag(np.append(np.full(p, alpha), 0.0))
    x = np.zeros(p + 1)
    for _ in range(100):
        _, slope, curvature = likelihood.evaluate(y, A @ x)
        H = A.T @ (curvature[:, None] * A) + penalty
        step = np.linalg.solve(H, A.T @ slope - penalty @ x)
        x = x + step
        if np.abs(A @ step).max() < 1e-12:
            break
    log_p, _, curvature = likelihood.evaluate(y, A @ x)
    H = A.T @ (curvature[:, None] * A) + penalty
    evidence = log_p.sum() - 0.5 * x @ penalty @ x
    evidence += 0.5 * p * np.log(alpha) - 0.5 * np.linalg.slogdet(H)[1]
    return x, np.linalg.inv(H), evidence


def alpha_of(relative_precision, Z, y, likelihood):
    """Return the precision from its multiple of the unit."""
    problem = Problem(DenseDesign(Z), y, likelihood, Jeffreys(), np.ones(len(y)), True)
    return relative_precision * first_precision(problem, problem.empty())


@both
def test_reference_is_the_dense_model(kind):
    X, y = data(kind)
    new = np.random.default_rng(1).normal(size=(30, 2))
    model = kind().fit(X, y)
    reference = model.reference_[0]
    K = kernel_matrix(model, X, X)
    likelihood = (
        Gaussian(model.noise_variance_, estimate=False) if kind is LaconicRegressor else Probit()
    )
    y = y if kind is LaconicRegressor else 2.0 * y - 1
    alpha = alpha_of(reference.relative_precision, reference.feature_map.columns(X), y, likelihood)
    root = np.linalg.cholesky(K + 1e-9 * np.eye(len(X)))
    x, covariance, _ = laplace(root, y, alpha, likelihood)
    x = reference.mean_scale * x
    for rows in (X, new):
        columns = np.linalg.solve(root, kernel_matrix(model, rows, X, X.std(axis=0))).T
        A = np.column_stack([columns, np.ones(len(rows))])
        m, v = reference.latent(rows)
        deviation = np.sqrt(np.einsum("ij,jk,ik->i", A, covariance, A))
        np.testing.assert_allclose(m, A @ x, atol=1e-3 * np.ptp(A @ x))
        outside = np.maximum(1 - (columns**2).sum(axis=1), 0.0) / alpha  # of the span of the rows
        np.testing.assert_allclose(np.sqrt(v), np.sqrt(deviation**2 + outside), rtol=1e-3)
    np.testing.assert_allclose(reference.m, reference.latent(X)[0], atol=1e-8)
    np.testing.assert_allclose(reference.v, reference.latent(X)[1], rtol=1e-6)


def explicit_score(kind, X, y, gamma, relative_precision):
    """Evidence and rows left out, each by refitting without it, in nats."""
    Z = np.exp(-gamma * ((X[:, None, :] - X[None, :, :]) ** 2 / X.var(axis=0)).sum(axis=2))
    Z = np.linalg.cholesky(Z + 1e-9 * np.eye(len(y)))
    likelihood = Gaussian() if kind is LaconicRegressor else Probit()
    problem = Problem(DenseDesign(Z), y, likelihood, Jeffreys(), np.ones(len(y)), True)
    mode = fit_shared(problem, relative_precision)
    explicit = np.array([left_out(problem, mode, i) for i in range(len(y))])
    return 0.5 * mode.objective + mode.likelihood.predictive(y, *explicit.T).sum()


@both
def test_width_and_precision_are_the_best_around(kind):
    X, y = data(kind)
    model = kind().fit(X, y)
    y = y if kind is LaconicRegressor else 2.0 * y - 1
    relative_precision = model.reference_[0].relative_precision
    ours = explicit_score(kind, X, y, model.gamma_, relative_precision)
    for wider, more in itertools.product((0.5, 1, 2), (10**-0.5, 1, 10**0.5)):
        if (wider == 1) != (more == 1):
            theirs = explicit_score(kind, X, y, model.gamma_ * wider, relative_precision * more)
            assert theirs < ours + (0.3 if kind is LaconicClassifier else 0.05)


@pytest.mark.parametrize("likelihood", [Probit(), Logistic(), Gaussian(0.7, estimate=False)], ids=str)
def test_shared_precision_is_the_multiple_of_its_unit(likelihood):
    rng = np.random.default_rng(0)
    Phi = rng.normal(size=(40, 5))
    y = np.where(Phi[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
    problem = Problem(DenseDesign(Phi), y, likelihood, Jeffreys(), np.ones(40), True)
    for relative_precision in (1e-3, 1.0, 30.0):
        mode = fit_shared(problem, relative_precision)
        np.testing.assert_allclose(mode.alpha, alpha_of(relative_precision, Phi, y, likelihood))
        x, _, _ = laplace(Phi, y, mode.alpha[0], likelihood)
        np.testing.assert_allclose([*mode.w, mode.b], x, rtol=1e-6, atol=1e-9)
        again = fit_shared(problem, relative_precision, fit_shared(problem, 10 * relative_precision))
        np.testing.assert_allclose(again.w, mode.w, rtol=1e-6, atol=1e-8)
        for latent in (mode.f, 30 * rng.normal(size=40)):  # wherever it begins
            near = fit_shared(problem, relative_precision, latent=latent)
            np.testing.assert_allclose(near.w, mode.w, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("likelihood", [Probit(), Logistic(), Gaussian()], ids=str)
def test_steps_from_the_products_of_rows_find_the_same_mode(likelihood, intercept):
    rng = np.random.default_rng(0)
    Phi = 3 + rng.normal(size=(40, 30))
    y = np.where(Phi[:, 0] + rng.normal(size=40) > 3, 1.0, -1.0)
    weight = rng.uniform(0.5, 3.0, size=40)
    problem = Problem(DenseDesign(Phi), y, likelihood, Jeffreys(), weight, intercept)
    products = row_products(problem.design)
    np.testing.assert_allclose(products, Phi @ Phi.T)
    assert row_products(DenseDesign(Phi[:, :20])) is None  # then there is nothing to win
    for latent in (None, np.zeros(40)):
        theirs = fit_shared(problem, 0.1, latent=latent)
        ours = fit_shared(problem, 0.1, latent=latent, products=products)
        np.testing.assert_allclose([*ours.w, ours.b], [*theirs.w, theirs.b], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(ours.objective, theirs.objective)
        np.testing.assert_allclose(leave_one_out(ours), leave_one_out(theirs), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(ours.well_determined, theirs.well_determined, rtol=1e-7, atol=1e-9)


def test_the_prior_is_a_process_unless_the_smooth_one_is_clearly_better():
    """A latent that only bends along the one direction in which all features move together."""
    rng = np.random.default_rng(0)
    along = rng.normal(size=(150, 1))
    X = along + 0.5 * rng.normal(size=(150, 20))
    y = np.sin(2 * along[:, 0]) + 0.3 * rng.normal(size=150)
    reference = LaconicRegressor(weigh_features=False).fit(X, y).reference_[0]
    assert reference.feature_map.rotation is not None
    assert (reference.feature_map.outside_variance(X) == 0).all()
    plain = fitted(LaconicRegressor)[2].reference_[0]
    assert plain.feature_map.rotation is None


def test_a_kernel_that_is_no_covariance_has_the_smooth_prior():
    X, y = data(LaconicRegressor, 40)
    model = LaconicRegressor(lambda A, B: np.tanh(A @ B.T - 1.0)).fit(X, y)
    assert model.reference_[0].feature_map.rotation is not None


@both
def test_width_lies_between_those_that_were_looked_at(kind):
    _, _, model = fitted(kind)
    steps = 4 * np.log2(model.gamma_ * 2 * model.n_features_in_)
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)


def test_regression_without_noise_is_as_sure_as_it_may_be():
    x = np.random.default_rng(1).uniform(-10, 10, size=(400, 1))
    model = LaconicRegressor().fit(x[:100], np.sin(x[:100, 0]))
    inside = x[100:][(x[100:, 0] > x[:100].min()) & (x[100:, 0] < x[:100].max())]
    mean, std = model.predict_dist(inside)
    away = mean - np.sin(inside[:, 0])
    assert np.sqrt(np.mean(away**2)) < 1e-3
    assert np.mean((away / std) ** 2) < 2


@pytest.mark.parametrize("shape", [(40, 5), (20, 60)])
@pytest.mark.parametrize("relative_precision", [1e-2, 1.0])
def test_shared_noise_makes_the_data_most_probable(shape, relative_precision):
    """At a fixed ratio of noise and prior no other noise has a larger evidence, by its definition."""
    rng = np.random.default_rng(0)
    Phi = rng.normal(size=shape)
    y = 3 + Phi[:, 0] + 0.5 * rng.normal(size=shape[0])
    problem = Problem(DenseDesign(Phi), y, Gaussian(), Jeffreys(), np.ones(shape[0]), True)
    mode = fit_shared(problem, relative_precision)
    ratio = float(mode.alpha[0] * mode.likelihood.noise)
    away = np.linalg.qr(np.column_stack([np.ones(shape[0]), np.eye(shape[0])[:, 1:]]))[0][:, 1:]

    def evidence(noise):  # of all that does not depend on the intercept
        cov = noise * (np.eye(shape[0]) + Phi @ Phi.T / ratio)
        return multivariate_normal(cov=away.T @ cov @ away).logpdf(away.T @ y)

    best = max(evidence(mode.likelihood.noise * c) for c in np.geomspace(0.2, 5, 101))
    assert evidence(mode.likelihood.noise) >= best - 1e-9


def test_gaussian_evidence_is_exact():
    rng = np.random.default_rng(0)
    n, s2 = 12, 0.3
    Phi, y = rng.normal(size=(n, 4)), rng.normal(size=n)
    problem = Problem(DenseDesign(Phi), y, Gaussian(s2, estimate=False), Jeffreys(), np.ones(n), False)

    def exact(alpha):
        return multivariate_normal(cov=Phi @ Phi.T / alpha + s2 * np.eye(n)).logpdf(y)

    for alpha in (0.1, 1.0, 30.0):
        mode = find_mode(problem, np.full(4, alpha), problem.likelihood, np.zeros(4), 0.0)
        np.testing.assert_allclose(mode.objective, exact(alpha), rtol=1e-10)


def test_shared_precision_at_its_ends():
    """Columns that say nothing, or all, or are not there: a finite answer."""
    rng = np.random.default_rng(0)
    Phi, noise = rng.normal(size=(30, 3)), rng.normal(size=30)
    for y in (noise - Phi @ np.linalg.lstsq(Phi, noise, rcond=None)[0], Phi @ np.ones(3)):
        for likelihood in (Gaussian(floor=1e-8), Probit()):
            target = y if isinstance(likelihood, Gaussian) else np.where(y > 0, 1.0, -1.0)
            problem = Problem(DenseDesign(Phi), target, likelihood, Jeffreys(), np.ones(30), True)
            for relative_precision in (1e-10, 1.0, 1e3):
                mode = fit_shared(problem, relative_precision)
                assert np.isfinite(mode.w).all()
                assert np.isfinite(mode.objective)
                assert all(np.isfinite(part).all() for part in leave_one_out(mode))
    problem = Problem(DenseDesign(Phi[:, :0]), noise, Gaussian(), Jeffreys(), np.ones(30), True)
    mode = fit_shared(problem, 0.1)
    np.testing.assert_allclose(mode.f, noise.mean())
    assert np.isfinite(leave_one_out(mode)[0]).all()


def left_out(problem, mode, i):
    """Refit without a row, at the same precision and noise; return its latent there."""
    rest = np.delete(np.arange(len(problem.y)), i)
    Phi = problem.design.matrix
    x, covariance, _ = laplace(Phi[rest], problem.y[rest], mode.alpha[0], mode.likelihood)
    a = np.append(Phi[i], 1.0)
    return a @ x, a @ covariance @ a


@pytest.mark.parametrize("shape", [(30, 4), (25, 40)])
def test_leave_one_out_is_exact_for_gaussian_noise(shape):
    rng = np.random.default_rng(0)
    Phi = rng.normal(size=shape)
    y = Phi[:, 0] + 0.5 * rng.normal(size=shape[0])
    problem = Problem(DenseDesign(Phi), y, Gaussian(), Jeffreys(), np.ones(shape[0]), True)
    mode = fit_shared(problem, 0.1)
    m, v = leave_one_out(mode)
    explicit = np.array([left_out(problem, mode, i) for i in range(shape[0])])
    np.testing.assert_allclose(m, explicit[:, 0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(v, explicit[:, 1], rtol=1e-6)


@pytest.mark.parametrize("likelihood", [Probit(), Logistic()], ids=str)
def test_leave_one_out_is_close_for_labels(likelihood):
    rng = np.random.default_rng(0)
    Phi = rng.normal(size=(60, 4))
    y = np.where(Phi[:, 0] + 0.7 * rng.normal(size=60) > 0, 1.0, -1.0)
    problem = Problem(DenseDesign(Phi), y, likelihood, Jeffreys(), np.ones(60), True)
    mode = fit_shared(problem, 0.1)
    m, v = leave_one_out(mode)
    explicit = np.array([left_out(problem, mode, i) for i in range(60)])
    ours, theirs = likelihood.predictive(y, m, v), likelihood.predictive(y, *explicit.T)
    np.testing.assert_allclose(ours.mean(), theirs.mean(), atol=0.01)
    assert np.abs(np.exp(ours) - np.exp(theirs)).max() < 0.05
    # and not just what the model says of rows it has seen
    seen = likelihood.predictive(y, mode.f, mode.ridge.latent_variance(problem.design, mode.r))
    assert abs(ours.mean() - theirs.mean()) < 0.2 * abs(seen.mean() - theirs.mean())


def test_leave_one_out_of_a_repeated_row_leaves_one_copy():
    rng = np.random.default_rng(0)
    Phi, times = rng.normal(size=(20, 3)), rng.integers(1, 4, size=20)
    y = np.where(Phi[:, 0] + rng.normal(size=20) > 0, 1.0, -1.0)
    found = []
    for index, weight in ((np.arange(20), times.astype(float)), (np.repeat(np.arange(20), times), None)):
        weight = np.ones(len(index)) if weight is None else weight
        problem = Problem(DenseDesign(Phi[index]), y[index], Probit(), Jeffreys(), weight, True)
        mode = find_mode(problem, np.ones(3), Probit(), np.zeros(3), 0.0)
        found.append(leave_one_out(mode))
    first = np.cumsum(times) - times
    for weighted, repeated in zip(*found, strict=True):
        np.testing.assert_allclose(weighted, repeated[first], rtol=1e-8)


def test_leave_one_out_of_copies_leaves_out_all_of_them():
    rng = np.random.default_rng(0)
    Phi, weight = rng.normal(size=(20, 3)), 0.5 + np.arange(20) % 3
    y = Phi[:, 0] + 0.5 * rng.normal(size=20)
    problem = Problem(
        DenseDesign(Phi), y, Gaussian(0.3), Jeffreys(), weight, False, leave_whole_rows=True
    )
    m, v = leave_one_out(find_mode(problem, np.ones(3), Gaussian(0.3), np.zeros(3), 0.0))
    for k in (0, 7, 19):
        others = problem.rows(np.delete(np.arange(20), k))
        mode = find_mode(others, np.ones(3), Gaussian(0.3), np.zeros(3), 0.0)
        expected = GaussianPosterior.from_ridge(mode.posterior).latent(Phi[[k]])
        np.testing.assert_allclose(m[k], expected[0][0], rtol=1e-8)
        np.testing.assert_allclose(v[k], expected[1][0], rtol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_copies_of_rows_do_not_make_a_classifier_sure_of_itself(n_classes, monkeypatch):
    X, y = make_classification(1000, 6, n_informative=4, n_classes=n_classes, flip_y=0.1, random_state=0)

    def nats(weight):
        model = LaconicClassifier().fit(X[:100], y[:100], sample_weight=np.full(100, weight))
        return log_loss(y[100:], model.predict_proba(X[100:]))

    once, twice = nats(1.0), nats(2.0)
    monkeypatch.setattr("laconism.flagship.rows.leaves_whole_rows", lambda X: False)
    # Two copies are more evidence than one, so something is left.
    assert twice - once < 0.25 * (nats(2.0) - once)


def nearly_repeated(X, times=4, away=0.01):
    """Return each row several times, none of them quite as it was."""
    again = np.repeat(X, times, axis=0)
    return again + away * np.random.default_rng(1).normal(size=again.shape)


def test_near_copies_of_rows_do_not_make_a_classifier_sure_of_itself():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1100, 5))
    y = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=1100) > 1
    model = LaconicClassifier().fit(nearly_repeated(X[:100]), np.repeat(y[:100], 4))
    once = LaconicClassifier().fit(X[:100], y[:100])
    nats, least = (log_loss(y[100:], m.predict_proba(X[100:])) for m in (model, once))
    assert nats < least + 0.1  # one by one they told each other's class: 2.1


def test_near_copies_of_rows_do_not_make_a_regressor_believe_in_no_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 / 2 + 0.3 * rng.normal(size=500)
    model = LaconicRegressor().fit(nearly_repeated(X[:100]), np.repeat(y[:100], 4))
    once = LaconicRegressor().fit(X[:100], y[:100])
    nats, least = (-m.log_density(X[100:], y[100:]).mean() for m in (model, once))
    assert nats < least + 0.1  # thousands of them


def test_near_copies_count_as_one_row_in_any_order():
    rng = np.random.default_rng(0)
    X, y = nearly_repeated(rng.normal(size=(60, 4))), np.repeat(np.sign(rng.normal(size=60)), 4)
    kept, rows, weight, (targets,), copies = merge_near_duplicates(X, np.ones(240), [y])
    np.testing.assert_array_equal(kept[copies] // 4, np.arange(240) // 4)
    assert sorted(kept // 4) == list(range(60))
    assert (weight == 4).all()
    np.testing.assert_array_equal(rows, X[kept])
    np.testing.assert_array_equal(targets, y[kept])
    order = rng.permutation(240)
    again = merge_near_duplicates(X[order], np.ones(240), [y[order]])
    assert set(order[again.kept]) == set(kept)


@pytest.mark.parametrize("kind", ["smooth", "noisy labels", "chains", "few blobs", "sparse"])
def test_rows_that_are_no_near_copies_stay(kind):
    rng = np.random.default_rng(0)
    X, y = nearly_repeated(rng.normal(size=(60, 4))), np.repeat(np.sign(rng.normal(size=60)), 4)
    if kind == "smooth":
        X = rng.normal(size=X.shape)
    if kind == "noisy labels":
        y[rng.random(240) < 0.2] *= -1
    if kind == "chains":
        X = nearly_repeated(rng.normal(size=(40, 4)), 6) + 0.1 * np.tile(np.arange(6.0), 40)[:, None]
        y = np.repeat(y[::6], 6)
    if kind == "few blobs":
        X, y = nearly_repeated(rng.normal(size=(8, 4)), 30), np.repeat(np.sign(rng.normal(size=8)), 30)
    if kind == "sparse":
        X = csr_array(X)
    assert merge_near_duplicates(X, np.ones(240), [y]).kept.size == 240


def test_rows_that_disagree_are_no_copies():
    X, y = np.repeat(np.eye(3), 20, axis=0), np.tile([0, 1, 1, 1, 0], 12)
    model = LaconicClassifier().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.6, atol=0.05)
    assert not leaves_whole_rows(X)
    assert leaves_whole_rows(np.eye(3))


@pytest.mark.parametrize("weight", [None, 3.0])
def test_copies_of_rows_do_not_make_a_regressor_believe_in_no_noise(weight):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(400, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=400)
    once = LaconicRegressor().fit(X[:100], y[:100])
    if weight is None:
        again = LaconicRegressor().fit(np.repeat(X[:100], 2, axis=0), np.repeat(y[:100], 2))
    else:
        again = LaconicRegressor().fit(X[:100], y[:100], sample_weight=np.full(100, weight))
    np.testing.assert_allclose(again.predict(X), once.predict(X), rtol=1e-6, atol=1e-6)
    low, high = again.predict_interval(X[100:])
    assert np.mean((low < y[100:]) & (y[100:] < high)) > 0.9


def test_duplicates_are_no_evidence_of_little_noise():
    task, weight = ValueProjection(), np.full(90, 2.0)
    assert task.row_weights(weight, leave_whole_rows=False) is weight
    np.testing.assert_allclose(task.row_weights(weight, leave_whole_rows=True), 1.0)
    np.testing.assert_allclose(task.row_weights(0.25 * weight, leave_whole_rows=True), 0.5)


# ---- weights of features --------------------------------------------------------------------


def searching(X, y, weight, intercept, theta):
    family = KernelFamily.of("rbf", 3, 1.0, None, X, weight)
    features = ReferenceFeatures(family, 1000)
    return HyperparameterSearch(features, True, X, [y], weight, Gaussian(), intercept, theta)


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

    evidence = ARDEvidence(searching(X, y, weight, False, np.ones(3)), 0)
    points = [(np.array([1.0, 0.5, 1.5]), 3.0), (np.array([2.0, 0.0, 0.1]), 30.0)]
    ours = [evidence.value(*point)[0] for point in points]
    np.testing.assert_allclose(np.diff(ours), np.diff([theirs(*point) for point in points]), rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_slopes_of_the_evidence_are_its_differences(intercept):
    rng = np.random.default_rng(1)
    X, weight = rng.normal(size=(15, 3)) * [1.0, 5.0, 0.1], rng.uniform(0.5, 2.0, size=15)
    y = 3 + np.sin(X[:, 0]) + 0.1 * rng.normal(size=15)
    evidence, h = ARDEvidence(searching(X, y, weight, intercept, np.ones(3)), 1), 1e-5
    theta, ratio = np.array([1.0, 0.5, 1.5]), 3.0
    _, slopes, slope = evidence.value(theta, ratio)
    for k, step in enumerate(h * np.eye(3)):
        up, down = (evidence.value(theta + sign * step, ratio)[0] for sign in (1, -1))
        np.testing.assert_allclose(slopes[k], (up - down) / (2 * h), rtol=1e-5)
    up, down = (evidence.value(theta, ratio * np.exp(sign * h))[0] for sign in (1, -1))
    np.testing.assert_allclose(slope, (up - down) / (2 * h), rtol=1e-5)


@pytest.mark.parametrize("seed", [0, 1])
def test_features_that_say_nothing_weigh_nothing(seed):
    """By one step along the slopes of the latent the errors were .84 and, unweighed, 1.75."""
    X, y = make_friedman1(200, noise=1.0, random_state=seed)
    new_X, f = make_friedman1(500, noise=0.0, random_state=100 + seed)
    model = LaconicRegressor().fit(X, y)
    assert root_mean_square(model.predict(new_X) - f) < 0.75
    assert model.feature_scales_[5:].max() < 0.02
    assert model.feature_scales_[:2].min() > 2
    np.testing.assert_allclose(model.feature_scales_.mean(), 1.0)


# ---- the path -------------------------------------------------------------------------------


def integrated(reference, X):
    """The probability of the reference, by quadrature."""
    m, v = reference.latent(X)
    nodes = np.linspace(-10, 10, 4001)
    weights = np.exp(-0.5 * nodes**2)
    return ndtr(m[:, None] + np.sqrt(v)[:, None] * nodes) @ weights / weights.sum()


def test_nats_of_a_classifier_are_the_divergence():
    X, _, model = fitted(LaconicClassifier)
    p = integrated(model.reference_[0], X)
    for k, lost in enumerate(nats(model)):
        log_q = model.with_kernels(k).predict_log_proba(X)
        entropy = np.where(p > 0, p * np.log(p), 0) + (1 - p) * np.log1p(-p)
        kl = entropy - p * log_q[:, 1] - (1 - p) * log_q[:, 0]
        np.testing.assert_allclose(lost, kl.mean(), rtol=1e-4, atol=1e-8)


def test_nats_of_a_logistic_classifier_are_the_divergence():
    X, y = data(LaconicClassifier)
    model = LaconicClassifier(likelihood="logistic").fit(X, y)
    m, v = model.reference_[0].latent(X)
    nodes, weights = hermegauss(60)
    latent = m[:, None] + np.sqrt(v)[:, None] * nodes
    p = (1 / (1 + np.exp(-latent))) @ weights / weights.sum()
    log_q = model.predict_log_proba(X)
    kl = p * (np.log(p) - log_q[:, 1]) + (1 - p) * (np.log(1 - p) - log_q[:, 0])
    np.testing.assert_allclose(nats(model)[model.n_relevant_], kl.mean(), rtol=0.05, atol=1e-4)


def test_nats_of_a_regressor_are_what_the_docstring_says():
    X, _, model = fitted(LaconicRegressor)
    m, v = model.reference_[0].latent(X)
    variance = model.noise_variance_ + v.mean()
    for k, lost in enumerate(nats(model)):
        away = model.with_kernels(k).predict(X) - m
        np.testing.assert_allclose(lost, (away**2).mean() / (2 * variance), rtol=1e-6, atol=1e-10)


def divergence(model, X):
    """Between the whole predictive distributions of reference and model, means and deviations."""
    m, v = model.reference_[0].latent(X)
    v = v + model.noise_variance_
    mean, std = model.predict_dist(X)
    return (0.5 * (np.log(std**2 / v) + (v + (mean - m) ** 2) / std**2 - 1)).mean()


def test_deviations_of_a_regressor_are_the_reference_s_too():
    X, _, model = fitted(LaconicRegressor)
    assert divergence(model, X) <= 2 * model.tolerance_


@pytest.mark.parametrize("n_features", [20, 100, 1000])
def test_deviations_of_a_regressor_are_the_reference_s_at_rows_not_seen(n_features):
    """With many features the reference is certain of the rows it has seen, and of no others."""
    X, y = make_regression(1060, n_features, n_informative=5, noise=5.0, random_state=2)
    model = LaconicRegressor().fit(X[:60], y[:60])
    assert divergence(model, X[60:]) < 0.25


def explicit_process(model, X, y, new):
    """Prior variance, and latent mean and variance at new rows, of the dense process by its matrices."""
    K = kernel_matrix(model, X, X)
    reference, noise = model.reference_[0], Gaussian(model.noise_variance_, estimate=False)
    root = np.linalg.cholesky(K + 1e-9 * np.eye(len(X)))
    height = 1 / alpha_of(reference.relative_precision, root, y, noise)
    k = kernel_matrix(model, new, X, X.std(axis=0)).T
    flat = 1e6 * height  # of the intercept
    S = height * K + flat + model.noise_variance_ * np.eye(len(X))
    seen = np.linalg.solve(S, np.column_stack([y, (height * k + flat).T]))
    v = height + flat - np.einsum("ij,ji->i", height * k + flat, seen[:, 1:])
    return height, (height * k + flat) @ seen[:, 0], v


def test_far_from_its_kernels_a_regression_is_as_unsure_as_a_dense_process():
    """The weights on kept kernels say nothing there: they were surest where nothing is known."""
    X, y, model = fitted(LaconicRegressor)
    far = np.array([[100.0, 0.0], [0.0, -100.0], [30.0, 30.0]])
    height, _, v = explicit_process(model, X, y, np.concatenate([X, far]))
    np.testing.assert_allclose(v[: len(X)], model.reference_[0].v, rtol=0.01)
    dense, std = np.sqrt(v[len(X) :] + model.noise_variance_), model.predict_dist(far)[1]
    assert (std > 0.99 * dense).all()
    assert (std < 1.3 * dense).all()
    assert (std**2 > height).all()
    low, high = model.predict_interval(far)
    np.testing.assert_allclose(high - low, 2 * 1.959964 * std, rtol=1e-6)
    for k in (model.n_relevant_ // 2, model.n_relevant_ + 3):
        assert (model.with_kernels(k).predict_dist(far)[1] > 0.9 * dense).all()


def test_what_is_added_is_the_prior_s_variance_given_the_kept_rows():
    X, _, model = fitted(LaconicRegressor)
    new = np.random.default_rng(2).normal(size=(50, 2)) * 2
    unit = X.std(axis=0)
    M, far = model.relevance_vectors_, model._far_variance
    K, k = kernel_matrix(model, M, M, unit), kernel_matrix(model, new, M, unit)
    given = 1 - np.einsum("ji,ji->i", k, np.linalg.solve(K + 1e-6 * np.eye(len(M)), k))
    added = far.apply(new, model.basis_.columns(new)[:, model._columns[0]], 0.0, 0.0)[1]
    np.testing.assert_allclose(added, far.height * given**far.power, rtol=1e-4, atol=1e-9 * far.height)
    assert (
        far.apply(M, model.basis_.columns(M)[:, model._columns[0]], 0.0, 0.0)[1].max()
        < 1e-4 * far.height
    )


@pytest.mark.parametrize("seed", range(3))
def test_rows_far_from_the_others_do_not_surprise_a_regression(seed):
    """Where features have long tails many new rows are far from all kept kernels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(2, size=(1150, 3))
    y = np.tanh(X[:, 0]) + np.sin(X[:, 1]) + 0.3 * rng.normal(size=1150)
    model = LaconicRegressor().fit(X[:150], y[:150])
    m, v = model.reference_[0].latent(X[150:])
    dense = model.likelihoods_[0].predictive(y[150:], m, v).mean()
    assert model.log_density(X[150:], y[150:]).mean() > dense - 0.05


def test_among_the_rows_a_regression_is_no_less_sure_than_it_was():
    X, y = make_friedman1(1200, noise=1.0, random_state=0)
    model = LaconicRegressor().fit(X[:200], y[:200])
    said = model.log_density(X[200:], y[200:]).mean()
    model._far_variance = None
    assert said > model.log_density(X[200:], y[200:]).mean() - 0.005


@both
def test_longer_paths_lose_less(kind):
    X, _, model = fitted(kind)
    lost = nats(model)
    assert [point.kernels for point in model.path_] == list(range(len(lost)))
    # A classifier's variances cost nats too, and few kernels have them only by and large.
    slack = 1.02 if kind is LaconicRegressor else 1.1
    assert (lost[1:] <= slack * lost[:-1] + 1e-7).all()
    assert lost[-1] < 0.01 * lost[0]
    objective = [record.objective for record in model.history_]
    np.testing.assert_allclose(objective, -lost)
    assert [record.active for record in model.history_] == list(range(len(lost)))
    assert len(X) >= model.n_relevant_


@both
@pytest.mark.parametrize("tolerance", [0.1, 0.01, 0.001, 1e-4])
def test_the_smallest_model_within_the_tolerance(kind, tolerance):
    X, y, _ = fitted(kind)
    model = kind(tolerance=tolerance).fit(X, y)
    lost, k = nats(model), model.n_relevant_
    if (lost > tolerance).all():  # the kernels of all rows do not reach it
        assert "No larger set of kernels comes closer" in model.status_.message
        assert k == np.argmin(lost)
        assert len(lost) <= min(64, len(X))
    else:
        assert lost[k] <= tolerance
    assert (lost[:k] > tolerance).all()
    assert model.tolerance_ == tolerance
    assert model.status_.message.startswith("1 kernel loses" if k == 1 else f"{k} kernels lose")


@both
def test_a_kernel_beyond_the_tolerance_has_its_price(kind):
    X, y, model = fitted(kind)
    lost, k = nats(model), model.n_relevant_
    least = np.flatnonzero(lost <= 0.004)[0]
    assert model.tolerance_ == 0.004
    assert k == least + np.argmin(lost[least:] + 0.0002 * np.arange(len(lost) - least))
    assert kind(tolerance=0.004).fit(X, y).n_relevant_ == least
    assert kind(None).fit(X, y).tolerance_ == 0.002
    slim = model.slim()
    assert (slim.n_relevant_, slim.with_kernels(k).n_relevant_) == (k, k)


def test_what_more_is_worth_its_price():
    path = Path(None, Probit(), [], [], np.array([9.0, 1.0, 0.5, 0.4, 0.05, 0.04]))
    assert path.select(1.0) == 1
    assert path.select(1.0, 0.2) == 4  # two steps win less, but three win enough together
    assert path.select(1.0, 0.6) == 1
    assert path.select(0.01, 0.2) == 5  # nothing is within it: the best


@both
def test_max_kernels(kind):
    X, y, whole = fitted(kind)
    for most in (1, 3):
        model = kind(max_kernels=most).fit(X, y)
        assert len(model.path_) == most + 1
        assert model.n_relevant_ <= most
    assert "max_kernels" in model.status_.message
    assert whole.n_relevant_ > 3


def state(model):
    """What with_kernels might spoil."""
    return pickle.dumps({name: value for name, value in vars(model).items() if name != "callbacks"})


@both
def test_with_kernels(kind):
    X, _, model = fitted(kind)
    before, said, names = state(model), says(model, X), sorted(vars(model))
    for k in range(len(model.path_)):
        other = model.with_kernels(k)
        assert other is not model
        assert type(other) is kind
        assert other.n_relevant_ == k
        assert len(other.relevance_vectors_) == k
        np.testing.assert_array_equal(X[other.relevance_], other.relevance_vectors_)
        assert other.status_.message.startswith("1 kernel loses" if k == 1 else f"{k} kernels lose")
        assert sorted(vars(other)) == names
        says(other, X)
    np.testing.assert_array_equal(says(model, X), said)
    assert state(model) == before
    np.testing.assert_array_equal(says(model.with_kernels(model.n_relevant_), X), said)
    # and from a copy one gets back
    np.testing.assert_array_equal(says(model.with_kernels(1).with_kernels(model.n_relevant_), X), said)
    assert clone(other).get_params() == clone(model).get_params()


@both
def test_with_kernels_is_what_a_fit_finds(kind):
    """A tolerance that the model of k kernels just meets gives the model of k kernels."""
    X, y, model = fitted(kind)
    lost = nats(model)
    for k in (1, 3, 5):
        assert lost[k] < lost[k - 1]
        fresh = kind(tolerance=lost[k] * (1 + 1e-6)).fit(X, y)
        smaller = min(fresh.n_relevant_, len(model.path_) - 1)
        np.testing.assert_allclose(
            says(fresh, X), says(fresh.with_kernels(fresh.n_relevant_), X), rtol=1e-10
        )
        # the way there differs with the tolerance, so the kernels may; what is lost may not by much
        assert smaller <= k + 1
        assert nats(fresh)[fresh.n_relevant_] <= lost[k] * (1 + 1e-5)


@both
@pytest.mark.parametrize("k", [-1, 1.5, "2", None, True, 10**6, np.nan])
def test_sizes_that_make_no_sense(kind, k):
    model = fitted(kind)[2]
    with pytest.raises(ValueError, match=f"k must be a whole number from 0 to {len(model.path_) - 1}"):
        model.with_kernels(k)


@both
def test_with_kernels_before_fit(kind):
    with pytest.raises(NotFittedError):
        kind().with_kernels(1)


@both
def test_a_callback_ends_the_path(kind):
    X, y, _ = fitted(kind)
    seen = []

    def stop(record):
        seen.append(record)
        return record.active >= 2

    model = kind(callbacks=stop).fit(X, y)
    assert [record.active for record in seen] == [0, 1, 2]
    assert len(model.path_) == 3
    assert model.n_relevant_ == 2
    np.testing.assert_allclose([-record.objective for record in seen], nats(model), atol=1e-12)
    says(model, X)
    with pytest.raises(ValueError, match="from 0 to 2"):
        model.with_kernels(3)
    nothing = kind(callbacks=[lambda record: True]).fit(X, y)
    assert nothing.n_relevant_ == 0
    assert np.ptp(nothing.predict(X)) == 0


# ---- units, weights and repetition ----------------------------------------------------------


def same(model, X, other, Z, rtol=1e-6):
    """Whether two models say the same."""
    assert model.n_relevant_ == other.n_relevant_
    np.testing.assert_array_equal(model.relevance_, other.relevance_)
    np.testing.assert_allclose(says(other, Z), says(model, X), rtol=rtol, atol=rtol)


@both
@pytest.mark.parametrize("kernel", ["rbf", "matern", None])
def test_units_of_the_features(kind, kernel):
    X, y = data(kind, 60)
    model = kind(kernel).fit(X, y)
    scale, shift = np.array([1e-3, 1e3]), np.array([-3e-3, 2e3])
    Z = X * scale + shift
    same(model, X, kind(kernel).fit(Z, y), Z, rtol=1e-5)


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


# ---- what it is for -------------------------------------------------------------------------


def test_iris():
    X, y = load_iris(return_X_y=True)
    score = cross_val_score(LaconicClassifier(), X, y, cv=3)
    assert score.mean() >= 0.93
    model = LaconicClassifier().fit(X, np.array(["a", "b", "c"])[y])
    assert len(model.reference_) == 3
    assert model.dual_coef_.shape == (3, model.n_relevant_)
    assert model.n_relevant_ < 12
    assert nats(model)[model.n_relevant_] <= model.tolerance_
    assert says(model, X).shape == (150, 3)
    parallel = LaconicClassifier(n_jobs=2).fit(X, np.array(["a", "b", "c"])[y])
    # The same but for rounding, of which small probabilities have their part of the sum.
    np.testing.assert_allclose(parallel.predict_proba(X), model.predict_proba(X), rtol=1e-10, atol=1e-10)


def three_classes(n, seed=0):
    """Return rows of three classes around a corner, which none of them has for itself."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 0, np.where(X[:, 1] > 0, 1, 2))


def test_classes_share_their_kernels():
    X, y = three_classes(120)
    model = LaconicClassifier().fit(X, y)
    assert {point.output for point in model.path_} == {0}
    assert [point.kernels for point in model.path_] == list(range(len(model.path_)))
    assert len(model.history_) == len(model.path_)
    for k in (0, 2, 5, model.n_relevant_):
        smaller = model.with_kernels(k)
        assert smaller.n_relevant_ == len(smaller.relevance_) == k
        assert (smaller.dual_coef_ != 0).all()
    # Of one against the rest each needs about as many.
    alone = [LaconicClassifier().fit(X, y == k).n_relevant_ for k in range(3)]
    assert model.n_relevant_ < 0.7 * sum(alone)


def test_nats_of_classes_are_the_divergence_of_their_probabilities():
    X, y = three_classes(80)
    model = LaconicClassifier().fit(X, y)
    yes = np.column_stack([integrated(reference, X) for reference in model.reference_])
    p = yes / (1 - yes) ** model.coupling_
    p /= p.sum(axis=1, keepdims=True)
    for k, lost in list(enumerate(nats(model)))[::4]:
        log_q = model.with_kernels(k).predict_log_proba(X)
        kl = (p * (np.log(p) - log_q)).sum(axis=1)
        np.testing.assert_allclose(lost, kl.mean(), rtol=1e-3, atol=1e-7)


def test_classes_may_have_more_kernels_in_all():
    X, y = three_classes(60)
    model = LaconicClassifier(max_kernels=4, tolerance=1e-9).fit(X, y)
    assert len(model.path_) == 5
    assert "max_kernels" in model.status_.message
    assert model.status_.message.startswith("4 kernels lose")  # of all classes, once
    assert [default_max_columns(n, 1) for n in (60, 3000, 10**6)] == [64, 100, 200]
    assert [default_max_columns(n, 3) for n in (60, 10**6)] == [200, 200]


def wide(kind, n, p, seed):
    """Return rows whose target is made by three features, with next to no noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = 4 * (X[:, 3] - X[:, 7] + X[:, 15]) + 0.3 * rng.normal(size=n)
    return X, (y > 0).astype(int) if kind is LaconicClassifier else y


@lru_cache
def fitted_wide(kind, seed):
    """Return the model of 60 rows of 2000 features; nobody changes it."""
    return survives(kind(kernel=None), *wide(kind, 60, 2000, seed))


@both
def test_few_features_of_many(kind):
    found, seconds = 0, np.zeros(2)
    for seed in range(5):
        X, y = wide(kind, 60, 2000, seed)
        started = time.process_time()
        model = fitted_wide(kind, seed)
        between = time.process_time()
        LassoCV().fit(X, y)
        seconds += between - started, time.process_time() - between
        assert np.count_nonzero(model.coef_) == model.n_relevant_ <= 64
        assert model.get_support().sum() == model.n_relevant_
        size = min(3, len(model.path_) - 1)
        three = model.with_kernels(size)
        assert three.transform(X).shape == (60, size) if size else True
        found += set(three.relevance_) == {3, 7, 15}
    assert seconds[0] < 20 * seconds[1]  # two to four times as long as a tuned lasso
    assert found >= 3


@both
def test_few_features_of_many_predict(kind):
    """A sparse reference takes the place of the ridge.

    Of 60 labels some draws say too little: L1 logistic regression, tuned, has .75 on these.
    """
    score = []
    for seed in range(5):
        X_test, y_test = wide(kind, 500, 2000, 100 + seed)
        model = fitted_wide(kind, seed)
        assert model.reference_[0].relative_precision is None
        score.append(model.score(X_test, y_test))
    assert np.mean(score) > (0.82 if kind is LaconicClassifier else 0.95)


def factors(kind, n, seed):
    """Return rows of 1000 features with five factors in them, the first of which makes the target."""
    rng = np.random.default_rng(seed)
    loadings = np.random.default_rng(99).normal(size=(5, 1000))
    Z = rng.normal(size=(n, 5))
    X = 0.7 * Z @ loadings + rng.normal(size=(n, 1000))
    y = 3 * Z[:, 0] + 0.5 * rng.normal(size=n)
    return X, (y > 0).astype(int) if kind is LaconicClassifier else y


def test_many_features_of_few_factors_predict_labels():
    """Few features that agree with a dense reference at 60 rows alone would not agree elsewhere."""
    lost, more = [], []
    for seed in (0, 4, 6):
        X, y = factors(LaconicClassifier, 60, seed)
        X_test, y_test = factors(LaconicClassifier, 1000, seed + 1)
        model = LaconicClassifier(kernel=None).fit(X, y)
        reference = model.reference_[0]
        assert reference.relative_precision is not None
        m, v = reference.latent(X_test)
        lost.append(log_loss(y_test, model.predict_proba(X_test)[:, 1]))
        more.append(lost[-1] - log_loss(y_test, ndtr(m / np.sqrt(1 + v))))
    assert np.mean(more) < 0.03
    assert np.mean(lost) < 0.21  # by Laplace's approximation of the reference it was .222


def test_many_features_of_few_factors_predict_values():
    X, y = factors(LaconicRegressor, 60, 0)
    X_test, y_test = factors(LaconicRegressor, 1000, 1)
    model = LaconicRegressor(kernel=None).fit(X, y)
    reference = model.reference_[0]
    assert reference.relative_precision is not None
    m, _ = reference.latent(X_test)
    mean, std = model.predict_dist(X_test)
    assert np.var(mean - m) < 0.05 * np.var(m)
    assert 0.7 < np.std((y_test - mean) / std) < 1.3


@both
def test_the_reference_knows_what_no_row_has_told(kind):
    """Mean and variance at new rows are those of all the features' weights."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(15, 40)), rng.normal(size=(6, 40))
    y = X[:, 0] + 0.1 * rng.normal(size=15)
    y = (y > 0).astype(int) if kind is LaconicClassifier else y
    model = kind(kernel=None)
    weight, targets = np.ones(15), (2.0 * y - 1 if kind is LaconicClassifier else y)
    coordinates = FeatureMap.of(X, weight)
    likelihood = Probit() if kind is LaconicClassifier else Gaussian(0.1, estimate=False)
    problem = Problem(DenseDesign(coordinates.columns(X)), targets, likelihood, Jeffreys(), weight, True)
    reference = fit_reference(coordinates, problem, 0.3)
    Z, Z_new = ((A - X.mean(axis=0)) / X.std(axis=0) for A in (X, new))
    x, covariance, _ = laplace(Z, targets, 1 / reference.weight_variance, likelihood)
    A = np.column_stack([Z_new, np.ones(6)])
    m, v = reference.latent(new)
    np.testing.assert_allclose(m, A @ x, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(v, np.einsum("ij,jk,ik->i", A, covariance, A), rtol=1e-6)
    assert model.fit(X, y).reference_[0].left_out_v.shape == (15,)


def test_shrinkage_is_that_of_ledoit_and_wolf():
    X, _ = factors(LaconicRegressor, 30, 0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = ledoit_wolf_shrinkage(Z, assume_centered=True)
    np.testing.assert_allclose(shrinkage(Z, np.full(30, 1 / 30), 30.0), expected)


@pytest.mark.parametrize("intercept", [True, False])
def test_unseen_rows_are_rows(intercept):
    """What is asked elsewhere is what one more row for each column would ask."""
    rng = np.random.default_rng(0)
    n, p = 12, 30
    T, r = rng.normal(size=(n, p)), rng.uniform(0.5, 2, size=n)
    if intercept:  # rows of weights have none
        T = T - r @ T / r.sum()
    u, precision = rng.normal(size=p), rng.uniform(0.5, 2, size=p)
    penalty = ShrinkagePenalty(precision, u, np.eye(p))
    found = choose_columns(
        DenseDesign(T), r, T @ u, intercept=intercept, max_columns=8, enough=0.0, penalty=penalty
    )
    more, weight = np.vstack([T, np.eye(p)]), np.append(r, precision)
    explicit = columns_of(more, weight, np.append(T @ u, u), False, max_columns=8)
    assert [set(index) for index in found] == [set(index) for index in explicit]
    few = found[5]
    posterior = GaussianPosterior(u, 0.0, np.zeros(p), 0.0, rng.normal(size=(p, p)), None, 30.0)
    one = Projection.of(
        T[:, few],
        r,
        T @ u,
        DenseDesign(T),
        posterior,
        intercept=intercept,
        penalty=penalty.on_columns(few),
    ).onto(np.arange(5))
    other = Projection.of(
        more[:, few], weight, more @ u, DenseDesign(more), posterior, intercept=False
    ).onto(np.arange(5))
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-6)
    np.testing.assert_allclose(one.root.T @ one.root, other.root.T @ other.root, rtol=1e-5, atol=1e-7)
    missed = loss(more, weight, np.append(T @ u, u), few, False)
    at_rows = 0.5 * r @ (T @ u - T[:, few] @ one.mean) ** 2
    np.testing.assert_allclose(at_rows + penalty.loss(few, one.mean), missed, rtol=1e-6)


@both
def test_a_repeated_row_weighs_twice_among_many_features(kind):
    X, y = wide(kind, 40, 100, 3)
    twice = np.append(np.arange(40), np.arange(0, 40, 3))
    weight = np.ones(40)
    weight[::3] = 2
    one = kind(kernel=None).fit(X, y, sample_weight=weight)
    other = kind(kernel=None).fit(X[twice], y[twice])
    np.testing.assert_allclose(says(one, X), says(other, X), rtol=1e-5, atol=1e-8)


@both
def test_features(kind):
    """A few features that matter, many rows: those are found, and no more."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20)) * 10.0 ** rng.uniform(-3, 3, size=20)
    f = X @ (np.array([2.0, -2.0, 1.5] + [0.0] * 17) / X.std(axis=0))
    y = f + 0.5 * rng.normal(size=300)
    y = (y > 0).astype(int) if kind is LaconicClassifier else y
    model = kind(kernel=None, tolerance=0.01).fit(X, y)
    assert set(model.relevance_) >= {0, 1, 2}
    assert model.n_relevant_ <= 10
    assert set(model.with_kernels(3).relevance_) == {0, 1, 2}


@both
@pytest.mark.parametrize("kernel", ["linear", "poly", "matern", "rbf", RBF(0.5), lambda A, B: A @ B.T])
def test_kernels(kind, kernel):
    X, y = data(kind, 100)
    model = survives(kind(kernel), X, y)
    assert model.score(X, y) > (0.65 if kind is LaconicClassifier else 0.35)
    if kernel == "linear":
        assert model.n_relevant_ <= 2


def test_the_width_of_many_rows():
    X, y = make_ripley(20_000, random_state=0)
    X_test, y_test = make_ripley(2000, random_state=1)
    model = LaconicClassifier().fit(X, y)
    assert model.score(X_test, y_test) > 0.905


def test_a_cubic_is_found():
    X, y = data(LaconicRegressor, 100)
    assert LaconicRegressor("poly").fit(X, y).score(X, y) > 0.7


@both
@pytest.mark.parametrize("kernel", ["rbf", "linear", None])
def test_sparse_X(kind, kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 30)) * (rng.uniform(size=(100, 30)) < 0.3)
    f = 3 * (X[:, 0] - X[:, 1] + X[:, 2])
    y = (f > 0).astype(int) if kind is LaconicClassifier else f + 0.1 * rng.normal(size=100)
    model = kind(kernel).fit(csr_array(X), y)
    assert model.score(csr_array(X), y) > (0.75 if kind is LaconicClassifier else 0.5)
    np.testing.assert_allclose(says(model, X), says(model, csr_array(X)), rtol=1e-8, atol=1e-8)
    if kernel is None:
        dense = kind(kernel).fit(X, y)
        np.testing.assert_allclose(says(model, X), says(dense, X), rtol=1e-4, atol=1e-4)


@both
def test_units_of_sparse_features(kind):
    """An income and an age beside categories, as a ``ColumnTransformer`` makes them."""
    rng = np.random.default_rng(1)
    town, income, age = rng.integers(0, 12, 650), rng.lognormal(10, 0.6, 650), rng.integers(18, 80, 650)
    f = 1.5 * rng.normal(size=12)[town] + (age - 50) / 15 + 0.8 * rng.normal(size=650)
    y = (f > 0).astype(int) if kind is LaconicClassifier else f
    X = np.column_stack([income, age, np.eye(12)[town]])
    scores = [
        kind().fit(rows[:250], y[:250]).score(rows[250:], y[250:])
        for rows in (X, csr_array(X), csr_array(X * np.r_[1e-4, 1e4, np.ones(12)]))
    ]
    assert scores[0] > 0.7
    assert min(scores[1:]) > scores[0] - 0.04


@both
@pytest.mark.parametrize("kernel", ["rbf", None])
def test_float32(kind, kernel):
    X, y = data(kind, 80)
    X = X.astype(np.float32)
    single, double = kind(kernel).fit(X, y), kind(kernel).fit(X.astype(float), y)
    np.testing.assert_allclose(says(single, X), says(double, X.astype(float)), atol=5e-3)


@both
@pytest.mark.parametrize("kernel", ["rbf", "linear", "matern", None])
def test_duplicate_rows(kind, kernel):
    X, y = data(kind, 20)
    model = survives(kind(kernel), np.tile(X, (5, 1)), np.tile(y, 5))
    assert model.n_relevant_ <= 20


@both
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "matern", None])
def test_constant_features(kind, kernel):
    X, y = data(kind, 50)
    Z = np.column_stack([np.full(50, 0.1), X, np.zeros(50), np.full(50, 1e5)])
    model, plain = survives(kind(kernel), Z, y), kind(kernel).fit(X, y)
    if kernel in ("rbf", "matern", None):
        np.testing.assert_allclose(says(model, Z), says(plain, X), rtol=1e-5, atol=1e-5)
    assert model.score(Z, y) > 0.45


@both
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "matern", None])
@pytest.mark.parametrize("value", [0.0, 1.0, 1e6])
def test_all_rows_identical(kind, kernel, value):
    _, y = data(kind, 30)
    X = np.full((30, 3), value)
    model = survives(kind(kernel), X, y)
    assert model.n_relevant_ == 0
    if kind is LaconicClassifier:
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], y.mean(), atol=0.02)
    else:
        np.testing.assert_allclose(model.predict(X), y.mean(), atol=1e-6)
        np.testing.assert_allclose(model.predict_dist(X)[1], y.std(), rtol=0.1)


@both
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "matern", None])
def test_two_rows(kind, kernel):
    survives(kind(kernel), [[0.0, 1.0], [1.0, 0.0]], [0, 1])
    survives(kind(kernel), [[0.0], [1.0]], [0, 1])
    survives(kind(kernel), [[0.0], [0.0]], [0, 1])
    survives(kind(kernel), [[0.0], [1.0], [2.0]], [0, 1, 1])


def test_one_row():
    survives(LaconicRegressor(), [[0.0, 1.0]], [3.0])
    survives(LaconicRegressor(kernel=None), [[0.0, 1.0]], [3.0])
    with pytest.raises(ValueError, match="one class"):
        LaconicClassifier().fit([[0.0, 1.0]], [3])


@pytest.mark.parametrize("kernel", ["rbf", "linear", "matern", None])
@pytest.mark.parametrize("likelihood", ["probit", "logistic"])
def test_separable_data(kernel, likelihood):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "right", "left")
    X[:, 0] += np.where(y == "right", 3, -3)
    model = survives(LaconicClassifier(kernel, likelihood=likelihood), X, y)
    assert model.score(X, y) == 1
    assert model.n_relevant_ <= 5
    survives(LaconicClassifier(kernel, likelihood=likelihood), np.r_[[[-9.0]] * 30, [[9.0]] * 30], y)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "matern", None])
@pytest.mark.parametrize("value", [0.0, 1.0, -1e6, 1e-6])
def test_constant_targets(kernel, value):
    X, _ = data(LaconicRegressor)
    model = survives(LaconicRegressor(kernel), X, np.full(40, value))
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-4, atol=1e-9)
    assert model.n_relevant_ == 0


@pytest.mark.parametrize("kernel", ["rbf", "linear", None])
def test_targets_without_noise(kernel):
    X, _ = data(LaconicRegressor, 60)
    y = 2 * X[:, 0] - X[:, 1] + 1
    model = survives(LaconicRegressor(kernel), X, y)
    assert model.score(X, y) > 0.999
    mean, std = model.predict_dist(X)
    assert (np.abs(mean - y) <= 6 * std).all()
    if kernel is None:
        np.testing.assert_allclose(model.coef_, [2, -1], rtol=1e-3)
        assert set(model.relevance_) == {0, 1}


@both
@pytest.mark.parametrize("kernel", ["rbf", None])
def test_pure_noise(kind, kernel):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    y = (y > 0).astype(int) if kind is LaconicClassifier else y
    model = survives(kind(kernel), X, y)
    new = rng.normal(size=(1000, 3))
    if kind is LaconicClassifier:
        assert np.abs(model.predict_proba(new)[:, 1] - y.mean()).mean() < 0.1
    else:
        assert model.predict(new).std() < 0.4


@both
def test_without_intercept(kind):
    X, y = data(kind, 60)
    for kernel in ("rbf", None):
        model = survives(kind(kernel, fit_intercept=False), X, y)
        np.testing.assert_array_equal(model.intercept_, 0)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_collapses_with_few_of_one_class(seed):
    X, y = make_moons(400, noise=0.25, random_state=seed)
    rare = np.flatnonzero(y == 1)
    kept = np.sort(np.r_[np.flatnonzero(y == 0), rare[: len(rare) // 4]])
    X, y = X[kept], y[kept]
    assert y.mean() == 0.2
    X_test, y_test = make_moons(1000, noise=0.25, random_state=100 + seed)
    for kernel in ("rbf", "matern"):
        model = LaconicClassifier(kernel).fit(X, y)
        p = model.predict_proba(X_test)[:, 1]
        assert model.n_relevant_ >= 2
        assert roc_auc_score(y_test, p) > 0.93
        assert model.predict(X_test)[y_test == 1].mean() > 0.5
    noise = np.random.default_rng(seed).normal(size=X.shape)  # no signal: the rate, not a guess
    p = LaconicClassifier().fit(noise, y).predict_proba(noise)[:, 1]
    np.testing.assert_allclose(p.mean(), 0.2, atol=0.03)


def test_probabilities_are_as_good_as_the_reference_s():
    X, y = make_ripley(250, random_state=0)
    X_test, y_test = make_ripley(2000, random_state=1)
    model = LaconicClassifier().fit(X, y)
    reference = integrated(model.reference_[0], X_test)
    ours = log_loss(y_test, model.predict_proba(X_test))
    assert ours <= log_loss(y_test, reference) + 0.01
    assert model.n_relevant_ <= 15
    assert model.score(X_test, y_test) > 0.88


def test_coverage():
    inside, lengths = [], []
    for seed in range(8):
        X, y = make_sinc(80, noise=0.1, random_state=seed)
        X_test, y_test = make_sinc(400, noise=0.1, random_state=100 + seed)
        model = LaconicRegressor().fit(X, y)
        mean, std = says(model, X_test).T
        inside.append(np.mean(np.abs(y_test - mean) <= 1.96 * std))
        lengths.append(std.mean())
        far_mean, far_std = model.predict_dist(np.array([[1e3], [-1e6]]))
        assert np.isfinite(far_mean).all()
        assert (far_std >= np.sqrt(model.noise_variance_)).all()
    assert 0.9 <= np.mean(inside) <= 0.99
    assert 0.09 <= np.mean(lengths) <= 0.14


def test_noise_is_found():
    X, y = make_sinc(200, noise=0.1, random_state=0)
    model = LaconicRegressor().fit(X, y)
    assert 0.08**2 < model.noise_variance_ < 0.12**2
    given = LaconicRegressor(likelihood=Gaussian(noise=0.04, estimate=False)).fit(X, y)
    assert given.noise_variance_ == 0.04


# ---- the contract ---------------------------------------------------------------------------


BAD = [
    ({"tolerance": 0}, "tolerance must be a positive number of nats or 'auto', got 0"),
    ({"tolerance": -1e-3}, "tolerance must be a positive number"),
    ({"tolerance": None}, "tolerance must be a positive number"),
    ({"tolerance": np.nan}, "tolerance must be a positive number"),
    ({"tolerance": "0.1"}, "tolerance must be a positive number"),
    ({"max_kernels": 0}, "max_kernels must be None or a positive whole number, got 0"),
    ({"max_kernels": -2}, "max_kernels must be"),
    ({"max_kernels": 2.5}, "max_kernels must be"),
    ({"max_rank": 0}, "max_rank must be a positive whole number"),
    ({"gamma": "scale"}, "gamma must be a positive number or 'auto', got 'scale'"),
    ({"gamma": -1}, "gamma must be a positive number"),
    ({"gamma": 0.0}, "gamma must be a positive number"),
    pytest.param(
        {"gamma": None},
        "gamma must be a positive number",
    ),
    pytest.param(
        {"gamma": np.ones(2)},
        "gamma must be a positive number",
    ),
    ({"gamma": np.inf}, "gamma must be a positive number"),
    pytest.param(
        {"kernel": "precomputed"},
        "pass the kernel itself",
    ),
    ({"kernel": "rbff"}, "Did you mean 'rbf'"),
    ({"kernel": RBF(-1)}, "gamma must be a positive number"),
    ({"likelihood": "probitt"}, "Unknown likelihood"),
]


@both
@pytest.mark.parametrize(("settings", "fragment"), BAD, ids=str)
def test_bad_settings(kind, settings, fragment):
    X, y = data(kind)
    model = kind(**settings)
    with pytest.raises(ValueError, match=fragment) as caught:
        model.fit(X, y)
    assert "\n" not in str(caught.value)
    assert not [name for name in vars(model) if name.endswith("_") or name.startswith("_")]
    with pytest.raises(NotFittedError):
        model.predict(X)
    good = deepcopy(fitted(kind, len(y))[2])
    before, said = sorted(vars(good)), says(good, X)
    good.set_params(**settings)
    with pytest.raises(ValueError, match=fragment):
        good.fit(X, y)
    assert sorted(vars(good)) == before
    np.testing.assert_array_equal(says(good.set_params(**kind().get_params()), X), said)


def test_a_square_matrix_is_no_kernel_either():
    X, y = data(LaconicClassifier)
    with pytest.raises(ValueError, match="pass the kernel itself"):
        LaconicClassifier(kernel="precomputed").fit(X @ X.T, y)


@both
def test_max_rank_is_said(kind):
    X, y = data(kind, 100)
    model = survives(kind(gamma=5.0, max_rank=20), X, y)
    assert "max_rank" in model.status_.message
    assert model.score(X, y) > 0.5


@both
def test_pickle_and_clone(kind):
    X, y, model = fitted(kind)
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(says(back, X), says(model, X))
    np.testing.assert_array_equal(says(back.with_kernels(2), X), says(model.with_kernels(2), X))
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "path_")
    np.testing.assert_array_equal(says(fresh.fit(X, y), X), says(model, X))


@both
def test_search_and_pipeline(kind):
    X, y = data(kind, 60)
    pipe = make_pipeline(StandardScaler(), kind())
    name = kind.__name__.lower()
    grid = {f"{name}__tolerance": [0.1, 0.001], f"{name}__kernel": ["rbf", None]}
    search = GridSearchCV(pipe, grid, cv=3).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > (0.7 if kind is LaconicClassifier else 0.3)


@both
def test_fit_is_repeatable_and_leaves_its_arguments_alone(kind):
    X, y = data(kind)
    X_before, y_before = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    model = kind()
    params = model.get_params()
    first = says(model.fit(X, y), X)
    np.testing.assert_array_equal(says(model.fit(X, y), X), first)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)
    assert model.get_params() == params


@both
def test_another_kernel_leaves_nothing_of_the_last(kind):
    X, y = data(kind)
    model = kind().fit(X, y)
    model.set_params(kernel=None).fit(X, y)
    assert not hasattr(model, "dual_coef_")
    for name in ("gamma_", "kernel_"):
        assert not hasattr(model, name), f"{name} is of the last fit"
    fresh = kind(kernel=None).fit(X, y)
    np.testing.assert_array_equal(says(model, X), says(fresh, X))
    assert sorted(vars(model)) == sorted(vars(fresh))


@both
def test_the_width_is_kept_if_it_is_given(kind):
    X, y = data(kind)
    model = kind(gamma=0.3).fit(X, y)
    assert model.gamma_ == 0.3
    scale = X.std(axis=0)
    expected = RBF(0.3)(X / scale, X[:3] / scale)
    np.testing.assert_allclose(model.kernel_(X, X[:3]), expected, rtol=1e-8)


@both
def test_data_that_make_no_sense(kind):
    X, y = data(kind)
    for bad in (np.nan, np.inf):
        Z = X.copy()
        Z[3, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            kind().fit(Z, y)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            fitted(kind)[2].predict(Z)
    with pytest.raises(ValueError, match="zero"):
        kind().fit(X, y, sample_weight=np.zeros(40))
    with pytest.raises(ValueError, match="negative"):
        kind().fit(X, y, sample_weight=-np.ones(40))


def test_no_warnings_on_hard_data():
    """Outliers, wide ranges and tiny classes: no warning of numpy's reaches the user."""
    rng = np.random.default_rng(0)
    X = rng.standard_cauchy(size=(80, 3))
    y = np.zeros(80, dtype=int)
    y[:2] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        survives(LaconicClassifier(), X, y)
        survives(LaconicClassifier(kernel=None), X, y)
        survives(LaconicRegressor(), X, rng.standard_cauchy(size=80))
        survives(LaconicRegressor(kernel=None), X, X[:, 0] ** 3)


def test_with_kernels_of_classes_with_paths_of_different_lengths():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    y = np.where(X[:, 0] > 0.3, 0, rng.integers(1, 3, size=50))  # the others cannot be told apart
    model = LaconicClassifier(kernel=None).fit(X, y)  # features are chosen for each class
    lengths = [sum(point.output == k for point in model.path_) - 1 for k in range(3)]
    longest = model.with_kernels(max(lengths))
    assert [sum(p.output == k for p in longest.path_) - 1 for k in range(3)] == lengths
    np.testing.assert_allclose(longest.predict_proba(X).sum(axis=1), 1)
    with pytest.raises(ValueError, match=f"from 0 to {max(lengths)}"):
        model.with_kernels(max(lengths) + 1)


# ---- many rows, many classes -----------------------------------------------------------------------


@pytest.mark.parametrize(("n", "outputs", "few", "more"), [(500, 1, 500, 500), (1000, 1, 600, 600)])
def test_a_search_on_few_rows_has_them_all(n, outputs, few, more):
    found = search_rows(np.random.default_rng(0).normal(size=(n, 3)), outputs)
    assert [part.size for part in found] == [few, more]


def test_a_search_ends_with_more_rows_and_takes_fewer_for_many_classes():
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    assert [part.size for part in search_rows(X, 1)] == [600, 2400]
    few, more = (part.size for part in search_rows(X, 24))
    assert (few, more) == (300, 1200)


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
    monkeypatch.setattr(_path, "_MAX_EVALUATION_ROWS", 200)
    monkeypatch.setattr(references, "_MAX_FACTOR_ENTRIES", 1000)
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


# ---- slim -----------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("kernel", ["rbf", None])
def test_a_slim_model_says_the_same(kind, kernel):
    X, y = data(kind, 60)
    if kind is LaconicClassifier:
        y = y + (X[:, 1] > 1)  # three classes, so three paths
    weight = np.append(0.0, np.ones(59))  # a row that is no row
    model = kind(kernel).fit(X, y, sample_weight=weight)
    slim = pickle.loads(pickle.dumps(model.slim()))
    X = np.concatenate([X, 10 * X])
    np.testing.assert_array_equal(says(slim, X), says(model, X))
    np.testing.assert_array_equal(slim.relevance_, model.relevance_)
    assert slim.status_ == model.status_
    assert not slim.reference_
    assert model.reference_
    size = max(columns.size for columns in model._columns)
    assert max(point.kernels for point in slim.path_) == size
    for k in range(size + 1):
        few, same = slim.with_kernels(k), model.with_kernels(k)
        if k < size:  # the other outputs are no longer than they are
            short = [columns.size < k for columns in model._columns]
            if not any(short):
                np.testing.assert_array_equal(says(few, X), says(same, X))
                np.testing.assert_array_equal(few.relevance_, same.relevance_)
    with pytest.raises(ValueError, match=f"from 0 to {size}, got {size + 1}"):
        slim.with_kernels(size + 1)
    np.testing.assert_array_equal(says(slim.slim(), X), says(model, X))


def test_a_slim_model_is_small():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5))
    model = LaconicClassifier(tolerance=0.03).fit(
        X, X[:, 0] + np.sin(2 * X[:, 1]) > rng.normal(size=500)
    )
    whole, slim = (len(pickle.dumps(one)) for one in (model, model.slim()))
    assert slim < 40_000 < 1_000_000 < whole


def test_who_asks_for_fewer_kernels_is_not_told_that_there_are_none():
    _, _, model = fitted(LaconicClassifier)
    assert "comes closer" not in model.with_kernels(1).status_.message


# ---- features with long tails ---------------------------------------------------------------


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
