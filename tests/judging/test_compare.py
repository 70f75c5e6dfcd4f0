"""When one model is clearly better than another."""

from typing import NamedTuple

import numpy as np
import pytest

from laconism.judging.compare import Rule, choose, standard_error


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


class Fitted(NamedTuple):
    log_density: np.ndarray
    size: float = 1.0


class Candidate(NamedTuple):
    name: str
    fitted: Fitted | None


def chosen(rule, *log_densities):
    candidates = [
        Candidate(str(k), None if each is None else Fitted(np.asarray(each, dtype=float), k))
        for k, each in enumerate(log_densities)
    ]
    return choose(candidates, lambda candidate, champion: candidate.fitted, rule, np.ones(4))


def test_the_first_stays_unless_a_later_one_is_clearly_better():
    winner, trials = chosen(
        Rule(nats=2.0), np.zeros(4), np.full(4, 0.4), np.full(4, 0.6), np.full(4, 0.9)
    )
    assert winner.size == 2
    assert [trial.taken for trial in trials] == [True, False, True, False]
    assert [trial.won for trial in trials] == [False, False, True, False]
    assert [trial.against for trial in trials] == ["", "0", "0", "2"]
    np.testing.assert_allclose([trial.gain for trial in trials[1:]], [0.4, 0.6, 0.3])


def test_differences_are_paired():
    base = np.array([-9.0, 0.0, 5.0, 1.0])
    _, trials = chosen(Rule(errors=1.0), base, base + np.array([0.1, 0.12, 0.09, 0.11]))
    assert trials[1].won
    assert trials[1].gain_error < 0.01 < trials[1].log_density_error


def test_a_candidate_that_does_not_apply_is_in_the_table_without_numbers():
    winner, trials = chosen(Rule(), None, np.zeros(4), None)
    assert winner.size == 1
    assert [np.isnan(trial.gain) for trial in trials] == [True, True, True]
    assert [trial.won for trial in trials] == [False, True, False]
    with pytest.raises(ValueError, match="no candidate"):
        chosen(Rule(), None)
