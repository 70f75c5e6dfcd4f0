"""What docs/guide/dask_cost.md says of passes and bytes is what fits record."""

import warnings

import numpy as np
import pytest

pytest.importorskip("dask.dataframe", reason="these estimators need dask")
distributed = pytest.importorskip("distributed", reason="these estimators need distributed")

import dask.array as da  # noqa: E402

from laconism.dask import (  # noqa: E402
    DaskLaconicClassifier,
    DaskSparseBayesClassifier,
    DaskSparseBayesRegressor,
)

N_PARTS = 6
SMALL = 2_000  # bytes of a pass that do not depend on its size, for each partition


@pytest.fixture(scope="module")
def here():
    """A cluster of two threads in this process, where bytes are counted as on machines."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        threads = {"processes": False, "threads_per_worker": 1, "dashboard_address": None}
        with (
            distributed.LocalCluster(n_workers=2, **threads) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client


def newton_bytes(k, p, *, outputs=1, kernels=False, mapped=False):
    """The bytes of a Newton pass: sums, columns and points, and the triangle of mapped kernels."""
    sums = 8 * outputs * (k + 2) ** 2
    columns = 8 * k * ((p if kernels else 0) + 2) + 8 * k**2 * mapped
    points = 8 * outputs * 2 * k
    return N_PARTS * (sums + columns + points + SMALL)


def check_bytes(k, c, *, outputs=1):
    """The bytes of a check of features: slopes, products and squares of all candidates, kept columns."""
    sums = 8 * outputs * (c * (k + 3) + (k + 1) ** 2)
    return N_PARTS * (sums + 8 * 2 * c + 8 * 2 * k * (1 + outputs) + SMALL)


def features(n, p, n_relevant):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    f = X[:, :n_relevant] @ rng.normal(size=n_relevant)
    return X, f, rng


def parts(values):
    return da.from_array(values, chunks=(-(-len(values) // N_PARTS), *values.shape[1:]))


def kinds(model):
    return [record.kind for record in model.history_]


def test_a_sparse_classifier_of_features(here):
    X, f, rng = features(6_000, 60, 40)
    y = f + rng.logistic(size=6_000) > 0
    model = DaskSparseBayesClassifier("gaussian", client=here, sample_rows=1_500).fit(parts(X), parts(y))
    assert kinds(model)[:2] == ["describe", "sample"]
    newton = model.history_[2:]
    assert {record.kind for record in newton} == {"newton"}  # up to 300 features: no check
    assert 3 <= len(newton) <= 8
    for record in newton:
        assert record.active == 60
        assert record.bytes == pytest.approx(newton_bytes(60, 60), rel=0.2)
    assert model.history_[1].bytes == pytest.approx(1_500 * (8 * 60 + 25), rel=0.2)


def test_values_take_one_newton_pass(here):
    X, f, rng = features(6_000, 60, 40)
    y = f + rng.normal(size=6_000)
    model = DaskSparseBayesRegressor(client=here, sample_rows=1_500).fit(parts(X), parts(y))
    assert kinds(model) == ["describe", "sample", "newton"]
    assert model.history_[2].bytes == pytest.approx(newton_bytes(60, 60), rel=0.2)


def test_more_than_300_features_take_a_check_for_each_round(here):
    X, f, rng = features(2_400, 400, 8)
    y = f + rng.normal(size=2_400)
    model = DaskSparseBayesRegressor(client=here, sample_rows=600).fit(parts(X), parts(y))
    assert kinds(model)[:4] == ["describe", "sample", "newton", "check"]
    newton, check = model.history_[-2:]
    assert (newton.kind, check.kind) == ("newton", "check")  # the last check found nothing
    assert newton.active < 20
    assert check.bytes == pytest.approx(check_bytes(newton.active, 400), rel=0.2)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_flagship_on_labels(here, n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6_000, 2))
    f = 3 * np.sin(3 * X[:, 0]) + X[:, 1] ** 2 - 1 + rng.logistic(size=6_000)
    y = np.digitize(f, [0.0] if n_classes == 2 else [-1.0, 1.0])
    model = DaskLaconicClassifier(client=here, sample_rows=1_000).fit(parts(X), parts(y))
    assert kinds(model)[:2] == ["describe", "sample"]
    newton = model.history_[2:]
    assert {record.kind for record in newton} == {"newton"}  # no check of inducing rows
    assert 3 <= len(newton) <= 8
    first = newton[0]
    outputs = 1 if n_classes == 2 else n_classes
    assert first.active >= 30  # or constants would be most of it
    sizes = [
        newton_bytes(first.active, 2, outputs=outputs, kernels=True, mapped=mapped)
        for mapped in (False, True)
    ]
    assert any(first.bytes == pytest.approx(size, rel=0.2) for size in sizes), (first.bytes, sizes)
