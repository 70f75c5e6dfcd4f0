"""What the flagship does if nobody says whether kernels or features: ``kernel="auto"``."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_moons

from laconic import LaconicClassifier, LaconicRegressor
from laconic.basis import KernelBasis
from laconic.cli.rivals import contenders
from laconic.interop import load, save
from laconic.kernels import RBF


def few_of_many(kind, *, n=50, p=110, n_classes=2, seed=0):
    """Return few rows of many features, three of which matter, and as many times ten rows for a test."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(11 * n, p))
    if kind is LaconicRegressor:
        y = X[:, :3] @ [2.0, -2.0, 1.0] + 0.5 * rng.normal(size=11 * n)
    elif n_classes == 2:
        y = (X[:, :3] @ [2.0, -2.0, 1.0] + 0.3 * rng.normal(size=11 * n) > 0).astype(int)
    else:
        y = (X[:, :n_classes] + 0.1 * rng.normal(size=(11 * n, n_classes))).argmax(axis=1)
    return X[:n], y[:n], X[n:], y[n:]


def shells(n=50, p=60, seed=0):
    """Return rows whose class is how far from the middle they are: no feature tells it by itself."""
    rng = np.random.default_rng(seed)
    far = rng.random(11 * n) < 0.5
    X = rng.normal(size=(11 * n, p)) * np.where(far, 1.4, 1.0)[:, None]
    return X[:n], far[:n].astype(int), X[n:], far[n:].astype(int)


@pytest.mark.parametrize("kind", [LaconicClassifier, LaconicRegressor])
def test_features_are_preferred_where_rows_are_few_for_them(kind):
    X, y, X_new, y_new = few_of_many(kind)
    model, kernels = kind().fit(X, y), kind(kernel="rbf").fit(X, y)
    assert model.score(X_new, y_new) > 0.8 > 0.7 > kernels.score(X_new, y_new)
    assert not hasattr(model, "dual_coef_")
    assert not hasattr(model, "kernel_")
    assert {0, 1} <= set(np.flatnonzero(model.get_support()))
    assert model.transform(X).shape[1] == model.n_relevant_ < 15
    assert "features" in model.status_.message
    np.testing.assert_array_equal(model.predict(X_new), kind(kernel=None).fit(X, y).predict(X_new))


def test_features_are_preferred_by_several_classes():
    X, y, X_new, y_new = few_of_many(LaconicClassifier, n=60, p=40, n_classes=3)
    model = LaconicClassifier().fit(X, y)
    assert model.coef_.shape == (3, 40)
    assert model.score(X_new, y_new) > 0.7 > LaconicClassifier("rbf").fit(X, y).score(X_new, y_new)


def test_kernels_are_taken_where_they_are_clearly_better():
    X, y, X_new, y_new = shells()
    model = LaconicClassifier().fit(X, y)
    assert hasattr(model, "dual_coef_")
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "transform")
    assert model.score(X_new, y_new) > 0.9
    by_name = LaconicClassifier("rbf").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X_new), by_name.predict_proba(X_new))


def test_who_is_not_the_first_choice_has_to_be_clearly_better(monkeypatch):
    X, y, _, _ = few_of_many(LaconicClassifier, n=60, p=40, seed=2)
    assert hasattr(LaconicClassifier().fit(X, y), "coef_")
    monkeypatch.setattr("laconic.estimators._laconic.CLEAR", np.inf)
    assert hasattr(LaconicClassifier().fit(X, y), "dual_coef_")
    X, y, _, _ = shells(n=20, p=50)
    assert hasattr(LaconicClassifier().fit(X, y), "coef_")


@pytest.mark.parametrize("kind", [LaconicClassifier, LaconicRegressor])
def test_features_do_not_compete_where_rows_suffice_or_a_width_was_given(kind):
    X, y = make_moons(60, noise=0.2, random_state=0)
    auto, by_name = kind().fit(X, y), kind("rbf").fit(X, y)
    np.testing.assert_array_equal(auto.predict(X), by_name.predict(X))
    wide, z, _, _ = few_of_many(kind)
    assert hasattr(kind(gamma=0.01).fit(wide, z), "dual_coef_")


@pytest.mark.parametrize("kind", [LaconicClassifier, LaconicRegressor])
def test_a_model_of_features_does_what_others_do(kind, tmp_path):
    X, y, X_new, _ = few_of_many(kind, n=40, p=90)
    model = kind().fit(X, y)
    said = model.predict(X_new)
    save(model, tmp_path / "model.skops")
    for other in (
        pickle.loads(pickle.dumps(model)),
        load(tmp_path / "model.skops"),
        model.slim(),
        model.with_kernels(model.n_relevant_),
    ):
        np.testing.assert_array_equal(other.predict(X_new), said)
        np.testing.assert_array_equal(other.get_support(), model.get_support())
    assert model.with_kernels(1).n_relevant_ == 1


@pytest.mark.parametrize("kind", [LaconicClassifier, LaconicRegressor])
def test_a_weight_is_a_repetition_where_features_compete(kind):
    X, y, X_new, _ = few_of_many(kind, n=40, p=90)
    times = np.random.default_rng(1).integers(1, 3, size=40)
    weighted = kind().fit(X, y, sample_weight=times)
    repeated = kind().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    says = "decision_function" if kind is LaconicClassifier else "predict"
    one, other = (getattr(model, says)(X_new) for model in (weighted, repeated))
    np.testing.assert_allclose(one, other, rtol=1e-7)


def test_another_fit_leaves_nothing_of_the_last():
    X, y, _, _ = few_of_many(LaconicClassifier, n=40, p=90)
    model = LaconicClassifier()
    assert not hasattr(model, "transform")
    assert hasattr(model.fit(X, y), "transform")
    model.fit(*make_moons(60, noise=0.2, random_state=0))
    assert not hasattr(model, "transform")
    assert not hasattr(model, "coef_")


def test_rows_left_out_are_strangers_to_weighed_features():
    # The weights of features are made by the rows: left out by a formula they were predicted with half
    # of the nats that new rows cost, and the model was too sure of itself.
    X, y = make_classification(1100, 500, n_informative=10, n_redundant=20, random_state=3001)
    model = LaconicClassifier("rbf").fit(X[:100], y[:100])
    assert model.feature_scales_.std() > 0
    reference, signs = model.reference_[0], 2.0 * y - 1
    seen = -reference.left_out(signs[:100]).mean()
    new = -reference.likelihood.predictive(signs[100:], *reference.latent(X[100:])).mean()
    assert abs(seen - new) < 0.1
    assert new < 0.6


def test_tables_count_what_a_model_keeps():
    (ours,) = contenders("classification", ("auto",), 0)
    X, y, _, _ = few_of_many(LaconicClassifier, n=40, p=90)
    assert ours.counted(ours.make().fit(X, y)) == "features"
    assert ours.counted(ours.make().fit(*make_moons(60, noise=0.2, random_state=0))) == "kernels"


def test_kernels_of_few_rows_with_many_features_are_evaluated_at_once(monkeypatch):
    X = np.random.default_rng(0).normal(size=(120, 150))
    calls, evaluate = [], RBF.__call__
    monkeypatch.setattr(RBF, "__call__", lambda *rows: calls.append(rows) or evaluate(*rows))
    kernel = RBF(gamma=1 / 150)
    found = KernelBasis.on_rows(kernel, X).factors(tol=1e-10, max_rank=120)
    assert len(calls) == 1
    np.testing.assert_allclose(found.G.T @ found.G, kernel(X, X), atol=1e-8)
