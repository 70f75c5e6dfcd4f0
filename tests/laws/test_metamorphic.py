"""What must happen to the answer when the question is put in another way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laconism import SparseBayesClassifier, SparseBayesRegressor
from laconism.priors import Gaussian, GeneralizedGaussian, Jeffreys, Laplace, StudentT

TASKS = {"classifier": SparseBayesClassifier, "regressor": SparseBayesRegressor}
PRIORS = {
    "gaussian": Gaussian(width=1.5),
    "laplace": Laplace(rate=1.5),
    "jeffreys": Jeffreys(),
    "student_t": StudentT(a=0.5, b=0.1),
    "generalized_0.5": GeneralizedGaussian(q=0.5, scale=1.0),
}
CASES = [(task, prior) for task in TASKS for prior in PRIORS]
# Deep enough that two paths to one answer meet to 1e-6.
DEEP = {"tol": 1e-13, "max_iter": 20_000}
few_examples = settings(max_examples=15, deadline=None, derandomize=True)
seeds = st.integers(0, 10_000)


def draw(task, n=80, p=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1))
    f = 2 * X[:, 0] - 1.5 * X[:, 1] + X[:, 2] + 0.5
    if task == "classifier":
        return X, (f + rng.normal(size=n) > 0).astype(int)
    return X, f + 0.7 * rng.normal(size=n)


def make(task, prior, **options):
    return TASKS[task](prior=PRIORS[prior], **DEEP, **options)


def latent(model, X):
    return model._latents(X)[0][:, 0]


def assert_close(actual, expected, tol=1e-6):
    """Compare within ``tol`` of the largest entry."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tol * np.abs(expected).max())


# ---- order and names ---------------------------------------------------------------------------


@pytest.mark.parametrize(("task", "prior"), CASES)
def test_permuted_columns_permute_the_weights(task, prior):
    X, y = draw(task)
    order = np.random.default_rng(1).permutation(X.shape[1])
    model, other = make(task, prior).fit(X, y), make(task, prior).fit(X[:, order], y)
    assert_close(np.ravel(other.coef_), np.ravel(model.coef_)[order])
    assert_close(np.ravel(other.intercept_), np.ravel(model.intercept_))
    np.testing.assert_array_equal(np.sort(order[other.relevance_]), model.relevance_)


@pytest.mark.parametrize(("task", "prior"), CASES)
def test_permuted_rows_change_nothing(task, prior):
    X, y = draw(task)
    order = np.random.default_rng(1).permutation(len(y))
    model, other = make(task, prior).fit(X, y), make(task, prior).fit(X[order], y[order])
    assert_close(np.ravel(other.coef_), np.ravel(model.coef_))
    assert_close(latent(other, X), latent(model, X))


@pytest.mark.parametrize(("task", "prior"), CASES)
def test_permuted_rows_permute_the_kept_kernels(task, prior):
    X, y = draw(task, n=50, p=3)
    order = np.random.default_rng(1).permutation(len(y))
    options = {"kernel": "rbf", "gamma": 1.0}
    model = make(task, prior, **options).fit(X, y)
    other = make(task, prior, **options).fit(X[order], y[order])
    np.testing.assert_array_equal(np.sort(order[other.relevance_]), model.relevance_)
    assert_close(latent(other, X), latent(model, X))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"kernel": "rbf", "gamma": 0.5}], ids=["features", "rbf"])
@pytest.mark.parametrize("likelihood", ["probit", "logistic"])
@pytest.mark.parametrize("prior", PRIORS)
def test_flipped_labels_flip_the_sign(prior, likelihood, options):
    X, y = draw("classifier")
    model = make("classifier", prior, likelihood=likelihood, **options).fit(X, y)
    flipped = make("classifier", prior, likelihood=likelihood, **options).fit(X, 1 - y)
    np.testing.assert_array_equal(model.relevance_, flipped.relevance_)
    assert_close(latent(flipped, X), -latent(model, X))
    assert_close(flipped.predict_proba(X)[:, ::-1], model.predict_proba(X))


@pytest.mark.parametrize("prior", PRIORS)
def test_a_flipped_target_flips_the_sign(prior):
    X, y = draw("regressor")
    model, flipped = make("regressor", prior).fit(X, y), make("regressor", prior).fit(X, -y)
    assert_close(flipped.coef_, -model.coef_)
    assert_close(flipped.noise_variance_, model.noise_variance_)


@pytest.mark.parametrize(("task", "prior"), CASES)
def test_a_flipped_feature_flips_its_weight(task, prior):
    X, y = draw(task)
    sign = np.where(np.arange(X.shape[1]) % 2, -1.0, 1.0)
    model, flipped = make(task, prior).fit(X, y), make(task, prior).fit(X * sign, y)
    assert_close(np.ravel(flipped.coef_), sign * np.ravel(model.coef_))


@pytest.mark.parametrize(("task", "prior"), CASES)
def test_a_free_intercept_absorbs_the_origin_of_the_features(task, prior):
    X, y = draw(task)
    model, moved = make(task, prior).fit(X, y), make(task, prior).fit(X + 100.0, y)
    assert_close(np.ravel(moved.coef_), np.ravel(model.coef_))
    assert_close(latent(moved, X + 100.0), latent(model, X))


@pytest.mark.parametrize(("task", "prior"), CASES)
def test_a_constant_column_is_ignored(task, prior):
    X, y = draw(task)
    widened = np.hstack([X, np.full((len(y), 1), 3.0)])
    # The universal threshold counts candidates, so give both models the same one.
    chosen = Jeffreys(strength=1.0) if prior == "jeffreys" else PRIORS[prior]
    model = TASKS[task](prior=chosen, **DEEP).fit(X, y)
    other = TASKS[task](prior=chosen, **DEEP).fit(widened, y)
    assert_close(np.ravel(other.coef_)[:-1], np.ravel(model.coef_))
    assert np.ravel(other.coef_)[-1] == pytest.approx(0.0, abs=1e-12)


# ---- doubled columns ---------------------------------------------------------------------------
#
# f = c [X, X] (w1; w2) = X w with w = c (w1 + w2): the doubled model is the single one under the
# penalty P(w) = min {p(w1) + p(w2) : c (w1 + w2) = w}.
#
#   Gaussian   the minimum is at w1 = w2 = w/(2c): P = 2 (w/2c)^2 / (2 width^2), the old penalty for
#              c = 1/sqrt(2). With [X, X]/2, c = 1/2, the width must be divided by sqrt(2) instead.
#   Laplace    |w1| + |w2| = |w|/c for any split with like signs: P = (rate/c) |w|, the old penalty
#              for c = 1; with [X, X]/2 the rate must be halved.
#   |w|^q, q > 1   w1 = w2 again: P = 2^(1-q) |w/c|^q / scale, the old penalty for c = 2^((1-q)/q).
#   |w|^q, q < 1, and Jeffreys   concave: one of the two takes all. Then [X, X] predicts like X, except
#              that EM-like steps from a symmetric start keep both; so nothing is promised there.

DOUBLED = {
    "gaussian": (Gaussian(width=1.5), Gaussian(width=1.5), np.sqrt(0.5)),
    "gaussian_halved": (Gaussian(width=1.5), Gaussian(width=1.5 * np.sqrt(2)), 0.5),
    "laplace": (Laplace(rate=1.5), Laplace(rate=1.5), 1.0),
    "laplace_halved": (Laplace(rate=1.5), Laplace(rate=0.75), 0.5),
    "generalized_1.5": (
        GeneralizedGaussian(q=1.5, scale=1.0),
        GeneralizedGaussian(q=1.5, scale=1.0),
        2 ** (-0.5 / 1.5),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("solver", ["auto", "em", "newton"])
@pytest.mark.parametrize("case", DOUBLED)
def test_doubled_columns_predict_like_single_ones(case, solver, task):
    single, double, c = DOUBLED[case]
    X, y = draw(task, n=60, p=4)
    model = TASKS[task](prior=single, solver=solver, **DEEP).fit(X, y)
    other = TASKS[task](prior=double, solver=solver, **DEEP).fit(c * np.hstack([X, X]), y)
    together = c * np.ravel(other.coef_).reshape(2, -1).sum(axis=0)
    assert_close(together, np.ravel(model.coef_), 1e-5)
    assert_close(latent(other, c * np.hstack([X, X])), latent(model, X), 1e-5)


# ---- units -------------------------------------------------------------------------------------
#
# The Jeffreys prior p(w) ~ |w|^-s is that of c w as well, up to a constant: if X_j is divided by c_j,
# w_j is multiplied by c_j, and nothing else happens. For a regression the same holds for the target's
# unit (w, intercept and noise's root follow it), and a free intercept takes up its origin.

UNITS = {
    "thousand": np.full(8, 1e3),
    "millionth": np.full(8, 1e-6),
    "mixed": 10.0 ** np.array([-6, 6, 3, -3, 0, 1, -5, 5]),
    "mixed_otherwise": 10.0 ** np.array([6, -6, -2, 4, -1, 2, 5, -5]),
}
KERNEL = {"kernel": "rbf", "gamma": 0.3}


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("likelihood", ["probit", "logistic", "gaussian"])
def test_jeffreys_does_not_know_the_units_of_features(likelihood, units):
    task = "regressor" if likelihood == "gaussian" else "classifier"
    X, y = draw(task)
    model = make(task, "jeffreys", likelihood=likelihood).fit(X, y)
    other = make(task, "jeffreys", likelihood=likelihood).fit(X * UNITS[units], y)
    np.testing.assert_array_equal(other.relevance_, model.relevance_)
    assert 0 < model.n_relevant_ < 8
    assert_close(np.ravel(other.coef_) * UNITS[units], np.ravel(model.coef_))
    assert_close(np.ravel(other.intercept_), np.ravel(model.intercept_))
    assert_close(other._latents(X * UNITS[units])[1], model._latents(X)[1])


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, KERNEL], ids=["features", "rbf"])
@pytest.mark.parametrize("unit", [1e-6, 1e-4, 1e3, 1e6, 1e8])
def test_jeffreys_does_not_know_the_unit_of_the_target(unit, options):
    X, y = draw("regressor")
    model = make("regressor", "jeffreys", **options).fit(X, y)
    other = make("regressor", "jeffreys", **options).fit(X, y * unit)
    np.testing.assert_array_equal(other.relevance_, model.relevance_)
    assert_close(other.predict(X), unit * model.predict(X))
    assert_close(other.predict_dist(X)[1], unit * model.predict_dist(X)[1])
    assert_close(other.noise_variance_, unit**2 * model.noise_variance_)
    if not options:
        assert_close(other.coef_, unit * model.coef_)


@pytest.mark.parametrize("options", [{}, KERNEL], ids=["features", "rbf"])
@pytest.mark.parametrize("prior", PRIORS)
def test_a_free_intercept_absorbs_the_origin_of_the_target(prior, options):
    # 1e6 costs six of the sixteen digits of the target. Where many kernels share a smooth penalty the
    # answer is flat, and what is left of the digits moves it along.
    tol = 1e-4 if options and prior != "jeffreys" else 1e-6
    X, y = draw("regressor")
    model = make("regressor", prior, **options).fit(X, y)
    moved = make("regressor", prior, **options).fit(X, y + 1e6)
    np.testing.assert_array_equal(moved.relevance_, model.relevance_)
    assert_close(moved.predict(X) - 1e6, model.predict(X), tol)
    if not options:
        assert_close(moved.coef_, model.coef_)
    assert_close(moved.noise_variance_, model.noise_variance_, tol)


@pytest.mark.parametrize("task", TASKS)
def test_jeffreys_does_not_know_units_with_more_columns_than_rows(task):
    X, y = draw(task, n=60, p=100)
    units = 10.0 ** np.random.default_rng(0).integers(-6, 7, size=100)
    model, other = make(task, "jeffreys").fit(X, y), make(task, "jeffreys").fit(X * units, y)
    np.testing.assert_array_equal(other.relevance_, model.relevance_)
    assert_close(np.ravel(other.coef_) * units, np.ravel(model.coef_))


@pytest.mark.parametrize(
    ("single", "scaled"),
    [
        (Gaussian(width=1.5), Gaussian(width=0.15)),
        (Laplace(rate=1.5), Laplace(rate=15.0)),
        (StudentT(a=0.5, b=0.1), StudentT(a=0.5, b=0.001)),
        (GeneralizedGaussian(q=0.5, scale=1.0), GeneralizedGaussian(q=0.5, scale=np.sqrt(0.1))),
    ],
    ids=str,
)
@pytest.mark.parametrize("task", TASKS)
def test_other_priors_carry_the_unit(task, single, scaled):
    # A feature ten times as large has a weight a tenth as large; so have the prior's own parameters.
    X, y = draw(task)
    model = TASKS[task](prior=single, **DEEP).fit(X, y)
    other = TASKS[task](prior=scaled, **DEEP).fit(10 * X, y)
    assert_close(10 * np.ravel(other.coef_), np.ravel(model.coef_))


# ---- any problem -------------------------------------------------------------------------------


@few_examples
@given(seed=seeds, task=st.sampled_from(sorted(TASKS)), n=st.integers(20, 60), p=st.integers(3, 30))
def test_any_jeffreys_problem_ignores_units_and_order(seed, task, n, p):
    rng = np.random.default_rng(seed)
    X, y = draw(task, n=n, p=p, seed=seed)
    if len(np.unique(y)) < 2:
        return
    order, units = rng.permutation(p), 10.0 ** rng.uniform(-4, 4, size=p)
    model = TASKS[task](**DEEP).fit(X, y)
    other = TASKS[task](**DEEP).fit((X * units)[:, order], y)
    np.testing.assert_array_equal(np.sort(order[other.relevance_]), model.relevance_)
    expected = (np.ravel(model.coef_) / units)[order]
    if model.n_relevant_:
        assert_close(np.ravel(other.coef_) * units[order], expected * units[order], 1e-5)


@few_examples
@given(
    seed=seeds,
    task=st.sampled_from(sorted(TASKS)),
    prior=st.sampled_from(sorted(PRIORS)),
    n=st.integers(15, 40),
    p=st.integers(3, 50),
)
def test_any_problem_ignores_the_order_of_rows(seed, task, prior, n, p):
    X, y = draw(task, n=n, p=p, seed=seed)
    if len(np.unique(y)) < 2:
        return
    order = np.random.default_rng(seed).permutation(n)
    options = {"prior": PRIORS[prior], "tol": 1e-10, "max_iter": 20_000}
    model = TASKS[task](**options).fit(X, y)
    other = TASKS[task](**options).fit(X[order], y[order])
    np.testing.assert_allclose(latent(other, X), latent(model, X), rtol=1e-4, atol=1e-4)


@few_examples
@given(seed=seeds, n=st.integers(15, 40), gamma=st.floats(0.1, 3.0))
def test_any_kernel_classifier_is_symmetric_in_its_classes(seed, n, gamma):
    X, y = draw("classifier", n=n, p=3, seed=seed)
    if len(np.unique(y)) < 2:
        return
    model = SparseBayesClassifier(kernel="rbf", gamma=gamma).fit(X, y)
    flipped = SparseBayesClassifier(kernel="rbf", gamma=gamma).fit(X, 1 - y)
    np.testing.assert_allclose(latent(flipped, X), -latent(model, X), rtol=1e-6, atol=1e-6)


@few_examples
@given(seed=seeds, shift=st.floats(-1e5, 1e5), unit=st.floats(-4, 4).map(lambda e: 10.0**e))
def test_any_regression_follows_the_target(seed, shift, unit):
    X, y = draw("regressor", n=40, p=5, seed=seed)
    model = SparseBayesRegressor(**DEEP).fit(X, y)
    # Digits of the deviations survive the shift; beyond that nothing can be compared.
    other = SparseBayesRegressor(**DEEP).fit(X, unit * y + unit * shift)
    np.testing.assert_array_equal(other.relevance_, model.relevance_)
    assert_close(other.coef_, unit * model.coef_)
