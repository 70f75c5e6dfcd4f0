"""The noise of a regression where parameters are many for the rows: what rows left out ask for."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import BayesianRidge

from laconism import GridRVMRegressor, JCFORegressor, RVMRegressor, SparseBayesRegressor
from laconism.design import DenseDesign
from laconism.judging.folds import cross_validated
from laconism.judging.left_out import OwnKernelPart, PressResiduals, _own_part
from laconism.kernels import RBF
from laconism.laplace.signal_to_noise import expected_noise
from laconism.likelihoods import Gaussian as GaussianNoise
from laconism.linalg import ridge
from laconism.posterior import GaussianPosterior
from laconism.priors import Jeffreys
from laconism.solvers import Problem

PRIORS = ["jeffreys", "laplace", "generalized_gaussian", "student_t"]


def one_of_thirty(n=150, seed=900, n_new=400):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + n_new, 30))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n + n_new)
    return X[:n], y[:n], X[n:], y[n:]


def coverage(model, X, y):
    mean, std = model.predict_dist(X)
    return float(np.mean(np.abs(y - mean) < 1.96 * std))


@pytest.mark.parametrize("prior", PRIORS)
def test_intervals_hold_where_kernels_pass_through_the_data(prior):
    X, y, new_X, new_y = one_of_thirty()
    model = SparseBayesRegressor(prior, kernel="rbf").fit(X, y)
    assert 0.9 < coverage(model, new_X, new_y) < 0.99  # by the residuals alone: .06
    mean, std = model.predict_dist(new_X)
    nats = 0.5 * np.log(2 * np.pi * std**2) + (new_y - mean) ** 2 / (2 * std**2)
    assert nats.mean() < 0.5 * np.log(2 * np.pi * np.e * new_y.var()) + 0.05


@pytest.mark.parametrize("inference", ["sequential", "variational"])
def test_intervals_of_relevance_vectors_hold(inference):
    X, y, new_X, new_y = one_of_thirty(100)
    assert coverage(RVMRegressor(inference=inference).fit(X, y), new_X, new_y) > 0.9


# Without noise the scale may go on changing; what it says near the end is tested.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("prior", ["laplace", "generalized_gaussian"])
def test_a_smooth_function_without_noise_is_still_passed_through(prior):
    X = np.sort(np.random.default_rng(7).uniform(-3, 3, 50))[:, None]
    model = SparseBayesRegressor(prior, kernel="rbf", max_iter=300).fit(X, np.sin(X[:, 0]))
    new = np.linspace(-2.9, 2.9, 100)[:, None]
    mean, std = model.predict_dist(new)
    error = np.sqrt(np.mean((mean - np.sin(new[:, 0])) ** 2))
    assert error < 0.005
    assert std.max() < 0.01
    assert std.mean() < 3 * error


@pytest.mark.parametrize("intercept", [False, True])
def test_a_row_is_left_out_as_if_it_had_not_been_there(intercept):
    rng = np.random.default_rng(3)
    X = np.repeat(rng.normal(size=(9, 2)), [1, 1, 2, 1, 1, 1, 3, 1, 1], axis=0)
    y, weight, noise = rng.normal(size=12), rng.uniform(0.5, 2, size=12), 0.3
    centres, source = X[[0, 2, 4, 6]], np.array([0, 2, 4, 6])
    kernel, variance = RBF(0.7), rng.uniform(0.5, 2, size=4)
    Phi, part = kernel(X, centres), rng.uniform(0.1, 0.9, size=4)

    def posterior(rows):
        answer = ridge(
            DenseDesign(Phi[rows]), weight[rows] / noise, y[rows], variance, intercept=intercept
        )
        return GaussianPosterior.from_ridge(answer)

    everything = posterior(np.arange(12))
    m, v = everything.latent(Phi)
    own = OwnKernelPart(source, np.arange(4), part)
    found = PressResiduals.of(everything, noise, own, X, Phi[source], y - m, v, weight)
    for i in range(12):
        copies = (X[i] == X).all(axis=1)
        seen = Phi[i].copy()
        for column in range(4):
            if (centres[column] == X[i]).all():
                seen[column] -= part[column]
        mean, variance_there = posterior(np.flatnonzero(~copies)).latent(seen[None])
        assert found.error[i] == pytest.approx(y[i] - mean[0], rel=1e-8)
        assert found.variance[i] == pytest.approx(variance_there[0], rel=1e-8)


def test_what_only_a_kernel_can_say_at_its_own_row():
    rng = np.random.default_rng(5)
    X = rng.uniform(size=(12, 2))
    K = RBF(3.0)(X, X)
    part = _own_part(K)
    for i in range(12):
        others = np.delete(np.arange(12), i)
        missed = K[i, i] - K[i, others] @ np.linalg.solve(K[np.ix_(others, others)], K[others, i])
        assert part[i] == pytest.approx(missed, rel=1e-3, abs=1e-8)
    np.testing.assert_allclose(_own_part(RBF(1e6)(X, X)), 1.0)
    assert _own_part(RBF(1e-4)(X, X)).max() < 1e-6


@pytest.mark.parametrize("kind", [SparseBayesRegressor, RVMRegressor])
def test_a_kernel_matrix_says_the_same_as_its_kernel(kind):
    X, y, _, _ = one_of_thirty(60)
    weight = np.random.default_rng(1).integers(0, 3, size=60).astype(float)
    named = kind(kernel=RBF(0.03)).fit(X, y, sample_weight=weight)
    given = kind(kernel="precomputed").fit(RBF(0.03)(X, X), y, sample_weight=weight)
    assert given.noise_variance_ == pytest.approx(named.noise_variance_, rel=1e-6)
    assert named.noise_variance_ > 0.5 * y.var()


def test_a_noise_that_is_given_stays():
    X, y, _, _ = one_of_thirty(60)
    held = GaussianNoise(noise=0.01, estimate=False)
    for kind in (SparseBayesRegressor, RVMRegressor):
        assert kind(kernel="rbf", likelihood=held).fit(X, y).noise_variance_ == 0.01
    assert JCFORegressor(likelihood=held).fit(X[:, :3], y).noise_variance_ == 0.01


@pytest.mark.parametrize("prior", PRIORS)
def test_features_that_outnumber_rows_leave_noise(prior):
    """By the residuals alone intervals of 95 % held 7 to 30 % of new targets."""
    held = []
    for seed in range(930, 936):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(320, 30))
        y = X[:, :3] @ rng.normal(size=3) + rng.normal(size=320)
        held.append(coverage(SparseBayesRegressor(prior).fit(X[:20], y[:20]), X[20:], y[20:]))
    assert np.mean(held) > 0.8, held


def test_kernels_of_heavy_noise_are_few():
    rng = np.random.default_rng(930)
    X = rng.normal(size=(500, 10))
    f = X[:, :5] @ rng.normal(size=5)
    y = f + 6 * rng.normal(size=500)
    model = SparseBayesRegressor(kernel="rbf").fit(X[:200], y[:200])
    assert model.n_relevant_ < 50  # all but twenty, if noise may vanish
    assert np.mean((model.predict(X[200:]) - f[200:]) ** 2) < 1.2 * f.var()


def test_the_noise_that_a_dense_model_expects():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 20))
    y = X @ rng.normal(size=20) + 0.5 * rng.normal(size=300) + 7
    problem = Problem(DenseDesign(X), y, GaussianNoise(), Jeffreys(), np.ones(300), True)
    dense = BayesianRidge().fit(X, y)
    assert expected_noise(problem) == pytest.approx(1 / dense.alpha_, rel=0.1)
    # With more columns than rows the largest evidence may be that of none, and the mean is not.
    wide = Problem(
        DenseDesign(X[:15]), rng.normal(size=15), GaussianNoise(), Jeffreys(), np.ones(15), True
    )
    assert 0.2 < expected_noise(wide) / wide.y.var() < 1.2


def test_em_stays_the_papers_algorithm():
    X, y, _, _ = one_of_thirty(60)
    model = SparseBayesRegressor(kernel="rbf", solver="em").fit(X, y)
    assert model.likelihoods_[0].noise < 0.01 * y.var()
    assert model.noise_variance_ > 0.5 * y.var()


def wide_and_sparse(noise, n_relevant, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(360, 200))
    y = X[:, :n_relevant] @ rng.normal(size=n_relevant) + noise * rng.normal(size=360)
    return X[:60], y[:60], X[60:], y[60:]


@pytest.mark.parametrize("kind", [RVMRegressor, GridRVMRegressor])
def test_relevances_of_features_that_outnumber_rows_leave_noise(kind):
    """A precision for each of them would take two thirds of the rows, and hold 20 % of new targets."""
    held, kept = [], []
    for seed in (940, 941, 942):
        X, y, new_X, new_y = wide_and_sparse(0.5, 4, seed)
        model = kind(**({"kernel": None} if kind is RVMRegressor else {})).fit(X, y)
        held.append(coverage(model, new_X, new_y))
        kept.append(model.n_relevant_)
    assert np.mean(held) > 0.6, held
    assert np.mean(kept) < 30, kept


def test_where_there_is_little_noise_it_is_found_from_above():
    """The noise that a dense model expects is hundreds of times as large."""
    X, y, new_X, new_y = wide_and_sparse(0.05, 8, 940)
    model = RVMRegressor(None).fit(X, y)
    assert np.sqrt(np.mean((model.predict(new_X) - new_y) ** 2)) < 0.15
    assert np.sqrt(model.likelihoods_[0].noise) < 0.4


@pytest.mark.parametrize("kernel", [None, "linear", "rbf"])
def test_sparse_rows_say_the_same(kernel):
    X, y, _, _ = one_of_thirty(25)
    X[np.abs(X) < 0.5] = 0.0
    given = SparseBayesRegressor("laplace", kernel=kernel, gamma=0.03).fit(csr_array(X), y)
    dense = SparseBayesRegressor("laplace", kernel=kernel, gamma=0.03).fit(X, y)
    assert given.noise_variance_ == pytest.approx(dense.noise_variance_, rel=1e-5)


def test_cross_validated_predictions_come_from_models_without_the_row():
    y = np.arange(6.0)
    folds = [np.array([0, 3]), np.array([1, 4]), np.array([2])]

    def mean_without(stay, out):
        return np.full((2, out.size), y[stay].mean()) * [[1], [2]]

    left = cross_validated(folds, 6, mean_without, (2,))
    expected = [np.delete(y, [0, 3]).mean(), np.delete(y, [1, 4]).mean(), np.delete(y, 2).mean()]
    np.testing.assert_allclose(left[0], [*expected, *expected[:2], 0.0])  # the last is in no fold
    np.testing.assert_allclose(left[1], 2 * left[0])
