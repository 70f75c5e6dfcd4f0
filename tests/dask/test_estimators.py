"""Fits on a cluster equal local fits, for all kinds of data."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import is_classifier

import laconism.dask
from laconism import RVMClassifier, SparseBayesClassifier, SparseBayesRegressor
from laconism.dask import DaskRVMClassifier, DaskSparseBayesClassifier, DaskSparseBayesRegressor
from laconism.priors import Gaussian, Laplace
from laconism.testing import check_dask_estimator

N, P = 4_000, 6
ESTIMATORS = [name for name in laconism.dask.__all__ if name.startswith("Dask")]
UNEVEN = (0, 1, 399, 0, 600, 1_000, 50, 50, 100, 300, 500, 0, 200, 300, 400, 50, 50)


def data(seed=0, n=N, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, P)) + 2.0
    f = X[:, 0] - X[:, 1] + 0.3 * X[:, 2]
    noisy = f + rng.normal(size=n)
    return X, np.digitize(noisy, np.quantile(noisy, np.linspace(0, 1, classes + 1)[1:-1])), noisy


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.slow
def test_the_law(name, client):
    check_dask_estimator(getattr(laconism.dask, name)(), client)


@pytest.mark.parametrize("prior", [Laplace(rate=10.0), Gaussian(width=0.5)], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("classes", [2, 3, 0])
def test_convex_fits_equal_the_local_fit_of_all_rows(client, prior, classes):
    X, labels, values = data(classes=max(classes, 2))
    y = labels if classes else values
    weight = np.random.default_rng(1).integers(0, 3, size=N).astype(float)
    local = (SparseBayesClassifier if classes else SparseBayesRegressor)(prior=prior, tol=1e-12)
    local.fit(X, y, weight)
    twin = DaskSparseBayesClassifier if classes else DaskSparseBayesRegressor
    model = twin(prior=prior, tol=1e-12, sample_rows=500, client=client)
    lazily = [da.from_array(each, chunks=(UNEVEN, *each.shape[1:])) for each in (X, y, weight)]
    model.fit(*lazily)
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, local.intercept_, atol=1e-6)
    assert len(model.history_) <= 12


def as_array(X, y):
    return da.from_array(X, chunks=(700, 2)), da.from_array(y, chunks=1_100)


def as_sparse(X, y):
    rows = da.from_array(X, chunks=(700, P)).map_blocks(csr_matrix)
    return rows, da.from_array(y, chunks=700)


def as_single(X, y):
    return da.from_array(X.astype(np.float32), chunks=(700, P)), da.from_array(y, chunks=700)


def as_frame(X, y):
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(P)]).assign(y=y)
    lazy = dd.from_pandas(frame, npartitions=5)
    return lazy.drop(columns="y"), lazy["y"]


def with_unknown_chunks(X, y):
    rows, targets = as_frame(X, y)
    return rows.to_dask_array(), targets.to_dask_array()


@pytest.mark.parametrize(
    "kind",
    [as_array, as_sparse, as_single, as_frame, with_unknown_chunks],
    ids=lambda kind: kind.__name__,
)
def test_kinds_of_data(client, kind):
    X, y, _ = data()
    X = np.round(X)  # exact in single precision
    model = DaskSparseBayesClassifier(prior=Laplace(rate=10.0), tol=1e-12, sample_rows=500)
    rows, targets = kind(X, y)
    model.fit(rows, targets)
    local = SparseBayesClassifier(prior=Laplace(rate=10.0), tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-6)
    proba = np.asarray(model.predict_proba(rows).compute())
    np.testing.assert_allclose(proba, local.predict_proba(X), atol=1e-6)
    assert model.score(rows, targets) == pytest.approx(local.score(X, y))


def test_categories_become_columns(client):
    X, _, _ = data()
    rng = np.random.default_rng(3)
    group = rng.choice(["a", "b", "c"], size=N)
    y = np.where(X[:, 0] - 2 + 2.0 * (group == "b") + rng.normal(size=N) > 0.5, "yes", "no")
    frame = pd.DataFrame({"x": X[:, 0], "group": group, "y": y})
    lazy = dd.from_pandas(frame, npartitions=4)
    with pytest.raises(ValueError, match="'group' has the type"):
        DaskSparseBayesClassifier().fit(lazy[["x", "group"]], lazy["y"])
    unknown = lazy[["x", "group"]].astype({"group": "category"})
    with pytest.raises(ValueError, match="unknown categories"):
        DaskSparseBayesClassifier().fit(unknown, lazy["y"])
    known = unknown.categorize()
    model = DaskSparseBayesClassifier(prior=Laplace(rate=5.0), sample_rows=500).fit(known, lazy["y"])
    assert list(model.feature_names_in_) == ["x", "group=a", "group=b", "group=c"]
    assert model.coef_[0, 2] > 0.5
    encoded = laconism.dask.encode_categories(known).compute()
    np.testing.assert_array_equal(model.predict(known).compute(), model.to_local().predict(encoded))


def test_many_features_are_checked_by_all_rows(client):
    """More features than are summed at once: the optimality conditions are those of the local fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 400))
    y = (X[:, :40] @ np.linspace(0.4, 0.02, 40) + rng.normal(size=3_000) > 0).astype(int)
    local = SparseBayesClassifier(prior=Laplace(rate=30.0), tol=1e-12).fit(X, y)
    model = DaskSparseBayesClassifier(prior=Laplace(rate=30.0), tol=1e-12, sample_rows=400)
    model.fit(da.from_array(X, chunks=(1_000, 400)), da.from_array(y, chunks=1_000))
    assert "check" in [each.kind for each in model.history_]
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-6)
    f = model.to_local()._latents(X)[0][:, 0]
    slope = X.T @ local.likelihoods_[0].evaluate(np.where(y > 0, 1.0, -1.0), f)[1]
    assert np.abs(slope).max() <= 30.0 * (1 + 1e-4)  # the certificate, by all rows
    kept = model.coef_[0] != 0
    np.testing.assert_allclose(slope[kept], 30.0 * np.sign(model.coef_[0][kept]), rtol=1e-4)


def test_relevance_vector_machine_on_features(client):
    X, y, _ = data()
    model = DaskRVMClassifier(kernel=None, sample_rows=500, tol=1e-8, calibrate=False)
    model.fit(da.from_array(X, chunks=(700, P)), da.from_array(y, chunks=700))
    local = RVMClassifier(kernel=None, tol=1e-8, calibrate=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-4)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_missing_client_is_a_sentence(name):
    model = getattr(laconism.dask, name)(sample_rows=0)
    X, y, values = data(n=50)
    rows, targets = da.from_array(X), da.from_array(y if is_classifier(model) else values)
    with pytest.raises(ValueError, match="sample_rows must be 'auto' or a positive whole number"):
        model.fit(rows, targets)


def test_noise_with_heavy_tails_is_refused(client):
    X, _, y = data()
    rows, targets = da.from_array(X, chunks=(700, P)), da.from_array(y, chunks=700)
    with pytest.raises(ValueError, match="Sums over partitions determine Gaussian noise only"):
        DaskSparseBayesRegressor(likelihood="student", sample_rows=500).fit(rows, targets)
    with pytest.raises(ValueError, match="variational"):
        DaskRVMClassifier(inference="variational", sample_rows=500).fit(rows, targets > 0)


def test_balanced_classes_equal_the_local_fit(client):
    X, _, f = data()
    y = (f > 2.0).astype(int)
    model = DaskSparseBayesClassifier(Laplace(10.0), class_weight="balanced", tol=1e-12, sample_rows=500)
    model.fit(da.from_array(X, chunks=(700, P)), da.from_array(y, chunks=700))
    local = SparseBayesClassifier(Laplace(10.0), class_weight="balanced", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-6)
    assert model.to_local().class_weight == "balanced"
