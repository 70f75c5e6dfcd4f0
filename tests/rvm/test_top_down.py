"""The search from the full model down."""

from dataclasses import replace

import numpy as np
import pytest

from laconism import RVMClassifier, RVMRegressor
from laconism.datasets import make_ripley, make_sinc
from laconism.design import DenseDesign, FactoredDesign
from laconism.laplace.mode import find_mode
from laconism.likelihoods import Gaussian
from laconism.priors import Jeffreys
from laconism.rvm import evidence_steps as _top_down
from laconism.rvm.evidence import TopDownEvidence
from laconism.solvers import Problem


def test_the_full_model_is_left_without_the_last_digits_of_its_weights(monkeypatch):
    X, y = make_ripley(320, random_state=1)
    solved, compress = [], FactoredDesign.compress
    monkeypatch.setattr(FactoredDesign, "compress", lambda *args: solved.append(1) or compress(*args))
    evidence, count = [], []
    for exactly in (False, True):
        if exactly:
            monkeypatch.setattr(_top_down, "find_mode", lambda *args, gain=None: find_mode(*args))
        solved.clear()
        model = RVMClassifier(gamma=2.0, inference="evidence").fit(X, y)
        evidence.append(model.history_[-1].objective)
        count.append(len(solved))
    assert count[0] < 0.85 * count[1]
    assert evidence[0] == pytest.approx(evidence[1], abs=0.02)


def test_calm_updates_do_without_the_rows(monkeypatch):
    X, y = make_ripley(320, random_state=1)
    evidence, steps = [], []
    for more_updates in (_top_down._more_updates, lambda ridge, *same: same):
        monkeypatch.setattr(_top_down, "_more_updates", more_updates)
        model = RVMClassifier(gamma=2.0, inference="evidence").fit(X, y)
        evidence.append(model.history_[-1].objective)
        steps.append(model.n_iter_)
    assert steps[0] < steps[1]
    assert evidence[0] == pytest.approx(evidence[1], abs=0.02)


def test_very_many_columns_start_with_evenly_spaced_ones(monkeypatch):
    X, y = make_ripley(320, random_state=1)
    whole = RVMClassifier(gamma=2.0, inference="evidence").fit(X, y)
    monkeypatch.setattr("laconism.rvm.evidence._MAX_START_COLUMNS", 150)
    part = RVMClassifier(gamma=2.0, inference="evidence").fit(X, y)
    assert part.history_[0].active <= 107 < whole.history_[0].active  # every third of 320
    assert (part.relevance_ % 3).any()  # the others come in later
    assert part.history_[-1].objective == pytest.approx(whole.history_[-1].objective, abs=1.0)


def test_evidence_does_not_end_with_hundreds_of_kernels():
    """Seven say what they say, and the evidence of hundreds was a maximum that no deletion left."""
    X, y = make_sinc(2_000, random_state=1_025)
    model = RVMRegressor(gamma=1 / 18, inference="evidence").fit(X, y)
    assert model.n_relevant_ < 20


def test_a_regression_starts_with_room_but_not_without_noise():
    """All columns under less than the best precision, as long as what they leave tells of the noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=60)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 16)
    problem = Problem(DenseDesign(K), y, Gaussian(), Jeffreys(), np.ones(60), True, True)
    start = TopDownEvidence().init(problem).mode
    assert not start.noise_unidentified
    assert TopDownEvidence().init(replace(problem, kernels=False)).mode.alpha[0] < start.alpha[0]


def hills(n, seed=0):
    """Return rows, values and true values of a surface that few wide kernels make only together."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    f = np.sin(X[:, 0]) * np.cos(1.5 * X[:, 1])
    return X, f + 0.1 * rng.normal(size=n), f


@pytest.mark.parametrize("seed", range(3))
def test_weights_that_are_large_only_together_find_each_other(seed):
    X, y, f = hills(320, seed)
    model = RVMRegressor(inference="evidence").fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - f) ** 2)) < 0.05
    assert model.noise_variance_ == pytest.approx(0.01, rel=0.3)


def test_hundreds_of_columns_come_to_rest_too(monkeypatch):
    monkeypatch.setattr(_top_down, "FEW_COLUMNS", 2)
    X, y, _ = hills(120)
    model = RVMRegressor(inference="evidence", max_iter=150).fit(X, y)
    assert model.status_.converged
    assert model.n_relevant_ > 2
