"""The dense reference: precision, leave-one-out, duplicates."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import multivariate_normal
from sklearn.datasets import (
    make_classification,
)
from sklearn.metrics import log_loss

from flagship_cases import alpha_of, both, data, fitted, kernel_matrix, laplace
from laconism import LaconicClassifier, LaconicRegressor
from laconism.design import DenseDesign
from laconism.flagship.rows import leaves_whole_rows
from laconism.judging.duplicates import merge_near_duplicates
from laconism.judging.left_out import leave_one_out
from laconism.laplace.mode import find_mode
from laconism.laplace.shared_precision import fit_shared, row_products
from laconism.likelihoods import Gaussian, Logistic, Probit
from laconism.posterior import GaussianPosterior
from laconism.priors import Jeffreys
from laconism.solvers import Problem


@both
def test_reference_is_the_dense_model(kind):
    X, y = data(kind)
    new = np.random.default_rng(1).normal(size=(30, 2))
    model = kind(weigh_features=False).fit(X, y)
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
    m, v = reference.latent(X[model._rows])
    np.testing.assert_allclose(reference.m, m, atol=1e-8)
    np.testing.assert_allclose(reference.v, v, rtol=1e-6)


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
    model = kind("rbf", weigh_features=False).fit(X, y)
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
    products = row_products(problem.design, intercept=intercept)
    centred = Phi - Phi.mean(axis=0) if intercept else Phi
    np.testing.assert_allclose(products, centred @ centred.T)
    assert row_products(DenseDesign(Phi[:, :20]), intercept=True) is None  # then there is nothing to win
    for latent in (None, np.zeros(40)):
        theirs = fit_shared(problem, 0.1, latent=latent)
        ours = fit_shared(problem, 0.1, latent=latent, products=products)
        np.testing.assert_allclose([*ours.w, ours.b], [*theirs.w, theirs.b], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(ours.objective, theirs.objective)
        np.testing.assert_allclose(leave_one_out(ours), leave_one_out(theirs), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(ours.well_determined, theirs.well_determined, rtol=1e-7, atol=1e-9)


@both
@pytest.mark.parametrize("kernel", ["auto", "matern", "linear", "poly"])
def test_the_prior_of_a_kernel_that_is_a_covariance_is_a_process(kind, kernel):
    X, y = data(kind)
    assert kind(kernel).fit(X, y).reference_[0].feature_map.rotation is None


def test_the_prior_of_a_kernel_that_is_no_covariance_is_that_of_its_weights():
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


@pytest.mark.slow
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
