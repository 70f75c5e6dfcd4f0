"""The relevance vector machine as a user meets it: figures, error bars, and ways to break it."""

import functools
import pickle
import warnings
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.linalg import solve_triangular
from scipy.sparse import csr_array
from scipy.special import expit, ndtr
from scipy.stats import norm
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from laconism import RVMClassifier, RVMRegressor
from laconism.datasets import (
    make_offset_spirals,
    make_ripley,
    make_sinc,
    make_sparse_regression,
)
from laconism.kernels import RBF, Linear, Matern, Polynomial
from laconism.likelihoods import Gaussian, Logistic
from laconism.model.published import PublishedModel

INFERENCES = ["sequential", "evidence", "variational"]
WIDTH_3 = 1 / (2 * 3.0**2)

each_inference = pytest.mark.parametrize("inference", INFERENCES)
both = pytest.mark.parametrize("kind", [RVMClassifier, RVMRegressor])


def sinc(X):
    return np.sinc(np.ravel(X) / np.pi)


def bumps(n=80, seed=0):
    """A smooth function of two features, far from zero."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 3 + 0.1 * rng.normal(size=n)


def problem(kind, n=60, seed=0):
    X, f = bumps(n, seed)
    return X, np.where(f > 3, "high", "low") if kind is RVMClassifier else f


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), load_iris().target_names[y]


def says(model, X):
    """Everything that the model says about X, which has to be finite and possible."""
    if is_classifier(model):
        said = [model.predict_proba(X), model.predict_log_proba(X), model.decision_function(X)]
        np.testing.assert_allclose(said[0].sum(axis=1), 1)
        assert set(model.predict(X)) <= set(model.classes_)
    else:
        said = [model.predict(X), *model.predict_dist(X), *model.predict_dist(X, augment=False)]
        assert (said[2] >= said[4] * (1 - 1e-9)).all(), "a kernel more made an error bar smaller"
    assert all(np.isfinite(part).all() for part in said)
    return said


def assert_says_the_same(first, second, X, tolerance=1e-8):
    for a, b in zip(says(first, X), says(second, X), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


# ---- the papers' figures --------------------------------------------------------------------


@each_inference
def test_sinc(inference):
    """Means over many draws have required values in ``benchmarks/bench_quality.py``."""
    grid = np.linspace(-10, 10, 400)[:, None]
    for seed in range(2):
        X, y = make_sinc(50, noise=0.1, random_state=seed)
        model = RVMRegressor(gamma=WIDTH_3, inference=inference).fit(X, y)
        assert model.status_.converged
        assert model.noise_variance_ == pytest.approx(0.01, rel=0.6)
        assert np.sqrt(np.mean((model.predict(grid) - sinc(grid)) ** 2)) < 0.1
        assert 3 <= model.n_relevant_ <= 12


def test_the_three_inferences_agree():
    X, y = make_sinc(100, random_state=1)
    models = [RVMRegressor(gamma=WIDTH_3, inference=inference).fit(X, y) for inference in INFERENCES]
    first = models[0].predict(X)
    for model in models[1:]:
        np.testing.assert_allclose(model.predict(X), first, atol=0.06)
        assert model.noise_variance_ == pytest.approx(models[0].noise_variance_, rel=0.1)
    evidence = [model.history_[-1].objective for model in models[:2]]
    assert evidence[0] == pytest.approx(evidence[1], abs=3.0)


@both
@each_inference
@pytest.mark.parametrize("solver", ["fast", "vb"])
def test_the_objective_never_drops(kind, inference, solver):
    if inference != "variational" and solver == "vb":
        pytest.skip("Only the variational inference has two solvers.")
    X, y = problem(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = kind(gamma=0.5, inference=inference, solver=solver, max_iter=60).fit(X, y)
    objective = np.array([record.objective for record in model.history_])
    assert np.isfinite(objective).all()
    assert (np.diff(objective) >= -1e-8 * np.abs(objective[1:])).all()


def test_features_are_selected():
    X, y, coef = make_sparse_regression(150, 60, 5, random_state=0)
    for inference in INFERENCES:
        model = RVMRegressor(None, inference=inference).fit(X, y)
        assert set(np.flatnonzero(coef)) <= set(model.relevance_)
        assert np.abs(model.coef_ - coef).max() < 0.5
        np.testing.assert_array_equal(np.flatnonzero(model.coef_), model.relevance_)
        np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)


# ---- error bars -----------------------------------------------------------------------------


@pytest.mark.slow
@each_inference
@pytest.mark.parametrize("kernel", ["rbf", "matern"])
@pytest.mark.parametrize("intercept", [True, False])
def test_error_bars_grow_away_from_the_data(inference, kernel, intercept):
    X, y = make_sinc(100, random_state=0)
    model = RVMRegressor(kernel, gamma=WIDTH_3, inference=inference, fit_intercept=intercept).fit(X, y)
    away = np.array([[9.0], [12.0], [15.0], [20.0], [40.0]])
    std = model.predict_dist(away)[1]
    bare = model.predict_dist(away, augment=False)[1]
    assert (np.diff(std[:4]) > 0).all(), "no growth"
    assert std[-1] >= std[-2] * (1 - 1e-3)
    assert std[-1] > 3 * std[0]
    # As wide as the function is tall, and the noise.
    assert std[-1] == pytest.approx(np.std(y), rel=0.2)
    assert (std[2:] > 1.2 * bare[2:]).all()
    if not intercept:  # without the new kernel the model is surest where it knows nothing
        assert bare[-1] < bare[0]
        assert bare[-1] == pytest.approx(np.sqrt(model.noise_variance_))
        assert model.predict_dist(away)[0][-1] == pytest.approx(0, abs=1e-6)


@each_inference
def test_error_bars_agree_near_the_data(inference):
    X, y = make_sinc(100, random_state=0)
    model = RVMRegressor(gamma=WIDTH_3, inference=inference).fit(X, y)
    grid = np.linspace(-9, 9, 200)[:, None]
    mean, std = model.predict_dist(grid)
    bare_mean, bare = model.predict_dist(grid, augment=False)
    np.testing.assert_array_equal(bare_mean, model.predict(grid))
    np.testing.assert_allclose(std, bare, rtol=0.03)
    np.testing.assert_allclose(mean, bare_mean, atol=0.2 * np.sqrt(model.noise_variance_))
    assert (std >= bare).all()
    assert (std**2 > model.noise_variance_).all()


@each_inference
def test_coverage(inference):
    X, y = make_sinc(100, random_state=0)
    new, target = make_sinc(1000, random_state=100)
    mean, std = RVMRegressor(gamma=WIDTH_3, inference=inference).fit(X, y).predict_dist(new)
    assert 0.88 < np.mean(np.abs(target - mean) < 1.96 * std) < 0.99


@pytest.fixture
def precisions(monkeypatch):
    """The precisions of the kept columns of every fit, in the order of its published posterior."""
    seen, original = [], PublishedModel._publish

    def spy(*args, **options):
        fits = original(*args, **options)
        seen.extend(1 / fit.variance for fit in fits)
        return fits

    monkeypatch.setattr(PublishedModel, "_publish", spy)
    return seen


def ridge(D, r, y, precision, new):
    """Mean and variance at ``new`` of the least-squares problem with these precisions, by QR."""
    stacked = np.vstack([np.sqrt(r)[:, None] * D, np.diag(np.sqrt(precision))])
    unit = np.sqrt((stacked**2).sum(axis=0))
    Q, T = np.linalg.qr(stacked / unit)
    target = np.append(np.sqrt(r) * y, np.zeros(precision.size))
    spread = solve_triangular(T, (new / unit).T, trans="T")
    return new @ (solve_triangular(T, Q.T @ target) / unit), (spread**2).sum(axis=0)


def augmented_by_hand(model, kernel, X, y, weight, new, alphas):
    """The model with one more column, k(., x), for every new row x in turn."""
    r = weight / model.likelihoods_[0].noise
    centres = np.asarray(kernel_rows(model.relevance_vectors_))[model._columns[0]]
    ones = int(model.fit_intercept)
    flat = np.zeros(ones)

    def columns(rows):
        return np.hstack([np.ones((len(rows), ones)), kernel(rows, centres)])

    D, old = columns(X), np.append(flat, alphas)
    m, v = ridge(D, r, y, old, D)
    share = weight / weight.sum()
    centred = m - share @ m
    height = share @ (centred**2 + v)
    alpha = (share @ kernel.diag(X)) ** 2 / height
    answers = [
        ridge(
            np.hstack([D, kernel(X, x[None])]),
            r,
            y,
            np.append(old, alpha),
            np.hstack([columns(x[None]), kernel(x[None], x[None])]),
        )
        for x in new
    ]
    mean, variance = np.array(answers)[:, :, 0].T
    return mean, np.sqrt(variance + model.noise_variance_)


def kernel_rows(rows):
    return rows.toarray() if hasattr(rows, "toarray") else rows


def check_augmented_by_hand(
    model, kernel, precisions, *, weight=None, convert=np.asarray, tolerance=1e-5
):
    X, y = bumps()
    new = np.random.default_rng(5).uniform(-4, 4, size=(25, 2))
    model.fit(convert(X), y, sample_weight=weight)
    mean, std = model.predict_dist(convert(new))
    weight = np.ones(len(y)) if weight is None else weight
    by_hand, std_by_hand = augmented_by_hand(model, kernel, X, y, weight, new, precisions[-1])
    np.testing.assert_allclose(std, std_by_hand, rtol=tolerance)
    # The weights are a mode found to 1e-10 nats, so the mean has 1e-5 of a deviation.
    np.testing.assert_allclose((mean - by_hand) / std, 0, atol=max(1e-4, 10 * tolerance))


WEIGHT = np.random.default_rng(3).uniform(0.2, 3.0, size=80)
SOME_OUT = np.where(np.arange(80) % 3 == 0, 0.0, WEIGHT)
# A kernel more is found from the rows that span the kernel matrix: here all of it.
EXACT = {"rank_tol": 1e-13}


@each_inference
def test_augmentation_by_hand(inference, precisions):
    model = RVMRegressor(gamma=0.3, inference=inference, **EXACT)
    check_augmented_by_hand(model, RBF(0.3), precisions)


@each_inference
@pytest.mark.parametrize("weight", [WEIGHT, SOME_OUT], ids=["some more", "some out"])
def test_augmentation_by_hand_with_weights(inference, weight, precisions):
    model = RVMRegressor(gamma=0.3, inference=inference, **EXACT)
    check_augmented_by_hand(model, RBF(0.3), precisions, weight=weight, tolerance=1e-3)


@pytest.mark.parametrize("inference", ["sequential", "evidence"])
def test_augmentation_by_hand_without_intercept(inference, precisions):
    model = RVMRegressor(gamma=0.3, inference=inference, fit_intercept=False, **EXACT)
    check_augmented_by_hand(model, RBF(0.3), precisions)


def test_augmentation_by_hand_without_intercept_variational(precisions):
    model = RVMRegressor(gamma=0.3, inference="variational", fit_intercept=False, **EXACT)
    check_augmented_by_hand(model, RBF(0.3), precisions, tolerance=1e-3)


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        (Matern(gamma=0.5), {"kernel": "matern", "gamma": 0.5}),
        (Matern(gamma=0.5, nu=0.5), {"kernel": Matern(gamma=0.5, nu=0.5)}),
        (Polynomial(gamma=0.5, degree=3, coef0=1.0), {"kernel": "poly", "gamma": 0.5}),
        (Linear(), {"kernel": "linear"}),
        (RBF(0.3) + Linear(), {"kernel": RBF(0.3) + Linear()}),
    ],
    ids=["matern", "matern 1/2", "poly", "linear", "sum"],
)
@pytest.mark.parametrize("inference", ["sequential", "variational"])
def test_augmentation_by_hand_for_other_kernels(kernel, options, inference, precisions):
    model = RVMRegressor(inference=inference, **options, **EXACT)
    check_augmented_by_hand(model, kernel, precisions, tolerance=1e-3)


@each_inference
def test_augmentation_by_hand_on_sparse_rows(inference, precisions):
    model = RVMRegressor(gamma=0.3, inference=inference, **EXACT)
    check_augmented_by_hand(
        model, RBF(0.3), precisions, weight=WEIGHT, convert=csr_array, tolerance=1e-4
    )


@each_inference
def test_augmentation_by_hand_on_floats(inference, precisions):
    model = RVMRegressor(gamma=0.3, inference=inference)
    check_augmented_by_hand(model, RBF(0.3), precisions, convert=np.float32, tolerance=1e-3)


@each_inference
def test_augmentation_by_hand_with_given_noise(inference, precisions):
    likelihood = Gaussian(noise=0.04, estimate=False)
    model = RVMRegressor(gamma=0.3, inference=inference, likelihood=likelihood, **EXACT)
    check_augmented_by_hand(model, RBF(0.3), precisions)
    assert model.noise_variance_ == 0.04


@each_inference
def test_augmentation_at_the_default_rank(inference, precisions):
    model = RVMRegressor(gamma=0.3, inference=inference)
    check_augmented_by_hand(model, RBF(0.3), precisions, tolerance=2e-3)


def rbf(A, B):
    return RBF(0.3)(A, B)


@pytest.mark.parametrize("kernel", [None, "precomputed", rbf])
@each_inference
def test_no_augmentation_where_there_is_none(kernel, inference):
    X, y = bumps(50)
    rows = RBF(0.3)(X, X) if kernel == "precomputed" else X
    model = RVMRegressor(kernel, inference=inference).fit(rows, y)
    for one, other in zip(
        model.predict_dist(rows), model.predict_dist(rows, augment=False), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(model.predict_dist(rows)[0], model.predict(rows))


def test_augmentation_is_forgotten_with_the_kernel():
    X, y = bumps(50)
    model = RVMRegressor("rbf", gamma=0.3).fit(X, y).set_params(kernel=None).fit(X, y)
    np.testing.assert_array_equal(model.predict_dist(X)[0], model.predict(X))
    np.testing.assert_array_equal(
        model.predict_dist(X)[1], RVMRegressor(None).fit(X, y).predict_dist(X)[1]
    )


def test_a_saved_model_grows_neither_with_the_rows_nor_twice_with_the_square_of_the_rank():
    sizes = []
    for n in (500, 4_000):
        X, y = make_sinc(n, random_state=3)
        sizes.append(len(pickle.dumps(RVMRegressor(gamma=1 / 18).fit(X, y))))
    assert sizes[1] < 1.5 * sizes[0]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 8))  # of full rank
    y = X[:, 0] + 0.1 * rng.normal(size=150)
    model = RVMRegressor(gamma=0.5).fit(X, y)
    extra = model._far_variance
    assert extra.rows.shape[0] == 150
    assert len(pickle.dumps(model)) < 8 * 150 * (150 + 2 * model.n_relevant_ + 40)
    assert (extra.excess == extra.excess.T).all()


def test_augmentation_in_blocks(monkeypatch):
    X, y = bumps()
    whole = RVMRegressor(gamma=0.3).fit(X, y)
    expected = whole.predict_dist(X)
    monkeypatch.setattr("laconism.linalg.BLOCK_ENTRIES", 500)
    parts = RVMRegressor(gamma=0.3).fit(X, y)
    for one, other in zip(parts.predict_dist(X), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8)


@pytest.mark.parametrize("inference", ["sequential", "evidence", "variational"])
def test_the_unit_of_the_target_may_be_any(inference):
    X, y = make_sinc(60, random_state=0)
    mean, std = RVMRegressor(gamma=0.1, inference=inference).fit(X, y).predict_dist(X)
    scaled = RVMRegressor(gamma=0.1, inference=inference).fit(X, 1e50 * y).predict_dist(X)
    np.testing.assert_allclose(scaled[0] / 1e50, mean, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(scaled[1] / 1e50, std, rtol=1e-3)


def test_error_bars_do_not_know_the_units():
    X, y = make_sinc(60, random_state=2)
    new = np.linspace(-20, 20, 50)[:, None]
    mean, std = RVMRegressor().fit(X, y).predict_dist(new)
    scaled_mean, scaled = RVMRegressor().fit(1000 * X, 1e-3 * y + 0.5).predict_dist(1000 * new)
    np.testing.assert_allclose(1000 * scaled, std, rtol=1e-5)
    np.testing.assert_allclose(1000 * (scaled_mean - 0.5), mean, atol=1e-5)


@pytest.mark.parametrize("offset", [1e7, 1e9])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_error_bars_do_not_know_the_level(offset, kernel):
    X, y = make_sinc(60, random_state=2)
    new = np.array([[0.0], [15.0], [40.0]])
    std = RVMRegressor(kernel, gamma=WIDTH_3).fit(X, y).predict_dist(new)[1]
    moved = RVMRegressor(kernel, gamma=WIDTH_3).fit(X, y + offset).predict_dist(new)[1]
    np.testing.assert_allclose(moved, std, rtol=1e-2)


def test_error_bars_on_rows_of_zeros():
    y = np.random.default_rng(0).normal(size=20)
    model = RVMRegressor("linear").fit(np.zeros((20, 2)), y)
    mean, std = model.predict_dist(np.zeros((2, 2)))
    np.testing.assert_allclose(mean, y.mean())
    np.testing.assert_allclose(std, np.std(y, ddof=1), rtol=0.1)


def test_posterior_is_where_the_weights_are():
    X, y = make_sinc(60, random_state=0)
    for inference in INFERENCES:
        model = RVMRegressor(gamma=WIDTH_3, inference=inference).fit(X, y)
        phi = RBF(WIDTH_3)(X, model.relevance_vectors_)
        np.testing.assert_allclose(phi @ model.dual_coef_ + model.intercept_, model.predict(X))
        np.testing.assert_array_equal(X[model.relevance_], model.relevance_vectors_)
        assert np.unique(model.relevance_).size == model.n_relevant_ == model.dual_coef_.size


@pytest.mark.parametrize(
    "inference",
    INFERENCES,
)
def test_posterior_is_in_the_order_of_the_weights(inference):
    X, y = make_sinc(50, random_state=0)
    model = RVMRegressor(gamma=WIDTH_3, inference=inference).fit(X, y)
    np.testing.assert_allclose(model.posteriors_[0].mean, model.dual_coef_)


# ---- probabilities --------------------------------------------------------------------------


@pytest.mark.slow
@each_inference
@pytest.mark.parametrize(("likelihood", "link"), [("logistic", expit), ("probit", ndtr)])
@pytest.mark.parametrize("kernel", ["rbf", None])
def test_probabilities_are_integrals(inference, likelihood, link, kernel):
    X, y = make_ripley(60, random_state=0)
    model = RVMClassifier(kernel, gamma=2.0, inference=inference, likelihood=likelihood).fit(X, y)
    new = np.random.default_rng(0).uniform(-2, 2, size=(12, 2))
    posterior = model.posteriors_[0]
    columns = np.asarray(model.basis_.columns(new))[:, model._columns[0]]
    m, v = posterior.latent(columns)
    assert v.max() > 0.1
    by_hand = [
        quad(lambda z, i=i: link(m[i] + np.sqrt(v[i]) * z) * norm.pdf(z), -9, 9, limit=200)[0]
        for i in range(len(new))
    ]
    proba = model.predict_proba(new)
    np.testing.assert_allclose(proba[:, 1], by_hand, atol=1e-6)
    np.testing.assert_allclose(link(model.decision_function(new)), proba[:, 1], atol=1e-10)
    assert (np.abs(proba[:, 1] - 0.5) <= np.abs(link(m) - 0.5) + 1e-9).all(), "not moderated"
    w, b = posterior.sample(20_000, random_state=0)
    np.testing.assert_allclose(link(columns @ w.T + b).mean(axis=1), proba[:, 1], atol=0.02)


@each_inference
def test_swapping_the_classes_swaps_the_probabilities(inference):
    X, y = make_ripley(80, random_state=1)
    first = RVMClassifier(gamma=2.0, inference=inference).fit(X, y).predict_proba(X)
    second = RVMClassifier(gamma=2.0, inference=inference).fit(X, 1 - y).predict_proba(X)
    np.testing.assert_allclose(first, second[:, ::-1], atol=1e-6)


def iris_cases():
    for inference in INFERENCES:
        for kernel in ("rbf", None):
            yield pytest.param(inference, kernel)


@pytest.mark.slow
@pytest.mark.parametrize(("inference", "kernel"), list(iris_cases()))
def test_iris(inference, kernel, iris):
    X, y = iris
    model = RVMClassifier(kernel, inference=inference).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.92
    X, y = X[::2], y[::2]
    proba = model.predict_proba(X)
    assert proba.shape == (75, 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    weights = model.coef_ if kernel is None else model.dual_coef_
    assert weights.shape == (3, 4 if kernel is None else model.n_relevant_)
    assert model.intercept_.shape == (3,)
    assert len(model.posteriors_) == 3
    assert {record.output for record in model.history_} == {0, 1, 2}
    assert model.status_.message.startswith("All 3 outputs converged")
    two = clone(model).set_params(n_jobs=2).fit(X, y)
    for one, other in zip(says(model, X), says(two, X), strict=True):
        np.testing.assert_array_equal(one, other)


def separable_cases():
    for load in (load_iris, load_wine):
        for likelihood in ("logistic", "probit"):
            for inference in INFERENCES:
                name = (load.__name__.removeprefix("load_"), likelihood, inference)
                yield pytest.param(inference, likelihood, load, id="-".join(name))


@pytest.mark.slow
@pytest.mark.parametrize(("inference", "likelihood", "load"), list(separable_cases()))
def test_separable_classes(inference, likelihood, load):
    X, y = load(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), y == 0
    failures = []
    for seed in (2, 15, 24):
        rows = np.random.default_rng(seed).permutation(len(y))[:80]
        with np.errstate(all="ignore"):
            model = RVMClassifier(inference=inference, likelihood=likelihood).fit(X[rows], y[rows])
        objective = np.array([record.objective for record in model.history_])
        if (
            np.abs(model.dual_coef_).max(initial=0) > 1e6
            or model.score(X[rows], y[rows]) < 0.95
            or (np.diff(objective) < -1e-6 * np.abs(objective[1:]) - 1e-6).any()
        ):
            failures.append(seed)
    assert not failures


@each_inference
def test_balanced_classes(inference):
    X, y = make_ripley(200, random_state=0)
    keep = (y == 0) | (np.arange(200) % 8 == 0)
    X, y = X[keep], y[keep]
    plain = RVMClassifier(gamma=2.0, inference=inference).fit(X, y)
    even = RVMClassifier(gamma=2.0, inference=inference, class_weight="balanced").fit(X, y)
    assert even.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.05
    count = np.bincount(y)
    by_hand = {k: len(y) / (2 * count[k]) for k in (0, 1)}
    same = RVMClassifier(gamma=2.0, inference=inference).fit(
        X, y, sample_weight=np.array([by_hand[k] for k in y])
    )
    assert_says_the_same(even, same, X)


def repetition_cases():
    for kind in (RVMClassifier, RVMRegressor):
        for inference in INFERENCES:
            for kernel in ("rbf", "matern", None):
                yield pytest.param(kind, inference, kernel)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "inference", "kernel"), list(repetition_cases()))
def test_weights_are_repetitions(kind, inference, kernel):
    X, y = problem(kind)
    weight = np.random.default_rng(1).integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    first = kind(kernel, gamma=0.3, inference=inference).fit(X, y, sample_weight=weight)
    second = kind(kernel, gamma=0.3, inference=inference).fit(X[rows], y[rows])
    assert_says_the_same(first, second, X, 1e-3)
    if kernel is not None:
        assert (weight[first.relevance_] > 0).all()
        np.testing.assert_array_equal(X[first.relevance_], first.relevance_vectors_)


# ---- what people do with an estimator -------------------------------------------------------


@pytest.mark.slow
@both
@each_inference
@pytest.mark.parametrize("kernel", ["rbf", None])
def test_copies(kind, inference, kernel):
    X, y = problem(kind)
    model = kind(kernel, gamma=0.3, inference=inference).fit(X, y)
    expected = says(model, X)
    twin = clone(model)
    assert not [name for name in vars(twin) if name.endswith("_")]
    for other in (pickle.loads(pickle.dumps(model)), twin.fit(X, y)):
        for one, part in zip(says(other, X), expected, strict=True):
            np.testing.assert_array_equal(one, part)


@both
@each_inference
def test_a_model_owns_its_rows(kind, inference):
    X, y = problem(kind)
    new = X.copy()
    model = kind(gamma=0.3, inference=inference).fit(X, y)
    expected = says(model, new)
    X[:] = 1e3
    for one, part in zip(says(model, new), expected, strict=True):
        np.testing.assert_array_equal(one, part)


@both
def test_fit_leaves_the_data_alone(kind):
    X, y = problem(kind)
    weight = np.linspace(0, 2, len(y))
    copies = X.copy(), y.copy(), weight.copy()
    for array in (X, y, weight):
        array.flags.writeable = False
    model = kind(gamma=0.3).fit(X, y, sample_weight=weight)
    says(model, X)
    for array, copy in zip((X, y, weight), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


OTHER = {
    "kernel": "linear",
    "gamma": 77.0,
    "degree": 9,
    "coef0": 3.0,
    "inference": "evidence",
    "solver": "vb",
    "fit_intercept": False,
    "shape": 1.0,
    "rate": 1.0,
    "max_iter": 1,
    "tol": 1.0,
    "rank_tol": 0.5,
    "max_rank": 2,
    "n_jobs": 2,
    "callbacks": [],
}


@both
def test_predictions_read_no_setting(kind):
    X, y = problem(kind)
    model = kind(gamma=0.3).fit(X, y)
    expected = says(model, X)
    model.set_params(**OTHER)
    for one, part in zip(says(model, X), expected, strict=True):
        np.testing.assert_array_equal(one, part)


@pytest.mark.slow
@both
def test_pipeline_and_grid_search(kind):
    X, y = problem(kind)
    pipe = make_pipeline(StandardScaler(), kind())
    name = kind.__name__.lower()
    grid = {f"{name}__gamma": [0.01, 0.5, 1000.0], f"{name}__inference": INFERENCES}
    search = GridSearchCV(pipe, grid, cv=2, error_score="raise").fit(100 * X + 7, y)
    assert search.best_params_[f"{name}__gamma"] < 1000
    assert search.best_score_ > 0.6


def test_selecting_features_of_a_frame():
    X, y = bumps(100)
    frame = pd.DataFrame(np.hstack([X, np.random.default_rng(0).normal(size=(100, 4))]))
    frame.columns = ["a", "b", "n1", "n2", "n3", "n4"]
    model = RVMRegressor(None).set_output(transform="pandas").fit(frame, y)
    kept = model.transform(frame)
    assert isinstance(kept, pd.DataFrame)
    assert list(kept.columns) == list(model.get_feature_names_out())
    assert {"a", "b"} <= set(kept.columns)
    pd.testing.assert_frame_equal(kept, frame[kept.columns])
    pipe = make_pipeline(RVMClassifier(None), LogisticRegression()).fit(frame, y > 3)
    assert pipe[-1].coef_.shape == (1, pipe[0].n_relevant_)
    for kind in (RVMClassifier, RVMRegressor):
        assert not hasattr(kind(), "transform")
        with pytest.raises(AttributeError, match="get_support"):
            _ = kind().get_support


@both
@each_inference
def test_callbacks_stop(kind, inference):
    X, y = problem(kind)
    seen = []

    def stop(record):
        seen.append(record)
        return len(seen) == 2

    model = kind(gamma=0.5, inference=inference, callbacks=stop).fit(X, y)
    assert model.n_iter_ == len(seen) == 2
    assert model.history_ == seen
    assert not model.status_.converged
    assert "stopped by a callback" in model.status_.message.lower()
    says(model, X)


@both
@each_inference
def test_too_few_iterations_warn(kind, inference):
    X, y = problem(kind)
    with pytest.warns(ConvergenceWarning, match="raise max_iter") as caught:
        model = kind(gamma=0.5, inference=inference, max_iter=1).fit(X, y)
    assert [warning.filename for warning in caught] == [__file__]
    assert not model.status_.converged
    says(model, X)


@pytest.mark.slow
@both
@each_inference
def test_kinds_of_rows(kind, inference):
    X, y = problem(kind)
    model = kind(gamma=0.3, inference=inference).fit(X, y)
    for rows in (csr_array(X), np.asfortranarray(X), X.tolist()):
        assert_says_the_same(kind(gamma=0.3, inference=inference).fit(rows, y), model, X, 1e-5)
    single = X.astype(np.float32)
    other = kind(gamma=0.3, inference=inference).fit(single, y)
    assert_says_the_same(
        other, kind(gamma=0.3, inference=inference).fit(single.astype(float), y), X, 0.02
    )


def test_the_low_rank_is_said():
    X, y = bumps()
    model = RVMRegressor(gamma=20.0, max_rank=10).fit(X, y)
    assert "10" in model.status_.message.split("kept")[-1]
    says(model, np.vstack([X, 10 * X]))


# ---- ways to break it -----------------------------------------------------------------------


def fitted_names(model):
    return sorted(name for name in vars(model) if name.endswith("_"))


@functools.cache
def fitted(kind):
    """A good model, of which every test takes a copy."""
    return kind(gamma=0.3).fit(*problem(kind, 25))


def check_refused(model, X, y, fragment, error=ValueError, **fit_params):
    """A first and a second fit fail with that sentence and leave nothing behind."""
    params = model.get_params(deep=False)
    with pytest.raises(error, match=fragment):
        model.fit(X, y, **fit_params)
    assert not fitted_names(model), "a failing first fit left attributes"
    with pytest.raises(NotFittedError):
        model.predict(np.zeros((2, 2)))
    good, _ = problem(type(model), 25)
    second = deepcopy(fitted(type(model)))
    before, names = says(second, good), {name: id(value) for name, value in vars(second).items()}
    defaults = second.get_params(deep=False)
    second.set_params(**params)
    with pytest.raises(error, match=fragment):
        second.fit(X, y, **fit_params)
    second.set_params(**defaults)
    assert {name: id(value) for name, value in vars(second).items()} == names
    for one, part in zip(says(second, good), before, strict=True):
        np.testing.assert_array_equal(one, part)


@both
@pytest.mark.parametrize(
    ("setting", "fragment", "error"),
    [
        ({"inference": "vb"}, "Unknown inference 'vb'", ValueError),
        ({"inference": "sequental"}, "Did you mean 'sequential'", ValueError),
        ({"inference": None}, "Unknown inference", ValueError),
        ({"inference": ["evidence"]}, "Unknown inference", ValueError),
        ({"inference": "variational", "shape": -1}, "shape must be a number from 0", ValueError),
        ({"inference": "variational", "shape": "a"}, "shape must be a number from 0", ValueError),
        ({"inference": "variational", "rate": -1e-9}, "rate must be a number from 0", ValueError),
        ({"inference": "variational", "rate": "1"}, "rate must be a number from 0", ValueError),
        ({"inference": "variational", "rate": np.nan}, "rate must be a number from 0", ValueError),
        ({"inference": "variational", "solver": "em"}, "must be 'fast' or 'vb', got 'em'", ValueError),
        ({"likelihood": "poisson"}, "Unknown likelihood 'poisson'", ValueError),
        ({"likelihood": None}, "likelihood must be one of", TypeError),
        ({"kernel": "rfb"}, "Unknown kernel 'rfb'", ValueError),
        ({"kernel": 3}, "kernel must be one of", TypeError),
        ({"kernel": "precomputed"}, "square matrix", ValueError),
        ({"gamma": 0}, "gamma must be positive", ValueError),
        ({"gamma": "wide"}, "Unknown gamma", ValueError),
        ({"kernel": "poly", "degree": 0}, "degree must be", ValueError),
        ({"tol": 0}, "tol must be a positive number", ValueError),
        ({"max_iter": 1.5}, "max_iter must be a positive whole number", ValueError),
        ({"rank_tol": None}, "rank_tol must be a positive number or 'auto'", ValueError),
        ({"max_rank": 0}, "max_rank must be", ValueError),
        ({"callbacks": 3}, "callbacks must be", TypeError),
    ],
    ids=str,
)
def test_settings_that_make_no_sense(kind, setting, fragment, error):
    check_refused(kind(**setting), *problem(kind), fragment, error)


@both
def test_the_other_kind_of_likelihood(kind):
    wrong = Gaussian() if kind is RVMClassifier else Logistic()
    check_refused(kind(likelihood=wrong), *problem(kind), "likelihood must be one of", TypeError)


@both
def test_the_sentence_about_the_solver_names_it(kind):
    check_refused(kind(inference="variational", solver="em"), *problem(kind), "solver must be")


@both
@pytest.mark.parametrize("value", ["no", None])
def test_an_intercept_that_is_neither(kind, value):
    check_refused(kind(fit_intercept=value), *problem(kind), "fit_intercept", (TypeError, ValueError))


@pytest.mark.slow
@both
@pytest.mark.parametrize("value", [np.nan, np.inf])
@each_inference
def test_numbers_that_are_none(kind, value, inference):
    X, y = problem(kind)
    bad = X.copy()
    bad[3, 1] = value
    check_refused(kind(inference=inference), bad, y, "NaN|infinity")
    model = kind(gamma=0.3, inference=inference).fit(X, y)
    for method in ("predict", "predict_proba" if kind is RVMClassifier else "predict_dist"):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            getattr(model, method)(bad)
    if kind is RVMRegressor:
        target = y.copy()
        target[0] = value
        check_refused(kind(inference=inference), X, target, "NaN|infinity")


@both
def test_shapes_that_do_not_fit(kind):
    X, y = problem(kind)
    check_refused(kind(), X[:, 0], y, "Reshape your data")
    check_refused(kind(), X[:, :, None], y, "dim 3|3D|dimension")
    check_refused(kind(), X, y[:5], "inconsistent numbers of samples")
    check_refused(kind(), X[:0], y[:0], "0 sample")
    check_refused(kind(), X[:, :0], y, "0 feature")
    model = kind().fit(X, y)
    for rows, fragment in [(X[:, :1], "1 features"), (X[0], "Reshape"), (np.c_[X, X], "4 features")]:
        with pytest.raises(ValueError, match=fragment):
            model.predict(rows)
    if kind is RVMRegressor:
        with pytest.raises(ValueError, match="1 features"):
            model.predict_dist(X[:, :1])


@both
def test_not_fitted(kind):
    X, _ = problem(kind)
    names = [
        "predict",
        "predict_proba",
        "decision_function",
        "predict_log_proba",
        "predict_dist",
        "score",
    ]
    for name in names:
        if hasattr(kind, name):
            with pytest.raises(NotFittedError):
                getattr(kind(), name)(*((X, X[:, 0]) if name == "score" else (X,)))
    with pytest.raises(NotFittedError):
        kind(None).transform(X)
    with pytest.raises(NotFittedError):
        kind(None).get_support()


@both
@pytest.mark.parametrize(
    ("weight", "fragment"),
    [
        (-np.ones(60), "negative"),
        (np.zeros(60), "zero"),
        (np.full(60, np.nan), "NaN"),
        (np.ones(7), "expected"),
        (np.ones((60, 2)), "1D array"),
        (np.full(60, 1e30), "1e20"),
    ],
    ids=["negative", "zero", "nan", "short", "table", "huge"],
)
def test_weights_that_make_no_sense(kind, weight, fragment):
    check_refused(kind(), *problem(kind), fragment, sample_weight=weight)


@pytest.mark.parametrize("label", [0, "a", True])
@each_inference
def test_one_class(label, inference):
    X, _ = bumps(30)
    check_refused(RVMClassifier(inference=inference), X, np.array([label] * 30), "one class")


def test_a_class_whose_rows_do_not_count():
    X, y = problem(RVMClassifier)
    check_refused(RVMClassifier(), X, y, "one class", sample_weight=(y == "low").astype(float))
    check_refused(RVMClassifier(class_weight={"high": 0}), X, y, "one class")
    check_refused(RVMClassifier(class_weight={"high": -1}), X, y, "negative")


@pytest.mark.slow
@each_inference
@pytest.mark.parametrize("kernel", ["rbf", "linear", None])
@pytest.mark.parametrize("value", [0.0, 5.0, 1e8, -1e-8])
def test_constant_targets(inference, kernel, value):
    X, _ = bumps(30)
    model = RVMRegressor(kernel, inference=inference).fit(X, np.full(30, value))
    weights = model.coef_ if kernel is None else model.dual_coef_
    assert np.abs(weights).max(initial=0) <= 1e-12 * abs(value)
    mean, std = model.predict_dist(X)
    np.testing.assert_allclose(mean, value, rtol=1e-6)
    assert (std <= max(1e-5 * abs(value), 1e-70)).all()


@pytest.mark.parametrize(
    "inference",
    [
        *INFERENCES,
    ],
)
@pytest.mark.parametrize("kernel", ["rbf", None])
def test_constant_targets_need_no_column(inference, kernel):
    X, _ = bumps(30)
    model = RVMRegressor(kernel, inference=inference).fit(X, np.full(30, 5.0))
    assert model.n_relevant_ == 0


def survives(model, X, y, new=None, **fit_params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, **fit_params)
    assert all(np.isfinite(record.objective) for record in model.history_)
    says(model, X if new is None else new)
    return model


@pytest.mark.slow
@both
@each_inference
@pytest.mark.parametrize("kernel", ["rbf", "matern", "poly", None])
@pytest.mark.parametrize("intercept", [True, False])
def test_strange_data(kind, inference, kernel, intercept):
    X, y = problem(kind, 30)
    options = {"inference": inference, "fit_intercept": intercept, "max_iter": 100}
    far = np.vstack([X, X + 1e3, 1e5 * X, -1e9 * X])
    for rows in (
        np.ones_like(X),
        np.zeros_like(X),
        np.repeat(X[:10], 3, axis=0),
        np.round(X),
        X + 1e6,
        X * 1e12,
        X * 1e-12,
        X * [1.0, 1e-9],
    ):
        survives(kind(kernel, **options), rows, y)
    survives(kind(kernel, **options), X, y, far)
    labels = ["a", "b"] if kind is RVMClassifier else [1.0, 2.0]
    survives(kind(kernel, **options), X[:2], labels)
    if kind is RVMRegressor:
        for target in (1e30 * y, 1e-30 * y, X[:, 0], np.where(np.arange(30) == 0, 1e9, y)):
            survives(kind(kernel, **options), X, target)
    else:
        survives(kind(kernel, **options), X, X[:, 0] > 0, far)


@both
@each_inference
@pytest.mark.parametrize("gamma", [1e-9, 1e9])
def test_strange_widths(kind, inference, gamma):
    X, y = problem(kind, 30)
    model = survives(kind(gamma=gamma, inference=inference), X, y, np.vstack([X, X + 0.1]))
    if kind is RVMRegressor and gamma == 1e9:  # nothing is near anything
        assert model.predict_dist(X + 0.1)[1].min() > 0.5 * np.std(y)


def weight_cases():
    mixed = np.geomspace(1e-10, 1e10, 60)
    cases = {"many": np.full(60, 1e15), "few": np.full(60, 0.1), "mixed": mixed}
    for kind in (RVMClassifier, RVMRegressor):
        for inference in INFERENCES:
            for name, weight in cases.items():
                short = f"{kind.__name__}-{inference}-{name}"
                yield pytest.param(kind, inference, weight, id=short)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "inference", "weight"), list(weight_cases()))
def test_strange_weights(kind, inference, weight):
    X, y = problem(kind)
    survives(kind(gamma=0.3, inference=inference), X, y, sample_weight=weight)


@each_inference
@pytest.mark.parametrize("kernel", ["rbf", None])
@pytest.mark.parametrize("intercept", [True, False])
def test_one_row(inference, kernel, intercept):
    model = RVMRegressor(kernel, inference=inference, fit_intercept=intercept)
    survives(model, [[1.0, 2.0]], [3.0], [[1.0, 2.0], [50.0, -3.0]])


def test_one_row_of_a_tall_kernel():
    model = RVMRegressor("poly", fit_intercept=False)
    survives(model, bumps()[0][:1], [3.0])


@each_inference
@pytest.mark.parametrize("kernel", ["rbf", None])
@pytest.mark.parametrize("total", [1.0, 0.4, 0.04])
def test_weights_that_sum_to_little_leave_the_noise_possible(inference, kernel, total):
    X, y = bumps(40)
    model = RVMRegressor(kernel, inference=inference)
    survives(model, X, y, sample_weight=np.full(40, total / 40))
    assert model.noise_variance_ < 10 * np.var(y)


@pytest.mark.slow
@each_inference
def test_strange_matrices_given(inference):
    _, y = bumps(30)
    rng = np.random.default_rng(0)
    G = rng.normal(size=(30, 30))
    for K in (np.eye(30), np.zeros((30, 30)), G, G + G.T, np.ones((30, 30))):
        survives(RVMRegressor("precomputed", inference=inference, max_iter=100), K, y)
        survives(RVMClassifier("precomputed", inference=inference, max_iter=100), K, y > 3)


def test_a_kernel_that_fails_leaves_nothing_behind():
    def wrong(A, B):
        raise RuntimeError("no")

    def nothing(A, B):
        return np.full((len(A), len(B)), np.nan)

    X, y = bumps(30)
    check_refused(RVMRegressor(wrong), X, y, "no", RuntimeError)
    check_refused(RVMRegressor(nothing), X, y, "NaN|finite|kernel")


@both
def test_an_interrupt_leaves_nothing_behind(kind):
    def interrupt(record):
        raise KeyboardInterrupt

    check_refused(kind(callbacks=interrupt), *problem(kind), None, KeyboardInterrupt)


def test_a_kernel_that_vanishes_at_all_rows_has_no_error_bar_of_its_own():
    model = RVMRegressor(kernel="linear").fit(np.zeros((20, 2)), np.arange(20.0))
    mean, std = model.predict_dist(np.ones((2, 2)))
    np.testing.assert_allclose(mean, 9.5)
    np.testing.assert_allclose(std, model.predict_dist(np.zeros((2, 2)))[1])


@pytest.mark.parametrize("inference", ["sequential", "evidence"])
def test_kernels_do_not_pass_through_all_targets(inference):
    """In fifty dimensions every row is far from all others, and its kernel could say its noise."""
    rng = np.random.default_rng(7)
    X, X_test = rng.normal(size=(60, 50)), rng.normal(size=(300, 50))
    y, y_test = (rows[:, :8].sum(axis=1) + rng.normal(size=len(rows)) for rows in (X, X_test))
    model = RVMRegressor(inference=inference).fit(X, y)
    mean, std = model.predict_dist(X_test)
    assert model.n_relevant_ < 45
    assert model.noise_variance_ > 0.01 * y.var()
    assert np.mean(np.log(std) + ((y_test - mean) / std) ** 2 / 2) < np.log(y.std()) + 0.75
    features = RVMRegressor(kernel=None, inference=inference).fit(X[:12, :8], X[:12, :8].sum(axis=1))
    assert 2 * features.n_relevant_ >= 12  # features are as many as they are


def test_many_kernels_from_the_full_model_down_keep_their_noise():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(320, 40))
    y = X[:, :5].sum(axis=1) + rng.normal(size=320)
    model = RVMRegressor(inference="evidence").fit(X, y)
    assert model.n_relevant_ < 240
    assert model.noise_variance_ > 0.01 * y.var()


def test_without_augmentation_the_mean_is_that_of_predict():
    X, y = make_sinc(40, random_state=0)
    model = RVMRegressor(gamma=1 / 18).fit(X, y)
    np.testing.assert_array_equal(model.predict_dist(X, augment=False)[0], model.predict(X))
    assert np.abs(model.predict_dist(X)[0] - model.predict(X)).max() > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("inference", ["sequential", "evidence"])
@pytest.mark.parametrize("share", [0.5, 0.3])
def test_labels_drawn_by_lot_need_no_kernels(inference, share):
    losses = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(1_100, 10)), (rng.uniform(size=1_100) < share).astype(int)
        model = RVMClassifier(inference=inference).fit(X[:100], y[:100])
        assert model.n_relevant_ > 0 or "none is left" in model.status_.message
        by_frequency = log_loss(y[100:], np.full(1_000, y[:100].mean()))
        losses.append(log_loss(y[100:], model.predict_proba(X[100:])[:, 1]) - by_frequency)
    assert np.mean(losses) < 0.03


@pytest.mark.parametrize("inference", ["sequential", "evidence"])
@pytest.mark.parametrize("seed", range(3))
def test_few_rows_of_real_classes_keep_their_kernels(inference, seed):
    X, y = make_ripley(30, random_state=seed)
    model = RVMClassifier(gamma=2.0, inference=inference).fit(X, y)
    assert 0 < model.n_relevant_ < 8
    assert "none is left" not in model.status_.message


@pytest.mark.parametrize("inference", ["sequential", "evidence"])
@pytest.mark.parametrize("seed", [0, 2])
def test_many_narrow_kernels_that_win_little_each_are_kept(inference, seed):
    X, y = make_offset_spirals(160, random_state=seed)
    X_test, y_test = make_offset_spirals(1_000, random_state=100 + seed)
    model = RVMClassifier(gamma=2.0, inference=inference, fit_intercept=False).fit(X, y)
    assert "none is left" not in model.status_.message
    assert model.score(X_test, y_test) > 0.8


def test_values_that_are_noise_are_predicted_by_their_mean():
    kept = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
        model = RVMRegressor().fit(X, y)
        kept += model.n_relevant_ > 0
        if not model.n_relevant_:
            np.testing.assert_allclose(model.predict(X[:3]), y.mean())
            assert model.noise_variance_ == pytest.approx(y.var(ddof=1))
    assert kept <= 1


@pytest.mark.parametrize("inference", ["sequential", "evidence"])
def test_rows_that_count_very_often_are_learnt_without_a_warning(inference):
    X, y = make_ripley(80, random_state=0)
    with np.errstate(over="raise", invalid="raise"):
        model = RVMClassifier(inference=inference).fit(X, y, np.full(80, 1e12))
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_augmentation_keeps_its_digits_without_noise(seed):
    # Weights of thousands, and a precision of 1e11 at each row: differences of products were rounding.
    rng = np.random.default_rng(seed)
    rows, new = rng.uniform(-10, 10, size=(200, 1)), rng.uniform(-9, 9, size=(300, 1))
    model = RVMRegressor().fit(rows, np.sinc(rows[:, 0] / np.pi))
    mean, std = model.predict_dist(new)
    np.testing.assert_allclose(mean, np.sinc(new[:, 0] / np.pi), rtol=0, atol=1e-3)
    plain, narrow = model.predict_dist(new, augment=False)  # among so many rows there is nothing to add
    np.testing.assert_allclose(mean, plain, rtol=0, atol=1e-5)
    np.testing.assert_allclose(std, narrow, rtol=0.01)
