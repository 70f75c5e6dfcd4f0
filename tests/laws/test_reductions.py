"""Every generalisation reduces to its special case."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.class_weight import compute_sample_weight

from laconism import SparseBayesClassifier, SparseBayesRegressor
from laconism.kernels import RBF, Linear, Polynomial
from laconism.priors import Gaussian, GeneralizedGaussian, Jeffreys, Laplace, StudentT
from laconism.solvers import EM, Newton

TASKS = {"classifier": SparseBayesClassifier, "regressor": SparseBayesRegressor}
PRIORS = {
    "gaussian": Gaussian(width=1.5),
    "laplace": Laplace(rate=1.5),
    "jeffreys": Jeffreys(),
    "student_t": StudentT(a=0.5, b=0.1),
}
BASES = {
    "features": {},
    "rbf": {"kernel": "rbf", "gamma": 1.0},
    "scaled_rbf": {"kernel": "rbf"},
    "expanded": {"expansion": 2},
}


def draw(task="regressor", n=60, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    f = 2 * X[:, 0] - X[:, 1] ** 2 + 0.5
    if task == "classifier":
        return X, (f + rng.normal(size=n) > 0).astype(int)
    return X, f + 0.5 * rng.normal(size=n)


def new_rows(p=4):
    return np.random.default_rng(99).normal(size=(30, p))


def answers(model, X):
    """Return everything that a model says about these rows."""
    if isinstance(model, SparseBayesClassifier):
        return np.column_stack([model.predict_log_proba(X), *model._latents(X)])
    return np.column_stack([*model.predict_dist(X), *model._latents(X)])


def assert_same(model, other, X, X_other=None, rtol=1e-6):
    expected = answers(other, X if X_other is None else X_other)
    np.testing.assert_allclose(answers(model, X), expected, rtol=rtol, atol=rtol)


# ---- priors ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "em", "newton"])
@pytest.mark.parametrize("basis", ["features", "rbf"])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("general", "special"),
    [
        (GeneralizedGaussian(q=1, scale=0.5), Laplace(rate=2.0)),
        (GeneralizedGaussian(q=2, scale=4.5), Gaussian(width=1.5)),
    ],
    ids=["laplace", "gaussian"],
)
def test_a_generalized_gaussian_is(general, special, task, basis, solver):
    X, y = draw(task)
    # Beside kernels of classes only one of them spares the intercept.
    settings = {"solver": solver, "max_iter": 5000, "fit_intercept": basis == "features", **BASES[basis]}
    fitted = [TASKS[task](prior=prior, **settings).fit(X, y) for prior in (general, special)]
    np.testing.assert_array_equal(fitted[0].relevance_, fitted[1].relevance_)
    assert fitted[0].n_iter_ == fitted[1].n_iter_
    assert_same(*fitted, new_rows(), rtol=1e-9)


@pytest.mark.parametrize("solver", [EM(), Newton(start="l1"), Newton(start="ridge")], ids=str)
@pytest.mark.parametrize("task", TASKS)
def test_a_student_t_of_no_knowledge_is_jeffreys(task, solver):
    X, y = draw(task, n=100)
    student = StudentT(a=1e-12, b=1e-24)
    jeffreys = TASKS[task](prior=Jeffreys(strength=1), solver=solver, tol=1e-13).fit(X, y)
    model = TASKS[task](prior=student, solver=solver, tol=1e-13, max_iter=5000).fit(X, y)
    # A proper density is smooth at zero: what Jeffreys removes is tiny here (sqrt(b) and less, 1e-12).
    kept = np.abs(np.ravel(model.coef_)) > 1e-9
    np.testing.assert_array_equal(np.flatnonzero(kept), jeffreys.relevance_)
    assert 0 < kept.sum() < 4
    np.testing.assert_allclose(model.coef_, jeffreys.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, jeffreys.intercept_, atol=1e-6)


def test_jeffreys_strength_names_are_numbers():
    X, y = draw(n=100, p=30)
    for name, number in (("auto", np.log(30) / 2), ("universal", np.log(30) / 2)):
        model = SparseBayesRegressor(prior=Jeffreys(name)).fit(X, y)
        assert model.prior_.strength == pytest.approx(number)
    kernels = SparseBayesRegressor(kernel="rbf", gamma=0.3)
    named, numbered = kernels.fit(X, y), SparseBayesRegressor(Jeffreys(1), kernel="rbf", gamma=0.3)
    assert_same(named, numbered.fit(X, y), new_rows(30), rtol=1e-12)


# ---- sample weights ----------------------------------------------------------------------------


def compare_weights(task, prior, basis, *, weight, rows):
    """Fit with weights and with the rows written out."""
    X, y = draw(task)
    model = TASKS[task](prior=PRIORS[prior], tol=1e-13, max_iter=5000, **BASES[basis])
    other = TASKS[task](prior=PRIORS[prior], tol=1e-13, max_iter=5000, **BASES[basis])
    return model.fit(X, y, sample_weight=weight), other.fit(X[rows], y[rows]), X


@pytest.mark.slow
@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("task", TASKS)
def test_weight_2_is_a_row_written_twice(task, prior, basis):
    twice = np.arange(60) % 3 == 0
    weight = np.where(twice, 2.0, 1.0)
    rows = np.r_[np.arange(60), np.flatnonzero(twice)]
    model, other, X = compare_weights(task, prior, basis, weight=weight, rows=rows)
    np.testing.assert_array_equal(model.relevance_, other.relevance_)
    assert_same(model, other, X)
    assert_same(model, other, new_rows())


@pytest.mark.slow
@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("task", TASKS)
def test_weight_0_is_a_row_left_out(task, prior, basis):
    kept = np.arange(60) % 4 != 1
    rows = np.flatnonzero(kept)
    model, other, X = compare_weights(task, prior, basis, weight=kept.astype(float), rows=rows)
    # Kernels are counted by the rows as they were given.
    expected = rows[other.relevance_] if "kernel" in BASES[basis] else other.relevance_
    np.testing.assert_array_equal(model.relevance_, expected)
    assert_same(model, other, X, rtol=1e-9)


@pytest.mark.parametrize("task", TASKS)
def test_weight_1_is_no_weight(task):
    X, y = draw(task)
    model, other = TASKS[task]().fit(X, y), TASKS[task]().fit(X, y, sample_weight=np.ones(60))
    assert_same(model, other, X, rtol=1e-14)


@pytest.mark.parametrize("task", TASKS)
def test_weights_of_a_precomputed_kernel(task):
    X, y = draw(task)
    weight = np.where(np.arange(60) % 4 == 1, 0.0, 1.0 + np.arange(60) % 2)
    named = TASKS[task](kernel="rbf", gamma=1.0).fit(X, y, weight)
    given = TASKS[task](kernel="precomputed").fit(rbf_kernel(X, gamma=1.0), y, weight)
    np.testing.assert_array_equal(named.relevance_, given.relevance_)
    assert (weight[named.relevance_] > 0).all()
    new = rbf_kernel(new_rows(), X, gamma=1.0)
    expected, _ = named._latents(new_rows())
    by_hand = new[:, given.relevance_] @ np.ravel(given.dual_coef_) + given.intercept_
    np.testing.assert_allclose(by_hand, expected[:, 0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(given._latents(new)[0], expected, rtol=1e-6, atol=1e-6)


def test_balanced_classes_are_sample_weights():
    X, y = draw("classifier", seed=1)
    y = np.where(np.arange(60) < 12, 1, y)
    weight = compute_sample_weight("balanced", y)
    assert weight.min() < 0.9
    for options in BASES.values():
        model = SparseBayesClassifier(class_weight="balanced", **options).fit(X, y)
        explicit = SparseBayesClassifier(**options).fit(X, y, weight)
        np.testing.assert_array_equal(model.relevance_, explicit.relevance_)
        assert_same(model, explicit, X, rtol=1e-12)


def test_class_weights_multiply_sample_weights():
    X, y = draw("classifier")
    weight = np.random.default_rng(0).uniform(0.5, 2, size=60)
    model = SparseBayesClassifier(class_weight={0: 2.0, 1: 0.5}).fit(X, y, weight)
    explicit = SparseBayesClassifier().fit(X, y, weight * np.where(y == 0, 2.0, 0.5))
    assert_same(model, explicit, X, rtol=1e-12)


# ---- kernels and columns -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("options", "function"),
    [
        ({"kernel": "rbf", "gamma": 0.7}, lambda A, B: rbf_kernel(A, B, gamma=0.7)),
        ({"kernel": "linear"}, lambda A, B: A @ B.T),
        (
            {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.5},
            lambda A, B: polynomial_kernel(A, B, gamma=0.5, degree=2, coef0=1.5),
        ),
    ],
    ids=["rbf", "linear", "poly"],
)
def test_a_named_kernel_is_its_matrix_its_function_and_its_object(options, function, task, prior):
    X, y = draw(task)
    common = {"prior": PRIORS[prior], "tol": 1e-10, "max_iter": 5000}
    objects = {"rbf": RBF(0.7), "linear": Linear(), "poly": Polynomial(2, gamma=0.5, coef0=1.5)}
    named = TASKS[task](**common, **options).fit(X, y)
    called = TASKS[task](**common, kernel=function).fit(X, y)
    built = TASKS[task](**common, kernel=objects[options["kernel"]]).fit(X, y)
    given = TASKS[task](**common, kernel="precomputed").fit(function(X, X), y)
    new = new_rows()
    for other, rows in ((called, new), (built, new), (given, function(new, X))):
        if options["kernel"] == "rbf":  # the others have 60 columns in 4 or 15 dimensions
            np.testing.assert_array_equal(named.relevance_, other.relevance_)
        assert_same(named, other, new, rows)


def test_any_function_is_a_kernel():
    X, y = draw("classifier")
    called = SparseBayesClassifier(kernel=laplacian_kernel).fit(X, y)
    given = SparseBayesClassifier(kernel="precomputed").fit(laplacian_kernel(X), y)
    np.testing.assert_array_equal(called.relevance_, given.relevance_)
    assert_same(called, given, new_rows(), laplacian_kernel(new_rows(), X))


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("task", TASKS)
def test_an_expansion_is_a_pipeline_of_polynomial_features(task, degree, prior):
    X, y = draw(task)
    model = TASKS[task](prior=PRIORS[prior], expansion=degree, max_iter=5000).fit(X, y)
    plain = TASKS[task](prior=PRIORS[prior], max_iter=5000)
    pipeline = make_pipeline(PolynomialFeatures(degree, include_bias=False), plain).fit(X, y)
    np.testing.assert_array_equal(model.relevance_, plain.relevance_)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.predict(new_rows()), pipeline.predict(new_rows()), atol=1e-6)
    assert_same(model, plain, new_rows(), pipeline[0].transform(new_rows()))


@pytest.mark.parametrize("task", TASKS)
def test_an_expansion_of_degree_1_is_the_features(task):
    X, y = draw(task)
    assert_same(TASKS[task](expansion=1).fit(X, y), TASKS[task]().fit(X, y), X, rtol=1e-14)


@pytest.mark.parametrize("task", TASKS)
def test_a_penalised_intercept_is_a_column_of_ones(task):
    X, y = draw(task)
    ones = np.ones((60, 1))
    model = TASKS[task](penalize_intercept=True, prior=Jeffreys(1)).fit(X, y)
    other = TASKS[task](fit_intercept=False, prior=Jeffreys(1)).fit(np.hstack([ones, X]), y)
    expected = np.ravel(other.coef_)
    np.testing.assert_allclose(np.ravel(model.intercept_), expected[:1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.ravel(model.coef_), expected[1:], rtol=1e-6, atol=1e-9)


# ---- classes -----------------------------------------------------------------------------------


def three_classes():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 3))
    return X, np.argmax(X + 0.7 * rng.normal(size=X.shape), axis=1)


@pytest.mark.parametrize("basis", ["features", "rbf"])
@pytest.mark.parametrize("likelihood", ["probit", "logistic"])
def test_three_classes_are_three_binary_problems(likelihood, basis):
    X, y = three_classes()
    options = {"likelihood": likelihood, **BASES[basis]}
    model = SparseBayesClassifier(**options).fit(X, y)
    binary = [SparseBayesClassifier(**options).fit(X, y == k) for k in range(3)]
    latents = np.column_stack([one.decision_function(X) for one in binary])
    np.testing.assert_allclose(model.decision_function(X), latents, rtol=1e-9, atol=1e-12)
    alone = np.column_stack([one.predict_proba(X)[:, 1] for one in binary])
    expected = alone / alone.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), alone.argmax(axis=1))
    kept = np.unique(np.concatenate([one.relevance_ for one in binary]))
    np.testing.assert_array_equal(model.relevance_, kept)


def test_two_of_three_classes_are_a_binary_problem():
    X, y = three_classes()
    weight = (y != 1).astype(float)
    model = SparseBayesClassifier().fit(X, y, weight)
    np.testing.assert_array_equal(model.classes_, [0, 2])
    binary = SparseBayesClassifier().fit(X[y != 1], y[y != 1] == 2)
    assert model.coef_.shape == (1, 3)
    assert_same(model, binary, X, rtol=1e-9)


@pytest.mark.parametrize("labels", [(-1, 1), ("no", "yes"), (False, True), (3.0, 7.0)], ids=str)
def test_labels_are_names_only(labels):
    X, y = draw("classifier")
    model = SparseBayesClassifier().fit(X, np.array(labels)[y])
    plain = SparseBayesClassifier().fit(X, y)
    assert_same(model, plain, X, rtol=1e-14)
    np.testing.assert_array_equal(model.predict(X), np.array(labels)[plain.predict(X)])
