"""Data, models and comparisons that several tests of the flagship share."""

from functools import lru_cache

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.base import clone, is_classifier

from laconism import LaconicClassifier, LaconicRegressor
from laconism.design import DenseDesign
from laconism.flagship.build_path import PathBuilder
from laconism.flagship.fit import fit_laconic
from laconism.flagship.kernel_family import ReferenceFeatures
from laconism.flagship.projection import choose_columns
from laconism.flagship.search import Choice
from laconism.flagship.settings import Settings
from laconism.flagship.sparse_prior import fit_sparse
from laconism.laplace.first_precision import first_precision
from laconism.priors import Jeffreys
from laconism.solvers import Problem

KINDS = [LaconicClassifier, LaconicRegressor]


both = pytest.mark.parametrize("kind", KINDS)


def data(kind, n=40, seed=0):
    """Return a small problem: a ridge in the plane, noisy."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    f = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)
    return X, (f > 0).astype(int) if kind is LaconicClassifier else f


@lru_cache
def fitted(kind, n=80):
    """Return the data and the model with all defaults."""
    X, y = data(kind, n)
    return X, y, kind().fit(X, y)


def says(model, X):
    """Everything that the model says about X, which has to be finite and possible."""
    if is_classifier(model):
        proba = model.predict_proba(X)
        assert np.isfinite(model.decision_function(X)).all()
        assert np.isfinite(model.predict_log_proba(X)).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        assert set(model.predict(X)) <= set(model.classes_)
        return proba
    mean, std = model.predict_dist(X)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert (std > 0).all()
    np.testing.assert_array_equal(mean, model.predict(X))
    return np.column_stack([mean, std])


def check_survives(model, X, y, **fit_params):
    """A fit without a warning, whose every part is finite."""
    model.fit(X, y, **fit_params)
    assert all(np.isfinite(point.nats) and point.nats >= 0 for point in model.path_)
    assert model.status_.message
    says(model, X)
    m, v = model.reference_[0].latent(X)
    assert np.isfinite(m).all()
    assert (v >= 0).all()
    return model


def path_builder(model, X, y):
    """Return the builder of the path of a model that has been fitted to the same data."""
    model = clone(model)
    found = fit_laconic(Settings.of(model), model._fit_data(X, y, None), fit_sparse)
    fitted = found.winner.fitted
    return PathBuilder.of(fitted, range(len(fitted.references)), found.coupling, found.tolerance)


def nats_at_rows(model, X, y):
    """Return what the models on the path of a model lose at the training rows."""
    columns = model._paths[0].columns
    return path_builder(model, X, y).project(columns).nats


def nats(model, output=0):
    return np.array([point.nats for point in model.path_ if point.output == output])


def sizes(model, output=0):
    return [point.kernels for point in model.path_ if point.output == output]


def loss(T, r, z, subset, intercept):
    """What the best weights on these columns miss, in nats."""
    A = T[:, list(subset)]
    A = np.column_stack([A, np.ones(len(z))]) if intercept else A
    half = np.sqrt(r)
    if not A.shape[1]:
        return 0.5 * r @ z**2
    w = np.linalg.lstsq(half[:, None] * A, half * z, rcond=None)[0]
    return 0.5 * r @ (z - A @ w) ** 2


def columns_of(T, r, z, intercept=True, max_columns=20, enough=0.0):
    return choose_columns(
        DenseDesign(T), r, z, intercept=intercept, max_columns=max_columns, enough=enough
    )


def on_features(n_features, relative_precision, *, moments=False):
    """Return the hyper-parameters of a dense reference on the features themselves."""
    features = ReferenceFeatures(None, 1000, moments)
    return Choice(features, 0.0, np.ones(n_features), relative_precision, [None])


def root_mean_square(error):
    return float(np.sqrt(np.mean(error**2)))


def kernel_matrix(model, X, C, scale=None):
    """The kernel that the docstring promises: RBF on standardised features with their weights."""
    scale = (X.std(axis=0) if scale is None else scale) / np.sqrt(model.feature_scales_)
    return np.exp(-model.gamma_ * (((X / scale)[None, :, :] - (C / scale)[:, None, :]) ** 2).sum(axis=2))


def laplace(Phi, y, alpha, likelihood):
    """Newton's method on weights and intercept; mode, covariance and evidence but for a constant."""
    n, p = Phi.shape
    A = np.column_stack([Phi, np.ones(n)])
    penalty = np.diag(np.append(np.full(p, alpha), 0.0))
    x = np.zeros(p + 1)
    for _ in range(100):
        _, slope, curvature = likelihood.evaluate(y, A @ x)
        H = A.T @ (curvature[:, None] * A) + penalty
        step = np.linalg.solve(H, A.T @ slope - penalty @ x)
        x = x + step
        if np.abs(A @ step).max() < 1e-12:
            break
    log_p, _, curvature = likelihood.evaluate(y, A @ x)
    H = A.T @ (curvature[:, None] * A) + penalty
    evidence = log_p.sum() - 0.5 * x @ penalty @ x
    evidence += 0.5 * p * np.log(alpha) - 0.5 * np.linalg.slogdet(H)[1]
    return x, np.linalg.inv(H), evidence


def alpha_of(relative_precision, Z, y, likelihood):
    """Return the precision from its multiple of the unit."""
    problem = Problem(DenseDesign(Z), y, likelihood, Jeffreys(), np.ones(len(y)), True)
    return relative_precision * first_precision(problem, problem.empty())


def integrated(reference, X):
    """The probability of the reference, by quadrature."""
    m, v = reference.latent(X)
    nodes = np.linspace(-10, 10, 4001)
    weights = np.exp(-0.5 * nodes**2)
    return ndtr(m[:, None] + np.sqrt(v)[:, None] * nodes) @ weights / weights.sum()


def check_same(model, X, other, Z, rtol=1e-6):
    """Whether two models say the same."""
    assert model.n_relevant_ == other.n_relevant_
    np.testing.assert_array_equal(model.relevance_, other.relevance_)
    np.testing.assert_allclose(says(other, Z), says(model, X), rtol=rtol, atol=rtol)
