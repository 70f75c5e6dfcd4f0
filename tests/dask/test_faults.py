"""Workers that are killed, workers without data, a scheduler that is gone."""

import os
import signal
import warnings

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from laconism.dask import DaskSparseBayesClassifier
from laconism.priors import Laplace

N, P = 6_000, 5


@pytest.fixture
def three_workers():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            yield client


def lazily():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P))
    y = (X[:, 0] - X[:, 1] + rng.normal(size=N) > 0).astype(int)
    # Two partitions: a third worker has no data.
    return da.from_array(X, chunks=(N // 2, P)), da.from_array(y, chunks=N // 2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_changes_nothing(three_workers):
    settings = {"prior": Laplace(rate=5.0), "sample_rows": 600, "client": three_workers}
    whole = DaskSparseBayesClassifier(**settings).fit(*lazily())

    def kill_after(kind):
        killed = []

        def callback(record):
            if record.kind == kind and not killed:
                killed.append(three_workers.run(os.getpid))
                os.kill(next(iter(killed[0].values())), signal.SIGKILL)

        return callback, killed

    for kind in ("describe", "sample", "newton"):
        callback, killed = kill_after(kind)
        model = DaskSparseBayesClassifier(**settings, callbacks=callback).fit(*lazily())
        assert killed
        np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-8)


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_is_gone_ends_the_fit():
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        client = Client(cluster)

        def close(record):
            if record.kind == "sample":
                cluster.close()

        model = DaskSparseBayesClassifier(sample_rows=600, client=client, callbacks=close)
        with pytest.raises(ConnectionError, match="scheduler"):
            model.fit(*lazily())
        assert not hasattr(model, "local_")
        client.close()
