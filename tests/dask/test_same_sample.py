"""Fits on a cluster equal those on partitions of arrays that start from the same sample."""

import dask.array as da
import numpy as np
import pytest

import laconism.dask
from laconism.partitions.describe import describe
from laconism.partitions.parts import LocalPartitions
from laconism.partitions.sample import draw_sample
from laconism.partitions.start import PartitionedRows

SIZE, N, SAMPLE = 1_000, 4_000, 800


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("DaskSparseBayesClassifier", {}),
        ("DaskSparseBayesClassifier", {"kernel": "rbf"}),
        ("DaskSparseBayesRegressor", {"kernel": "rbf"}),
        ("DaskRVMClassifier", {}),
        ("DaskRVMRegressor", {}),
        ("DaskLaconicClassifier", {}),
        ("DaskLaconicRegressor", {}),
    ],
)
def test_a_cluster_and_arrays_agree(client, name, settings):
    cls = getattr(laconism.dask, name)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=N)
    y = (y > 0).astype(int) if name.endswith("Classifier") else y
    model = cls(**settings, sample_rows=SAMPLE, client=client)
    model.fit(da.from_array(X, chunks=(SIZE, 2)), da.from_array(y, chunks=SIZE))
    local = cls._twin(**settings)
    partitions = LocalPartitions(X, y, np.ones(N), size=SIZE)
    description = describe(partitions, classifies=local._task.classifies)
    sample = draw_sample(partitions, description, SAMPLE)
    rows = PartitionedRows(partitions, description)
    cls._fit_partitions(local, local._fit_data(*sample[:3]), rows)
    np.testing.assert_array_equal(model.relevance_, local.relevance_)
    if name.endswith("Classifier"):
        found, expected = model.to_local().predict_proba(X), local.predict_proba(X)
    else:
        found, expected = (np.stack(each.predict_dist(X)) for each in (model.to_local(), local))
    np.testing.assert_allclose(found, expected, atol=1e-6)
