"""Sums over partitions against sums over all rows, and fits from them against fits of all rows."""

import numpy as np
import pytest

from laconism import LaconicClassifier, LaconicRegressor, RVMRegressor, SparseBayesClassifier
from laconism.basis import Features
from laconism.flagship import many_rows
from laconism.likelihoods import Gaussian, Probit
from laconism.linalg import ridge
from laconism.partitions.describe import Encoding, describe
from laconism.partitions.parts import LocalPartitions, Part
from laconism.partitions.sample import draw_sample
from laconism.partitions.start import PartitionedRows
from laconism.partitions.sums import Columns, Point, moments_of_part, slopes_of_part
from laconism.priors import Jeffreys
from laconism.rvm.partitioned import fit_rvm_partitions
from laconism.solvers.moments import Moments
from laconism.sparse.partitioned import fit_sparse_partitions

N, P = 500, 4


def data(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, P)) + 1.0
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=n) > 0, "yes", "no")
    return X, y, rng.uniform(0.5, 2.0, size=n)


def test_moments_are_an_equivalent_problem():
    """A ridge problem on the few rows has the weights and the curvature of that on all rows."""
    X, _, weight = data()
    z = X @ np.arange(P) + 3.0
    whole = np.column_stack([np.ones(N), X, z])
    problem = Moments(whole.T @ (weight[:, None] * whole)).problem(
        Gaussian(1.0, estimate=False), Jeffreys(), intercept=True
    )
    assert problem.y.size == P + 2
    assert problem.weight.sum() == pytest.approx(weight.sum())
    variance = np.array([0.1, 1.0, 10.0, 1e-3])
    few = ridge(problem.design, problem.weight, problem.y, variance, intercept=True)
    every = ridge(type(problem.design)(X), weight, z, variance, intercept=True)
    np.testing.assert_allclose(few.weights, every.weights, rtol=1e-9)
    np.testing.assert_allclose(few.intercept, every.intercept, rtol=1e-9)
    np.testing.assert_allclose(few.log_det, every.log_det, rtol=1e-9)


def test_singular_moments_are_an_equivalent_problem_too():
    X, _, weight = data()
    X[:, 3] = X[:, 0]
    whole = np.column_stack([np.ones(N), X, X[:, 1]])
    problem = Moments(whole.T @ (weight[:, None] * whole)).problem(
        Gaussian(1.0, estimate=False), Jeffreys(), intercept=True
    )
    few = ridge(problem.design, problem.weight, problem.y, np.ones(P), intercept=True)
    every = ridge(type(problem.design)(X), weight, X[:, 1], np.ones(P), intercept=True)
    np.testing.assert_allclose(few.weights, every.weights, atol=1e-6)


def test_the_quadratic_of_labels_has_their_slope_and_curvature():
    """Finite differences of the log-likelihood of all rows."""
    X, y, weight = data()
    encoding, w, b = Encoding(np.array(["no", "yes"])), np.array([0.5, -0.2, 0.1, 0.0]), 0.3
    point = Point(np.arange(P), w, b, Probit(), 0)
    columns = Columns(Features(np.arange(P)), np.zeros(P))
    ((fit, M),) = moments_of_part(Part(X, y, weight), encoding, columns, [point])

    def log_likelihood(at):
        f = X @ at[1:] + at[0]
        return float(weight @ Probit().log_prob(np.where(y == "yes", 1.0, -1.0), f))

    here, step = np.append(b, w), 1e-5
    assert fit == pytest.approx(log_likelihood(here))
    slope = M[:-1, -1] - M[:-1, :-1] @ here
    numeric = [
        (log_likelihood(here + step * e) - log_likelihood(here - step * e)) / (2 * step)
        for e in np.eye(P + 1)
    ]
    np.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-6)
    ((direct, _, _, _),) = slopes_of_part(Part(X, y, weight), encoding, columns, [point], columns)
    np.testing.assert_allclose(direct, slope[1:], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [37, 100, 499, 500])
def test_sums_do_not_depend_on_the_partitions(size):
    X, y, weight = data()
    point = Point(np.arange(P), np.ones(P), 0.0, Probit(), 0)
    columns = Columns(Features(np.arange(P)), X.mean(axis=0))
    arguments = (Encoding(np.array(["no", "yes"])), columns, [point])
    partitions = LocalPartitions(X, y, weight, size=size)
    ((fit, M),) = partitions.total("newton", moments_of_part, *arguments)
    ((whole_fit, whole),) = moments_of_part(Part(X, y, weight), *arguments)
    np.testing.assert_allclose(M, whole, rtol=1e-12, atol=1e-10)
    assert fit == pytest.approx(whole_fit)
    assert partitions.passes[-1].bytes > partitions.n_parts * M.nbytes


def test_a_sample_is_stratified_and_weighs_as_all_rows():
    X, y, weight = data(5_000)
    y = np.where(np.arange(5_000) % 50 == 0, "rare", y)
    partitions = LocalPartitions(X, y, weight, size=700)
    description = describe(partitions, classifies=True)
    sample = draw_sample(partitions, description, 1_000)
    share = {label: sample.weight[sample.y == label].sum() / sample.weight.sum() for label in set(y)}
    for label, part in share.items():
        assert part == pytest.approx(weight[y == label].sum() / weight.sum(), rel=0.1)
    assert (sample.y == "rare").sum() == 100  # all of them, although a tenth of the others is drawn
    index = partitions.starts[sample.part] + sample.row
    np.testing.assert_array_equal(X[index], sample.X)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda X, y, w: X.__setitem__((350, 1), np.nan), "Partition 3 cannot be used: X has missing"),
        (lambda X, y, w: w.__setitem__(450, -1.0), "Partition 4 cannot be used: sample_weight"),
        (lambda X, y, w: y.__setitem__(slice(None), "yes"), "one class"),
        (lambda X, y, w: w.__setitem__(slice(None), 0.0), "no rows of positive weight"),
    ],
)
def test_faulty_partitions_are_named(change, sentence):
    X, y, weight = data()
    change(X, y, weight)
    with pytest.raises(ValueError, match=sentence):
        describe(LocalPartitions(X, y, weight, size=100), classifies=True)


def fit_partitions(model, fit, X, y, size=2_000, n_sample=1_500):
    partitions = LocalPartitions(X, y, np.ones(len(y)), size=size)
    description = describe(partitions, classifies=model._task.classifies)
    sample = draw_sample(partitions, description, n_sample)
    fit(model, model._fit_data(*sample[:3]), PartitionedRows(partitions, description))
    return model, partitions


def test_kernels_that_the_sample_missed_are_added():
    rng = np.random.default_rng(0)
    X = rng.uniform(-4, 4, size=(12_000, 1))
    y = np.where(np.sin(2 * X[:, 0]) + 0.5 * rng.normal(size=12_000) > 0, 1, 0)
    settings = {"kernel": "rbf", "gamma": 1.0}
    model, partitions = fit_partitions(
        SparseBayesClassifier(**settings), fit_sparse_partitions, X, y, n_sample=150
    )
    alone = SparseBayesClassifier(**settings).fit(X[:150], y[:150])
    assert [each.kind for each in partitions.passes].count("check") >= 1
    assert model.n_relevant_ > alone.n_relevant_
    assert model.score(X, y) > alone.score(X, y)


def test_values_of_a_relevance_vector_machine():
    rng = np.random.default_rng(0)
    X = rng.uniform(-10, 10, size=(8_000, 1))
    y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.normal(size=8_000)
    model, _ = fit_partitions(RVMRegressor(), fit_rvm_partitions, X, y)
    assert np.sqrt(np.mean((model.predict(X) - np.sinc(X[:, 0] / np.pi)) ** 2)) < 0.01
    assert model.noise_variance_ == pytest.approx(0.01, rel=0.05)
    assert model.predict_dist(np.array([[40.0]]))[1][0] > 0.1


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("wide", [False, True], ids=["rbf", "nearly linear"])
def test_the_flagship_on_many_rows_predicts_as_with_all_in_memory(monkeypatch, regression, wide):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000, 2))
    f = X[:, 0] - X[:, 1] if wide else np.sin(2 * X[:, 0]) * X[:, 1]
    y = f + 0.3 * rng.normal(size=5_000)
    y = y if regression else (y > 0).astype(int)
    cls = LaconicRegressor if regression else LaconicClassifier
    whole = cls().fit(X, y)
    monkeypatch.setattr(many_rows, "SAMPLE_ROWS", 1_500)
    model = cls().fit(X, y)
    assert model.relevance_.max() > 1_500  # rows of the data, not of the sample
    np.testing.assert_array_equal(model.relevance_vectors_, X[model.relevance_])
    if regression:
        difference = model.predict(X) - whole.predict(X)
        assert np.sqrt(np.mean(difference**2)) < 0.03  # a tenth of the noise
        assert model.noise_variance_ == pytest.approx(whole.noise_variance_, rel=0.05)
    else:
        difference = np.abs(model.predict_proba(X) - whole.predict_proba(X))
        assert difference.mean() < 0.02


def test_values_of_one_and_minus_one_are_values(monkeypatch):
    monkeypatch.setattr(many_rows, "SAMPLE_ROWS", 1_000)
    X = np.random.default_rng(0).normal(size=(2_500, 1))
    model = LaconicRegressor().fit(X, np.sign(X[:, 0]))
    assert model.score(X, np.sign(X[:, 0])) > 0.8
