"""Calibration: each number is the best of many, on left-out rows."""

import numpy as np
import pytest

from laconism.judging.calibrate import (
    fit_coupling,
    fit_mean_scale,
    has_rare_class,
    match_class_frequency,
    maximum_within,
    press_noise,
)
from laconism.likelihoods import Gaussian, Probit
from laconism.model.multiclass import couple


def answers(n=200, classes=4, seed=0):
    """Return log p and log (1 - p) of each class against the rest, and classes drawn from them."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.98, size=(n, classes))
    codes = np.array([rng.choice(classes, p=row / row.sum()) for row in p])
    return np.log(p), np.log1p(-p), codes


@pytest.mark.parametrize("seed", range(3))
def test_the_best_coupling_is_the_best_of_many(seed):
    yes, no, codes = answers(seed=seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(codes))

    def nats(c):
        picked = couple(yes, no, c)[np.arange(len(codes)), codes]
        return weight @ picked - 0.5 * (c - 0.5) ** 2

    best = fit_coupling(yes, no, codes, weight)
    grid = np.linspace(0, 10, 401)
    assert nats(best) >= max(nats(c) for c in grid) - 1e-9


def test_classes_that_never_touch_do_not_carry_it_away():
    codes = np.arange(30) % 3
    yes = np.where(codes[:, None] == np.arange(3), -1e-3, -7.0)
    assert 0 <= fit_coupling(yes, np.log1p(-np.exp(yes)), codes, np.ones(30)) <= 10


def test_press_residuals_have_their_expected_size():
    rng = np.random.default_rng(0)
    error, variance, weight = rng.normal(size=50), rng.uniform(size=50), rng.uniform(size=50)
    noise = press_noise(error, variance, weight, 1e-6)
    assert weight @ (error**2 / (noise + variance)) == pytest.approx(weight.sum())
    assert press_noise(error, variance, weight, 2 * noise) == 2 * noise


@pytest.mark.parametrize(("peak", "expected"), [(-3.0, 0.0), (0.7, 0.7), (9.0, 2.0)])
def test_a_maximum_stays_within_its_bounds(peak, expected):
    assert maximum_within(lambda at: peak - at, 0.0, 2.0) == pytest.approx(expected)


def test_the_best_scale_of_means_is_the_best_of_many():
    rng = np.random.default_rng(0)
    f = rng.normal(size=300)
    y, m, v = np.where(2 * f + rng.normal(size=300) > 0, 1.0, -1.0), f, np.full(300, 0.1)
    weight = rng.uniform(0.5, 2.0, 300)

    def nats(s):
        return weight @ Probit().predictive(y, s * m, v) - 0.5 * (np.log(s) / 0.3) ** 2

    best = fit_mean_scale(y, m, v, weight, Probit())
    assert best > 1.2
    assert nats(best) >= max(nats(s) for s in np.geomspace(0.5, 4.0, 200)) - 1e-6


def test_a_rare_class_is_expected_as_often_as_it_occurs():
    y = np.where(np.arange(500) < 5, 1.0, -1.0)
    m, v, weight = np.where(y > 0, -1.0, -3.0), np.full(500, 30.0), np.ones(500)
    assert has_rare_class(y, weight, Probit())
    assert not has_rare_class(y[:50], weight[:50], Probit())
    assert not has_rare_class(y, weight, Gaussian())
    factor = match_class_frequency(y, m, v, weight, Probit())
    assert 0 < factor < 1
    assert np.exp(Probit().predictive(np.ones(500), m, factor * v)).sum() == pytest.approx(5, rel=1e-6)
    assert match_class_frequency(y, m, np.zeros(500), weight, Probit()) == 1.0  # nothing to reduce
