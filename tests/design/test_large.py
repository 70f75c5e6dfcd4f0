"""No n x n matrix, ever: what is evaluated, what is held, and that the answer is the same."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import norm
from sklearn.datasets import make_moons

from laconism import SparseBayesClassifier, SparseBayesRegressor
from laconism.datasets import make_ripley, make_sparse_classification, make_sparse_regression
from laconism.kernels import RBF, Matern, Polynomial
from laconism.priors import GeneralizedGaussian, Jeffreys, Laplace

KERNELS = [
    RBF(0.05),
    RBF(2.0),
    RBF(50.0),
    Matern(1.5, 2.0),
    Matern(2.5, 0.5),
    Polynomial(2),
    Polynomial(4),
]
PRIORS = ["jeffreys", Laplace(1.0), "gaussian", "student_t", GeneralizedGaussian(q=1.5, scale=1.0)]


def rows_weights(model, n):
    w = np.zeros(n)
    w[model.relevance_] = np.ravel(model.dual_coef_)
    return w


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_factored_is_dense(kernel, prior):
    X, y = make_ripley(150, random_state=3)
    dense = SparseBayesClassifier(prior, kernel="precomputed").fit(kernel(X, X), y)
    factored = SparseBayesClassifier(prior, kernel=kernel).fit(X, y)
    expected = rows_weights(dense, 150)
    assert np.abs(rows_weights(factored, 150) - expected).max() <= 1e-5 * np.abs(expected).max()
    assert factored.intercept_ == pytest.approx(dense.intercept_, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kernel", [RBF(0.3), Matern(2.5, 0.1)], ids=str)
def test_factored_is_dense_in_regression(kernel):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(120, 2))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=120)
    dense = SparseBayesRegressor(kernel="precomputed").fit(kernel(X, X), y)
    factored = SparseBayesRegressor(kernel=kernel).fit(X, y)
    np.testing.assert_array_equal(factored.relevance_, dense.relevance_)
    np.testing.assert_allclose(factored.dual_coef_, dense.dual_coef_, rtol=1e-5)


class Counting(RBF):
    """An RBF kernel that counts the entries it was asked for."""

    entries = 0

    def __call__(self, X, C):
        type(self).entries += X.shape[0] * C.shape[0]
        return super().__call__(X, C)


@pytest.mark.parametrize("n", [1000, 4000])
def test_kernel_evaluations_grow_with_n_and_not_with_its_square(n):
    X, y = make_ripley(n, random_state=0)
    Counting.entries = 0
    SparseBayesClassifier(kernel=Counting(2.0)).fit(X, y)
    assert Counting.entries < 500 * n  # a few hundred columns, whatever n is


def test_memory_is_linear_in_n():
    peaks = []
    for n in (4000, 16000):
        X, y = make_ripley(n, random_state=0)
        tracemalloc.start()
        SparseBayesClassifier(kernel="rbf", gamma=2.0).fit(X, y)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * 4 * peaks[0]
    assert peaks[1] < 16000**2 * 8 / 10  # the kernel matrix itself would be 2 GB


@pytest.mark.parametrize("penalize_intercept", [False, True])
def test_a_capped_rank_says_so(penalize_intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 8))  # 1500 > 16 * 40: the pivots come from a sample
    y = X[:, 0] * X[:, 1] > 0
    settings = {"kernel": "rbf", "gamma": 0.5, "penalize_intercept": penalize_intercept}
    model = SparseBayesClassifier(max_rank=40, **settings).fit(X, y)
    assert "needs more than rank 40" in model.status_.message
    assert "Nystrom" in model.status_.message
    assert model.n_relevant_ <= 40
    np.testing.assert_array_equal(X[model.relevance_], model.relevance_vectors_)
    assert model.score(X, y) > 0.6
    enough = SparseBayesClassifier(max_rank=40, kernel="poly", degree=2).fit(X[:, :3], y)
    assert "rank" not in enough.status_.message


@pytest.mark.parametrize("prior", [Laplace(3.0), "jeffreys"], ids=str)
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_matrix])
def test_sparse_rows_give_the_dense_answer(kind, prior):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 50)) * (rng.uniform(size=(200, 50)) < 0.2)
    y = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=200) > 0
    dense = SparseBayesClassifier(prior, tol=1e-12).fit(X, y)
    model = SparseBayesClassifier(prior, tol=1e-12).fit(kind(X), y)
    np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(kind(X)), dense.predict_proba(X), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("prior", [Laplace(20.0), "jeffreys"], ids=str)
def test_sparse_features_are_never_made_dense(prior):
    rng = np.random.default_rng(0)
    n, p = 1500, 10_000
    X = sparse.random(n, p, density=1e-3, random_state=1, format="csr")
    X.data[:] = rng.normal(size=X.nnz)
    full = sparse.random(n, 5, density=0.5, random_state=2)
    X = sparse.csr_array(X + sparse.hstack([full, sparse.csr_array((n, p - 5))]))
    y = X[:, [0]].toarray().ravel() - X[:, [1]].toarray().ravel() > 0
    tracemalloc.start()
    model = SparseBayesClassifier(prior).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert {0, 1} <= set(model.relevance_)
    assert peak < n * p * 8 / 5


def test_float32_is_kept_and_agrees():
    X, y, _ = make_sparse_classification(150, 2000, 5, random_state=0)
    single = X.astype(np.float32)
    tracemalloc.start()
    model = SparseBayesClassifier().fit(single, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    double = SparseBayesClassifier().fit(single.astype(np.float64), y)
    np.testing.assert_array_equal(model.relevance_, double.relevance_)
    np.testing.assert_allclose(model.coef_, double.coef_, atol=1e-4)
    assert peak < 4 * X.nbytes  # chunks are converted, never the whole again and again


def test_float32_kernels_agree():
    X, y = make_ripley(400, random_state=0)
    model = SparseBayesClassifier(kernel="rbf", gamma=2.0).fit(X.astype(np.float32), y)
    double = SparseBayesClassifier(kernel="rbf", gamma=2.0).fit(X.astype(np.float32).astype(float), y)
    new = make_ripley(200, random_state=1)[0]
    np.testing.assert_allclose(model.predict_proba(new), double.predict_proba(new), atol=0.02)


def test_tall_problems_take_few_passes():
    X, y, coef = make_sparse_classification(30_000, 40, 5, weight=0.5, random_state=0)
    model = SparseBayesClassifier().fit(X, y)
    assert model.n_iter_ <= 12
    np.testing.assert_array_equal(model.relevance_, np.flatnonzero(coef))


def test_a_part_of_the_rows_leads_to_the_answer_of_all():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 8))
    X[:, 7] = 0.0
    X[7:6000:12, 7] = 1.0  # one row in twelve makes the start; it never sees this feature
    f = X[:, :3] @ [0.3, -0.2, 0.1] + 1.0 * X[:, 7] + 0.2
    y = np.where(f + rng.standard_normal(60_000) > 0, 1, -1)
    model = SparseBayesClassifier(Jeffreys(strength=1.0), tol=1e-13).fit(X, y)
    assert {0, 1, 2, 7} <= set(model.relevance_)
    kept = X[:, model.relevance_]
    w = model.coef_[0, model.relevance_]
    t = y * (kept @ w + model.intercept_)
    slope = y * norm.pdf(t) / norm.cdf(t)
    # The penalty log|w| pulls by 1/w; slopes in units of a column's length are standard errors.
    np.testing.assert_allclose((kept.T @ slope - 1 / w) / np.sqrt((kept**2).sum(axis=0)), 0, atol=1e-3)
    assert abs(slope.sum()) / np.sqrt(60_000) < 1e-3


def test_a_rare_class_is_not_lost_with_a_part_of_the_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50_000, 5))
    y = X[:, 0] + rng.standard_normal(50_000) > 4.5  # some forty rows, five of them in a part
    model = SparseBayesClassifier().fit(X, y)
    np.testing.assert_array_equal(model.relevance_, [0])
    assert 0.5 < model.coef_[0, 0] < 2


def test_tall_regressions_compute_one_gram_matrix():
    X, y, coef = make_sparse_regression(5000, 30, 5, random_state=0)
    model = SparseBayesRegressor().fit(X, y)
    np.testing.assert_array_equal(model.relevance_, np.flatnonzero(coef))


def test_one_against_rest_shares_the_factorisation():
    X, y = make_moons(600, noise=0.2, random_state=0)
    y = y + 2 * (X[:, 0] > 1)
    Counting.entries = 0
    SparseBayesClassifier(kernel=Counting(1.0)).fit(X, y)
    several = Counting.entries
    Counting.entries = 0
    SparseBayesClassifier(kernel=Counting(1.0)).fit(X, y == 0)
    assert several < 4 * Counting.entries
