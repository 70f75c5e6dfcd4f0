"""When one model is clearly better than another."""

import numpy as np
import pytest

from laconism.judging.compare import Rule, standard_error


def draw(seed, n=60, mean=0.2):
    rng = np.random.default_rng(seed)
    return rng.normal(mean, 1.0, size=n), rng.integers(1, 4, size=n).astype(float)


@pytest.mark.parametrize("seed", range(20))
def test_one_and_two_standard_errors_of_paired_differences(seed):
    gain, weight = draw(seed)
    centred = gain - np.average(gain, weights=weight)
    error = np.sqrt(weight @ centred**2)
    for errors in (1.0, 1.5, 2.0):
        assert Rule(errors=errors).prefers(gain, weight) == (weight @ gain > errors * error)


@pytest.mark.parametrize("seed", range(20))
def test_nats_and_errors_must_both_be_exceeded(seed):
    gain, weight = draw(seed)
    both = weight @ gain > np.log(1000) and Rule(errors=1.0).prefers(gain, weight)
    assert Rule(np.log(1000), 1.0).prefers(gain, weight) == both


@pytest.mark.parametrize("seed", range(5))
def test_nats_alone_need_only_the_total(seed):
    gain, weight = draw(seed)
    total = float(weight @ gain)
    for nats in (total - 1e-6, total + 1e-6):
        rule = Rule(nats)
        assert rule.prefers(gain, weight) == rule.prefers_total(total) == (total > nats)


def test_equal_models_are_never_preferred():
    weight = np.ones(10)
    for rule in (Rule(), Rule(nats=1.0), Rule(errors=2.0)):
        assert not rule.prefers(np.zeros(10), weight)


def test_an_error_that_is_there_in_any_case_adds_in_quadrature():
    gain, weight = draw(0)
    error = standard_error(gain, weight)
    assert standard_error(gain, weight, 3.0) == pytest.approx(np.sqrt(error**2 + 9))
    # Rows that all agree leave only that error.
    same = np.full(10, 0.1)
    assert Rule(errors=2.0).prefers(same, np.ones(10), 0.49)
    assert not Rule(errors=2.0).prefers(same, np.ones(10), 0.51)


def test_weight_two_is_a_row_repeated():
    gain, weight = draw(1)
    rows = np.repeat(gain, weight.astype(int))
    ones = np.ones(rows.size)
    assert standard_error(gain, weight) == pytest.approx(standard_error(rows, ones))
    for errors in (0.0, 1.0, 2.0):
        rule = Rule(1.0, errors)
        assert rule.threshold(gain, weight) == pytest.approx(rule.threshold(rows, ones))
        assert rule.prefers(gain, weight) == rule.prefers(rows, ones)


def test_a_score_that_is_a_sum_needs_as_many_times_the_nats():
    rule = Rule(2.0, 1.5).times(3)
    assert rule == Rule(6.0, 1.5)
