"""Prices of columns, in nats."""

import numpy as np
import pytest

from laconism.judging.price import (
    AKAIKE_NATS,
    JEFFREYS_NATS,
    bic,
    extended_bic,
    prior_price,
    selection_price,
)
from laconism.priors import Jeffreys


def test_jeffreys_prior_drops_a_weight_at_two_standard_errors():
    # The fixed point of its ridge problem, w = t - w / w^2 in standard errors, exists from t = 2 on.
    assert prior_price(Jeffreys()) == JEFFREYS_NATS == 2**2 / 2


@pytest.mark.parametrize("n_columns", [100, 10_000])
def test_a_stricter_prior_has_a_higher_price(n_columns):
    strict = Jeffreys().bind(n_columns, kernel=False)
    strength = 1 / float(strict.variance(np.ones(1))[0])
    assert prior_price(strict) == pytest.approx(JEFFREYS_NATS * strength)
    assert prior_price(strict) >= prior_price(Jeffreys())


def test_the_criteria_are_the_textbook_ones():
    assert AKAIKE_NATS == 1
    assert bic(100.0) == pytest.approx(np.log(100) / 2)
    assert extended_bic(100.0, 500) == pytest.approx(np.log(500) + np.log(100) / 2)
    assert extended_bic(100.0, 500, 3) == pytest.approx(np.log(500) + 3 * np.log(100) / 2)
    assert extended_bic(100.0, 1) == bic(100.0)  # nothing to choose among


def test_a_weight_unlike_all_others_pays_for_that():
    alike, uneven = np.full(9, 300.0), np.array([30.0, 60, 90, 120, 200, 300, 400, 600, 900])
    assert alike.mean() == uneven.mean()
    small, own = np.array([16.0]), 9
    beside = {
        name: selection_price(np.r_[others, small], own, 500)
        for name, others in (("alike", alike), ("uneven", uneven))
    }
    # log(491 / 10) nats of search, log(4) of size, and what the sizes of the others say.
    assert beside["alike"] > beside["uneven"] + 1.5
    assert selection_price(np.r_[alike, 300.0], own, 500) < beside["alike"] - 1.5
    assert selection_price(small, 0, 500) == pytest.approx(np.log(500 * 0.7 * np.sqrt(17)))


def test_a_column_chosen_among_more_pays_more():
    t_squared = np.array([40.0, 50.0, 60.0])
    prices = [selection_price(t_squared, 0, p) for p in (10, 100, 1000)]
    np.testing.assert_allclose(np.diff(prices), np.log([98 / 8, 998 / 98]))
