"""The lasso of a quadratic, and the certificate, where rounding is larger than the rate."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from laconism import JCFORegressor, SparseBayesClassifier, SparseBayesRegressor
from laconism.likelihoods import Gaussian
from laconism.priors import Laplace
from laconism.solvers import Problem, proximal


def extreme(seed, n=60, p=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=n), 10 ** rng.uniform(-12, 12, n)


@pytest.mark.parametrize("seed", range(5))
def test_lasso_of_an_ill_conditioned_quadratic_ends(seed, monkeypatch):
    """Slopes of 1e12 have roundings of 1e-4, which no step brings to 1e-10 of the rate."""
    solves = []

    def count(*args, solve=proximal._direction):
        solves.append(1)
        return solve(*args)

    monkeypatch.setattr(proximal, "_direction", count)
    rng = np.random.default_rng(seed)
    Phi, W = (
        np.exp(-((rng.normal(size=(60, 1)) - rng.normal(size=60)) ** 2)),
        10 ** rng.uniform(0, 14, 60),
    )
    H, c, rate = (Phi.T * W) @ Phi, Phi.T @ (W * rng.normal(size=60)), np.ones(60)
    eps = np.finfo(float).eps
    w = proximal.lasso_quadratic(H, c, rate, np.zeros(60), rounding=eps)
    assert len(solves) <= 5 * 60
    again, size = proximal.lasso_quadratic(H, c, rate, w, rounding=eps), np.abs(w)
    value, lower = (v @ H @ v / 2 - c @ v + np.abs(v).sum() for v in (w, again))
    rounding = eps * (size @ np.abs(H) @ size + np.abs(c) @ size)
    assert value < 0
    assert lower >= value - 100 * rounding


@pytest.mark.parametrize("kind", [SparseBayesRegressor, SparseBayesClassifier])
@pytest.mark.parametrize("seed", range(10))
def test_certificate_with_extreme_weights(kind, seed):
    """The rate is nothing beside the rounding of such slopes, so standard errors are the unit."""
    X, y, weight = extreme(seed)
    y = y if kind is SparseBayesRegressor else y > 0
    model = kind(prior="laplace").fit(X, y, sample_weight=weight)
    residual = float(re.search(r"(\S+) of the rate(?: or| \()", str(model.status_)).group(1))
    assert residual <= 0.1


def test_joint_model_with_extreme_weights(monkeypatch):
    """It takes some times as many solves as without weights, not a thousand times."""
    solves = []

    def count(*args, solve=proximal._direction):
        solves.append(1)
        return solve(*args)

    monkeypatch.setattr(proximal, "_direction", count)
    X, y, weight = extreme(0)
    JCFORegressor().fit(X, y)
    plain = len(solves)
    model = JCFORegressor().fit(X, y, sample_weight=weight)
    assert len(solves) - plain <= 50 * plain
    assert np.isfinite(model.predict_dist(X)).all()


def test_cosines_of_columns_whose_squares_cancel():
    """The squares of factored columns are sums, which may fall below zero by a rounding."""
    design = SimpleNamespace(
        square_rmatvec=lambda weight: np.array([-1e-20, 4.0]),
        gram_rows=lambda index, weight: np.array([[0.0, 4.0]]),
    )
    problem = Problem(design, np.ones(3), Gaussian(), Laplace(), np.ones(3), intercept=False)
    np.testing.assert_allclose(problem.cosines(1), [0.0, 1.0])
