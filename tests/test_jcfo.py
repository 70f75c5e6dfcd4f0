"""Weights and feature scales together."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from laconic import JCFOClassifier, JCFORegressor
from laconic.kernels import RBF, Linear, Polynomial
from laconic.likelihoods import Gaussian, Probit
from laconic.solvers.joint import (
    JointProblem,
    expectation_maximisation,
    project,
    variable_projection,
)


def product_of_two(n, p, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, p))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)


def question(kernel, n=30, p=4, likelihood=None, **settings):
    X, y = product_of_two(n, p)
    settings = {"weight_rate": 0.5, "scale_rate": 0.7, "intercept": True} | settings
    return JointProblem(kernel, X, X, [y], likelihood or Probit(), np.ones(n), **settings)


@pytest.mark.parametrize("kernel", [RBF(gamma=1.0), Polynomial(degree=2), Linear()])
@pytest.mark.parametrize("constant", [False, True])
def test_the_slope_is_the_derivative_of_the_projected_objective(kernel, constant):
    asked = question(kernel, intercept=not constant, constant=constant)
    theta = np.array([0.4, 0.3, 0.1, 0.2])
    found = project(asked, theta)
    assert any(output.w.any() for output in found.outputs), "there is something to differentiate"
    expected = approx_fprime(theta, lambda scales: project(asked, scales).value, 1e-6)
    slope = asked.slope(theta, found.outputs)
    np.testing.assert_allclose(slope, expected, rtol=1e-3, atol=1e-3)


def test_variable_projection_ends_no_higher_than_em():
    asked = question(RBF(gamma=1.0), n=60)
    start = np.full(4, 0.25)
    quick = variable_projection(asked, start, max_iter=200, tol=1e-10)
    slow = expectation_maximisation(asked, start, max_iter=50, tol=1e-6)
    assert quick.value <= slow.value + 1e-6
    assert (np.diff(slow.values) <= 1e-6).all(), "EM never raises the objective"


def test_scales_of_zero_are_optimal():
    asked = question(RBF(gamma=1.0), n=100, p=8)
    found = variable_projection(asked, np.full(8, 0.125), max_iter=200, tol=1e-12)
    slope = asked.slope(found.theta, found.outputs)
    out = found.theta == 0
    assert out.any()
    assert (slope[out] > -1e-3).all()
    np.testing.assert_allclose(slope[~out], 0.0, atol=1e-2)


@pytest.mark.parametrize("seed", [0, 1])
def test_two_features_that_matter_only_together_are_found(seed):
    X, y = product_of_two(250, 20, seed)
    model = JCFOClassifier().fit(X, y)
    assert set(model.feature_scales_.argsort()[-2:]) == {0, 1}
    kept = model.get_support().sum()
    assert kept <= 4  # a false one now and then, with next to no scale
    assert model.transform(X).shape == (250, kept)
    new, labels = product_of_two(1000, 20, 77)
    assert model.score(new, labels) > 0.93


def test_three_classes_share_their_features():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 10))
    y = np.digitize(X[:, 4], [-0.5, 0.5])
    model = JCFOClassifier().fit(X, y)
    assert model.feature_scales_.argmax() == 4
    assert model.score(X, y) > 0.9
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_screening_happens_inside():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 300))
    y = X[:, 7] > 0
    model = JCFOClassifier(screening=20).fit(X, y)
    assert model.feature_scales_[7] > 0
    assert np.count_nonzero(model.feature_scales_) <= 20


def test_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    y = 3 + np.sin(2 * X[:, 2]) + 0.1 * rng.normal(size=80)
    model = JCFORegressor(likelihood=Gaussian(0.01, estimate=False), max_iter=30).fit(X, y)
    assert model.feature_scales_.argmax() == 2
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"kernel": "matern"}, "kernel must be"),
        ({"weight_rate": 0}, "weight_rate must be a positive number"),
        ({"scale_rate": "none"}, "scale_rate must be a positive number or 'auto'"),
        ({"solver": "newton"}, "Unknown solver"),
        ({"screening": -1}, "screening must be"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(settings, sentence):
    X, y = product_of_two(30, 3)
    with pytest.raises(ValueError, match=sentence):
        JCFOClassifier(**settings).fit(X, y)
