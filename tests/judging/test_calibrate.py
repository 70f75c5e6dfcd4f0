"""Calibration: each number is the best of many, on left-out rows."""

import numpy as np
import pytest

from laconism.judging.calibrate import (
    fit_coupling,
    fit_scale_and_shift,
    has_rare_class,
    match_class_frequency,
    maximum_within,
    press_noise,
)
from laconism.likelihoods import Gaussian, Logistic, Probit
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


@pytest.mark.parametrize("likelihood", [Probit(), Logistic()], ids=str)
@pytest.mark.parametrize("free_intercept", [True, False])
def test_scale_and_shift_are_the_best_of_many(likelihood, free_intercept):
    rng = np.random.default_rng(0)
    b = -0.4 if free_intercept else 0.0
    m, v = b + rng.normal(size=300), rng.uniform(0.05, 0.5, size=300)
    y = np.where(2 * (m - b) + 0.3 + rng.normal(size=300) > 0, 1.0, -1.0)
    weight = rng.uniform(0.5, 2.0, 300)
    deviation = 0.5 * np.sqrt(1 + np.average(v, weights=weight))

    def nats(s, shift):
        moved = shift - (1 - s) * b  # of the intercept
        away = (np.log(s) / 0.3) ** 2 + (moved / deviation) ** 2
        return weight @ likelihood.predictive(y, s * m + shift, v) - 0.5 * away

    s, shift = fit_scale_and_shift(y, m, v, weight, likelihood, b, free_intercept=free_intercept)
    assert s > 1.2
    shifts = shift + np.array([-0.5, -0.03, 0.0, 0.03, 0.5]) if free_intercept else [0.0]
    assert (shift != 0) == free_intercept
    best = max(nats(scale, at) for scale in s * np.geomspace(0.5, 2.0, 13) for at in shifts)
    assert nats(s, shift) >= best - 1e-6


def test_few_rows_hardly_scale_or_shift():
    s, shift = fit_scale_and_shift(
        np.ones(1), np.zeros(1), np.ones(1), np.full(1, 1e-3), Probit(), 0.0, free_intercept=True
    )
    assert abs(s - 1) < 1e-3
    assert abs(shift) < 1e-2


@pytest.mark.parametrize("likelihood", [Probit(), Logistic()], ids=str)
def test_classes_may_be_swapped_and_a_weight_is_a_repetition(likelihood):
    rng = np.random.default_rng(1)
    m, v = rng.normal(size=40), rng.uniform(size=40)
    y, times = np.where(m + rng.normal(size=40) > 0, 1.0, -1.0), rng.integers(1, 4, size=40)
    found = [
        fit_scale_and_shift(*rows, likelihood, b, free_intercept=True)
        for rows, b in (
            ((y, m, v, times.astype(float)), 0.3),
            ((-y, -m, v, times.astype(float)), -0.3),
            ((*(np.repeat(each, times) for each in (y, m, v)), np.ones(times.sum())), 0.3),
        )
    ]
    np.testing.assert_allclose(found[1], np.array(found[0]) * [1, -1], rtol=1e-6)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-6)


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
