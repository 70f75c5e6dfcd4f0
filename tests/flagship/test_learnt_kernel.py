"""Kernels that are learnt by the evidence, and projections that keep to their reference."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize

from laconism import LaconicClassifier, LaconicRegressor, load, save
from laconism.design import DenseDesign
from laconism.flagship.candidate import Fits
from laconism.flagship.evidence import EvidenceSearch, ProcessEvidence
from laconism.flagship.learnt_candidates import LearnAdditive
from laconism.flagship.learnt_kernel import AdditiveParameters, _loss
from laconism.flagship.projection import choose_columns
from laconism.flagship.rows import TrainingRows
from laconism.flagship.settings import Settings
from laconism.flagship.sparse_prior import fit_sparse
from laconism.flagship.tasks import projection_task


def parameters(order, p=4):
    rng = np.random.default_rng(order)
    made = AdditiveParameters(np.zeros(p), np.linspace(1.0, 2.0, p), 50.0, order, (None,) * p)
    return made, made.first() + 0.5 * rng.normal(size=2 * p + order - 1)


def differences(function, at, h=1e-5):
    return [(function(at + h * e) - function(at - h * e)) / (2 * h) for e in np.eye(at.size)]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_slopes_of_the_prior_are_its_differences(order):
    made, at = parameters(order)
    slopes = differences(lambda x: made.log_prior(x)[0], at)
    np.testing.assert_allclose(made.log_prior(at)[1], slopes, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_slopes_of_the_evidence_are_its_differences(order):
    made, at = parameters(order)
    rng = np.random.default_rng(9)
    X, weight = rng.normal(size=(30, 4)), rng.uniform(0.5, 2.0, size=30)
    targets = [np.sin(X[:, 0]) + 0.1 * rng.normal(size=30), X[:, 1] + 0.3 * rng.normal(size=30)]
    evidence = ProcessEvidence(targets, weight, True)
    K, gradients = made.kernel(at).with_gradients(X, X)
    found = made.gradient(at, gradients(evidence.at(K)[1]))
    slopes = differences(lambda x: evidence.at(made.kernel(x)(X, X))[0], at)
    np.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_variance_of_a_feature_is_that_of_all_its_sets(order):
    made, at = parameters(order)
    k = made.kernel(at)
    zeros = np.zeros((1, 4))
    plain = type(k)(order, 1.0, k.weights, k.variances)  # whose height is the same everywhere
    for j, variance in enumerate(made.variances(at)):
        other = np.asarray(k.weights) * (np.arange(4) != j)
        rest = type(k)(order, 1.0, other, k.variances).diag(zeros)
        assert variance == pytest.approx(float(plain.diag(zeros)[0] - rest[0]))


def leave_one_out(evidence, K):
    """Residuals and variances of left-out rows by refits, from the equations of a Gaussian process."""
    (y,), w = evidence.targets, evidence.weight
    n, found = y.size, np.zeros(y.size)
    y = (y - np.average(y, weights=w)) / np.sqrt(
        np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    )
    C = K + 1e6 * np.ones((n, n)) + np.diag(1 / w)  # a free intercept
    noise = y @ np.linalg.solve(C, y) / (w.sum() - 1)
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        k = np.linalg.solve(C[np.ix_(rest, rest)], C[rest, i])
        error, variance = y[i] - k @ y[rest], noise * (C[i, i] - k @ C[rest, i])
        found[i] = -0.5 * (np.log(variance * w[i]) + error**2 / variance)
    return found


def test_left_out_densities_are_those_of_refits():
    made, at = parameters(2)
    rng = np.random.default_rng(3)
    X, weight = rng.normal(size=(25, 4)), rng.uniform(0.5, 2.0, size=25)
    evidence = ProcessEvidence([np.sin(X[:, 0]) + 0.3 * rng.normal(size=25)], weight, True)
    K = made.kernel(at)(X, X)
    np.testing.assert_allclose(evidence.left_out(K), leave_one_out(evidence, K), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
def test_the_optimism_is_what_a_search_without_the_row_loses(order):
    rng = np.random.default_rng(order)
    X = rng.normal(size=(160, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] if order == 2 else 1.0) + 0.3 * rng.normal(size=160)
    made = AdditiveParameters(X.mean(axis=0), X.std(axis=0), 160.0, order, (None,) * X.shape[1])
    evidence = ProcessEvidence([y], np.ones(160), True)

    def search(rows, first):
        part = ProcessEvidence([y[rows]], np.ones(len(rows)), True)
        loss = partial(_loss, made, part, X[rows])
        return minimize(loss, first, jac=True, method="L-BFGS-B", options={"ftol": 1e-13}).x

    at = search(np.arange(160), made.first())
    whole = EvidenceSearch(
        evidence, lambda x: made.kernel(x)(X, X), partial(_loss, made, evidence, X)
    ).optimism(at)
    base, lost = evidence.left_out(made.kernel(at)(X, X)), []
    some = np.arange(0, 160, 3)
    for i in some:
        without_it = search(np.delete(np.arange(160), i), at)
        lost.append(base[i] - evidence.left_out(made.kernel(without_it)(X, X))[i])
    assert np.corrcoef(lost, whole[some])[0, 1] > 0.8  # it is of first order
    assert sum(whole[some]) == pytest.approx(sum(lost), rel=0.3)
    assert (whole >= 0).all()


@pytest.mark.slow
def test_features_that_matter_only_together_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_200, 30))
    y = X[:, 0] * X[:, 1] > 0
    model = LaconicClassifier().fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.9
    assert set(np.argsort(-model.feature_scales_)[:2]) == {0, 1}
    product = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=1_200)
    values = LaconicRegressor().fit(X[:200], product[:200])
    assert values.score(X[200:], product[200:]) > 0.9


@pytest.mark.slow
def test_the_order_of_columns_does_not_matter():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 4))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=150)
    model, other = LaconicRegressor().fit(X, y), LaconicRegressor().fit(X[:, ::-1], y)
    assert "additive" in next(trial.name for trial in model.candidates_ if trial.won)
    np.testing.assert_allclose(model.predict(X), other.predict(X[:, ::-1]), atol=1e-6)


@pytest.mark.slow
def test_a_projection_keeps_to_its_reference_between_the_rows():
    rng = np.random.default_rng(2)
    X = rng.standard_t(3, size=(400, 5))
    y = np.tanh(X[:, 0]) + np.abs(X[:, 1]) + 0.5 * X[:, 2] + 0.05 * rng.normal(size=400)

    model = LaconicRegressor("matern").fit(X[:200], y[:200]).with_kernels(60)
    m = model.reference_[0].latent(X)[0]
    apart = np.mean((model.predict(X[200:]) - m[200:]) ** 2)
    # Chosen and weighed at the training rows alone.
    K = model.kernel_(X, X[:200])
    design, limit = DenseDesign(np.ascontiguousarray(K[:200])), {"max_columns": 60, "enough": 0.0}
    index = choose_columns(design, np.ones(200), m[:200], intercept=True, **limit)[60]
    A = np.column_stack([K[:, index], np.ones(400)])
    nearest = A @ np.linalg.lstsq(A[:200], m[:200], rcond=None)[0]
    assert apart < np.mean((nearest[200:] - m[200:]) ** 2) / 2


@pytest.mark.slow
def test_error_bars_of_additive_kernels_grow_away_from_the_rows():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(120, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=120)
    model = LaconicRegressor("additive").fit(X, y)
    near, far = (model.predict_dist(scale * X)[1].mean() for scale in (1.0, 4.0))
    assert far > 2 * near


def with_codes(n, seed=0):
    """Return rows whose first two features are codes, and values that depend on them."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(8, size=n), rng.integers(3, size=n)
    X = np.column_stack([first, second, rng.normal(size=(n, 2))]).astype(float)
    level = np.array([1.0, -1.0, 0.2, 0.8, -0.7, 0.5, -0.4, 1.2])
    return X, level[first] + np.sin(2 * X[:, 2]) * (second == 1) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("kind", [LaconicClassifier, LaconicRegressor])
def test_categories_are_compared_for_equality(kind, tmp_path):
    X, y = with_codes(600)
    y = y if kind is LaconicRegressor else y > 0.2
    numbers, model = (kind(categorical_features=given).fit(X[:200], y[:200]) for given in (None, [0, 1]))
    codes = model.kernel_.categories
    assert set(codes) <= {0, 1}
    assert codes[0] == pytest.approx({float(k): np.mean(X[:200, 0] == k) for k in range(8)})

    def loss(each):
        if kind is LaconicRegressor:
            return -each.log_density(X[200:], y[200:]).mean()
        return -each.predict_log_proba(X[200:])[np.arange(400), y[200:].astype(int)].mean()

    assert loss(model) < loss(numbers) + (0.01 if kind is LaconicClassifier else -0.05)
    pytest.importorskip("skops")
    save(model, tmp_path / "model.skops")
    new = np.where(np.arange(4) == 0, 77.0, X[200:])  # a code that has no effect
    np.testing.assert_array_equal(load(tmp_path / "model.skops").predict(new), model.predict(new))


@pytest.mark.parametrize("kind", [LaconicClassifier, LaconicRegressor])
def test_the_coding_of_categories_does_not_matter(kind):
    X, y = with_codes(200)
    renamed = X.copy()
    renamed[:, 0] = np.array([5.0, -1.0, 3.5, 100.0, 0.0, 7.0, 2.0, 9.0])[X[:, 0].astype(int)]
    model, found = kind(categorical_features=[0, 1]), []
    for rows in (X, renamed):
        data = model._fit_data(rows, y if kind is LaconicRegressor else y > 0.2, None)
        made, _ = TrainingRows.of(data, projection_task(data), intercept=True)
        found.append(Fits(made, Settings.of(model), fit_sparse).once(LearnAdditive(2)))
    assert {0, 1} <= set(found[0].columns) == set(found[1].columns)
    kernels = [each.kernel()(rows, rows) for each, rows in zip(found, (X, renamed), strict=True)]
    np.testing.assert_allclose(*kernels, rtol=1e-4, atol=1e-5)


def test_names_of_categories_and_what_is_no_feature():
    pandas = pytest.importorskip("pandas")
    X, y = with_codes(100)
    frame = pandas.DataFrame(X, columns=["colour", "size", "u", "v"])
    by_name = LaconicRegressor("additive", categorical_features=["colour"]).fit(frame, y)
    by_index = LaconicRegressor("additive", categorical_features=[0]).fit(X, y)
    np.testing.assert_array_equal(by_name.predict(frame), by_index.predict(X))
    for given in ([7], [-1], ["weight"], [True, False], 2.5, [0.0], [[0], [1, 2]]):
        with pytest.raises(ValueError, match="categorical_features must be names of features"):
            LaconicRegressor(categorical_features=given).fit(frame, y)
