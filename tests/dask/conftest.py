"""One cluster of two worker processes for all tests here."""

import warnings

import pytest
from distributed import Client, LocalCluster


@pytest.fixture(scope="session")
def cluster():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            yield cluster


@pytest.fixture(scope="session")
def client(cluster):
    with Client(cluster) as client:
        yield client
