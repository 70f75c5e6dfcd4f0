"""Many fits at once: the answers of one after the other, and BLAS is as it was before."""

import multiprocessing
import os
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from threadpoolctl import threadpool_info, threadpool_limits

import laconism
from laconism.datasets import make_ripley, make_sinc
from laconism.model.threads import one_blas_thread

LABELS = make_ripley(40, random_state=0)
VALUES = make_sinc(40, random_state=0)
MODELS = {
    "flagship": lambda: laconism.LaconicClassifier(weigh_features=False, max_kernels=8),
    "sparse": lambda: laconism.SparseBayesClassifier(kernel="rbf"),
    "rvm": lambda: laconism.RVMRegressor(),
    "grid": lambda: laconism.GridRVMClassifier(),
    "jcfo": lambda: laconism.JCFOClassifier(max_iter=20),
    "search": lambda: laconism.SparseBayesRegressorCV(shapes=(0.5, 1.0), cv=3),
}


def answer(name):
    """Fit and predict; the bytes say whether two answers are the same to the bit."""
    model = MODELS[name]()
    X, y = LABELS if hasattr(model, "predict_proba") else VALUES
    with warnings.catch_warnings():  # of a process or a thread of its own
        warnings.simplefilter("ignore")
        model.fit(X, y)
    said = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict_dist(X)
    return np.asarray(said).tobytes()


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.fixture
def two_threads():
    """BLAS with two threads, so that a limit that stays is seen on any machine."""
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        yield
        assert blas_threads() == before


@pytest.fixture(scope="module")
def serial():
    return {name: answer(name) for name in MODELS}


@pytest.mark.filterwarnings("ignore")  # filters belong to the process: threads change them at once
def test_eight_threads_say_what_one_says(serial, two_threads):
    names = [name for name in MODELS for _ in range(2)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(answer, names))
    assert [name for name, said in zip(names, found, strict=True) if said != serial[name]] == []


def test_one_model_predicts_in_eight_threads(two_threads):
    X, y = LABELS
    model = laconism.RVMClassifier().fit(X, y)
    expected = model.predict_proba(X)
    with ThreadPoolExecutor(8) as pool:
        for said in pool.map(model.predict_proba, [X] * 40):
            np.testing.assert_array_equal(said, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_says_what_its_parent_says(serial, two_threads):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(answer, ["sparse", "rvm"]) == [serial["sparse"], serial["rvm"]]


def test_other_processes_say_the_same(serial):
    models = {name: MODELS[name]() for name in ("rvm", "grid")}
    fits = (delayed(models[name].fit)(*(VALUES if name == "rvm" else LABELS)) for name in models)
    rvm, grid = Parallel(n_jobs=2, backend="loky")(fits)
    assert np.asarray(rvm.predict_dist(VALUES[0])).tobytes() == serial["rvm"]
    assert grid.predict_proba(LABELS[0]).tobytes() == serial["grid"]


def test_workers_of_a_cluster_say_the_same(serial):
    distributed = pytest.importorskip("distributed", reason="clusters need dask")
    quiet = {"processes": False, "dashboard_address": ":0", "n_workers": 2, "threads_per_worker": 2}
    with distributed.LocalCluster(**quiet) as cluster, distributed.Client(cluster) as client:
        found = client.gather(client.map(answer, ["sparse", "rvm", "grid"]))
    assert found == [serial[name] for name in ("sparse", "rvm", "grid")]


# ---- the limit ----------------------------------------------------------------------------------


def test_limits_that_overlap_are_restored(two_threads):
    """The first to enter leaves first: the last to leave restores what was before both."""
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}, "a fit is still running"
    second.__exit__(None, None, None)
    assert set(blas_threads()) == {2}


def test_limits_of_many_threads_are_restored(two_threads):
    together = threading.Barrier(8)

    def enter():
        together.wait()
        for _ in range(50):
            with one_blas_thread():
                pass

    threads = [threading.Thread(target=enter) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(blas_threads()) == {2}


@pytest.mark.parametrize("name", ["SparseBayesClassifier", "RVMRegressor", "LaconicRegressor"])
def test_an_error_inside_a_fit_restores_the_limit(two_threads, name):
    def fail(record):
        raise RuntimeError("stop here")

    model = getattr(laconism, name)(callbacks=fail)
    X, y = LABELS
    with pytest.raises(RuntimeError, match="stop here"):
        model.fit(X, y)
    assert set(blas_threads()) == {2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_during_a_fit_is_not_limited_for_good(two_threads):
    """The fit goes on in the parent only; after its own fit the child has the threads of before."""
    with one_blas_thread(), multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(_limit_and_restore) == [1, 2]


def _limit_and_restore():
    with one_blas_thread():
        inside = max(blas_threads())
    return [inside, max(blas_threads())]
