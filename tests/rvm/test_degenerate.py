"""Degenerate data and odd units: every model stays finite."""

import numpy as np
import pytest
from sklearn.base import clone

from laconism import GridRVMClassifier, GridRVMRegressor, RVMClassifier, RVMRegressor
from laconism.priors import Jeffreys
from laconism.rvm.evidence import Sequential, TopDownEvidence
from laconism.rvm.variational import Variational
from laconism.solvers import Problem, solve
from rvm_problems import COMBINE, make_problem

REGRESSORS = {
    "sequential": RVMRegressor(None, inference="sequential"),
    "evidence": RVMRegressor(None, inference="evidence"),
    "variational": RVMRegressor(None, inference="variational"),
    "vb": RVMRegressor(None, inference="variational", solver="vb"),
    "product": GridRVMRegressor((2, 3)),
    "sum": GridRVMRegressor((2, 3), combine="sum"),
    "kernel": RVMRegressor(gamma=0.3),
    "variational kernel": RVMRegressor(gamma=0.3, inference="variational"),
}
CLASSIFIERS = {
    "sequential": RVMClassifier(None, inference="sequential"),
    "evidence": RVMClassifier(None, inference="evidence"),
    "variational": RVMClassifier(None, inference="variational"),
    "vb": RVMClassifier(None, inference="variational", solver="vb"),
    "probit": RVMClassifier(None, likelihood="probit"),
    "variational probit": RVMClassifier(None, likelihood="probit", inference="variational"),
    "product": GridRVMClassifier((2, 3)),
    "sum": GridRVMClassifier((2, 3), combine="sum"),
    "kernel": RVMClassifier(gamma=0.3),
    "variational kernel": RVMClassifier(gamma=0.3, inference="variational"),
}


def take(table, name, **changes):
    return clone(table[name]).set_params(**changes)


def is_fine(model, X):
    """Everything that is published or predicted is finite."""
    for name in ("coef_", "dual_coef_", "intercept_"):
        assert np.isfinite(getattr(model, name, 0.0)).all()
    assert all(np.isfinite(record.objective) for record in model.history_)
    if hasattr(model, "predict_proba"):
        P = model.predict_proba(X)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)
        assert (P >= 0).all()
    else:
        mean, std = model.predict_dist(X)
        assert np.isfinite(mean).all()
        assert np.isfinite(std).all()
        assert (std >= 0).all()


def data(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, X[:, 0] - 2 * X[:, 4] + 0.3 * rng.normal(size=n)


def odd(name):
    """Return rows and targets that break something if anything can be broken."""
    X, y = data()
    if name == "zero columns":
        X[:, [1, 3]] = 0.0
    elif name == "nothing but zeros":
        X[:] = 0.0
    elif name == "constant columns":
        X[:, [1, 3]] = 7.0
    elif name == "duplicated columns":
        X[:, 3:] = X[:, :3]
        y = X[:, 0] - X[:, 1] + 0.3 * data(seed=1)[1]
    elif name == "duplicated rows":
        X, y = np.tile(X[:5], (6, 1)), np.tile(y[:5], 6)
    elif name == "two rows":
        X, y = X[:2], np.array([-1.0, 1.0])
    elif name == "three rows":
        X, y = X[:3], np.array([-1.0, 1.0, 0.5])
    elif name == "separable":
        y = X[:, 0].copy()
    elif name == "scarcely separable":
        X[:, 0] = np.where(X[:, 0] > 0, 1.0, -1.0)
        y = X[:, 0].copy()
    elif name == "noise":
        y = np.random.default_rng(9).normal(size=30)
    elif name == "far away":
        X = X + 1e6
    elif name == "one is different":
        y = np.r_[np.ones(1), -np.ones(29)]
    return X, y


ODD = [
    "zero columns",
    "nothing but zeros",
    "constant columns",
    "duplicated columns",
    "duplicated rows",
    "two rows",
    "three rows",
    "separable",
    "scarcely separable",
    "noise",
    "far away",
    "one is different",
]


@pytest.mark.slow
@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("name", REGRESSORS)
def test_odd_regressions(name, case):
    X, y = odd(case)
    is_fine(take(REGRESSORS, name).fit(X, y), X)


@pytest.mark.slow
@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_odd_classifications(name, case):
    X, y = odd(case)
    is_fine(take(CLASSIFIERS, name).fit(X, y > 0), X)


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.0, 3.0, -1e8, 1e-8])
@pytest.mark.parametrize("name", REGRESSORS)
def test_a_constant_target_is_predicted(name, value):
    X, _ = data()
    model = take(REGRESSORS, name).fit(X, np.full(30, value))
    is_fine(model, X)
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-5, atol=1e-300)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ["sequential", "evidence", "variational", "vb", "product", "sum"])
def test_one_column(name, intercept):
    X, y = data()
    X = X[:, [4]]
    changes = {"fit_intercept": intercept}
    if name in COMBINE:
        changes["grid_shape"] = (1, 1)
    model = take(REGRESSORS, name, **changes).fit(X, y)
    is_fine(model, X)
    assert np.ravel(model.coef_)[0] == pytest.approx(-2.0, abs=0.5)
    is_fine(take(CLASSIFIERS, name, **changes).fit(X, y > 0), X)


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_one_row_per_class(name):
    X, _ = data(n=3)
    model = take(CLASSIFIERS, name).fit(X, ["a", "b", "c"])
    is_fine(model, X)


@pytest.mark.parametrize(
    "solver", [Variational(), Variational(solver="vb"), TopDownEvidence(), Sequential()]
)
@pytest.mark.parametrize("kind", ["logistic", "probit"])
def test_labels_of_one_kind_without_an_intercept_are_finite(kind, solver):
    problem = make_problem(kind, 20, 4, intercept=False)
    y = np.ones(20)
    state = solve(
        Problem(problem.design, y, problem.likelihood, Jeffreys(), np.ones(20), False),
        solver,
        max_iter=100,
        tol=1e-6,
    ).state
    assert np.isfinite(state.w).all()
    assert np.isfinite(state.objective)


def tight(name):
    """Return how to end; the paper's update would take too long, but takes the same way in any units."""
    return {"tol": 1e-5 if name == "vb" else 1e-10, "max_iter": 3000}


SCALES = [1e-8, 1e8]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", ["sequential", "evidence", "variational", "vb", "product", "sum"])
def test_units_of_the_target_do_not_matter(name, scale):
    X, y = data()
    plain, scaled = (take(REGRESSORS, name, **tight(name)).fit(X, c * y) for c in (1.0, scale))
    coef = np.ravel(plain.coef_)
    np.testing.assert_allclose(
        np.ravel(scaled.coef_) / scale, coef, rtol=1e-6, atol=1e-6 * np.abs(coef).max()
    )
    assert scaled.intercept_ / scale == pytest.approx(plain.intercept_, rel=1e-6, abs=1e-6)
    assert scaled.noise_variance_ / scale**2 == pytest.approx(plain.noise_variance_, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("table", [REGRESSORS, CLASSIFIERS], ids=["regression", "classes"])
@pytest.mark.parametrize("name", ["sequential", "evidence", "variational", "vb", "product", "sum"])
def test_units_of_the_columns_do_not_matter(name, table, scale):
    X, y = data()
    y = y if table is REGRESSORS else y + 2 * np.random.default_rng(1).normal(size=30) > 0
    plain, scaled = (take(table, name, **tight(name)).fit(c * X, y) for c in (1.0, scale))
    coef = np.ravel(plain.coef_)
    np.testing.assert_allclose(
        np.ravel(scaled.coef_) * scale, coef, rtol=1e-6, atol=1e-6 * np.abs(coef).max()
    )
    np.testing.assert_allclose(scaled.intercept_, plain.intercept_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["variational", "vb"])
@pytest.mark.parametrize("table", [REGRESSORS, CLASSIFIERS], ids=["regression", "classes"])
def test_units_of_single_columns_do_not_matter(name, table):
    """Features 1e16 apart: under one first precision for all, those in large units are never heard."""
    X, y = data()
    y = y if table is REGRESSORS else y + 2 * np.random.default_rng(1).normal(size=30) > 0
    units = np.logspace(-8, 8, X.shape[1])
    plain, scaled = (take(table, name, **tight(name)).fit(c * X, y) for c in (1.0, units))
    coef = np.ravel(plain.coef_)
    assert np.abs(coef).max() > 0.1
    np.testing.assert_allclose(
        np.ravel(scaled.coef_) * units, coef, rtol=1e-6, atol=1e-6 * np.abs(coef).max()
    )


@pytest.mark.slow
def test_many_classes_of_features_in_different_units():
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=240)
    X = rng.normal(size=(240, 6)) + 3 * rng.normal(size=(6, 6))[y]
    plain, scaled = (
        RVMClassifier(None, inference="variational")
        .fit(units * X[:120], y[:120])
        .score(units * X[120:], y[120:])
        for units in (1.0, np.logspace(-8, 8, 6))
    )
    assert plain > 0.85
    assert scaled == pytest.approx(plain, abs=0.01)
