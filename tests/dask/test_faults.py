"""Workers that are killed, workers without data, a scheduler that is gone."""

import os
import signal
import threading
import warnings

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from laconism.dask import DaskSparseBayesClassifier
from laconism.priors import Laplace

# More than 300 features: those left out by the sample are checked on all rows.
N, P = 2_000, 320


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
    settings = {"prior": Laplace(rate=50.0), "sample_rows": 600, "client": three_workers}
    passes = []
    whole = DaskSparseBayesClassifier(**settings, callbacks=lambda record: passes.append(record.kind))
    whole.fit(*lazily())
    assert "check" in passes

    def fit_and_kill(after):
        """Kill a worker a moment after a pass, so that the next one has begun."""
        seen, killed = [], []

        def kill():
            os.kill(next(iter(three_workers.run(os.getpid).values())), signal.SIGKILL)

        def callback(record):
            seen.append(record.kind)
            if len(seen) == after:
                killed.append(threading.Timer(0.01, kill))
                killed[0].start()

        model = DaskSparseBayesClassifier(**settings, callbacks=callback).fit(*lazily())
        killed[0].join()
        return model

    # Before the sample, before the first step, and before the check; that one is the pass that follows.
    for after in (passes.index("sample"), passes.index("newton"), passes.index("check")):
        np.testing.assert_allclose(fit_and_kill(after).coef_, whole.coef_, atol=1e-8)


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
