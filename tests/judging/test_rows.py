"""Orders of rows and folds that do not depend on the order in which rows are given."""

import numpy as np
import pytest

from laconism.judging.folds import tenths
from laconism.judging.rows import canonical_order, evenly_spaced, groups_by_target, order_by_distance


@pytest.fixture
def shuffled():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40).astype(float)
    return X, y, rng.permutation(40)


def test_orders_are_those_of_shuffled_rows(shuffled):
    X, y, order = shuffled
    codes = y.astype(int)
    np.testing.assert_array_equal(X[canonical_order(X)], X[order][canonical_order(X[order])])
    ours, theirs = order_by_distance(X, codes), order_by_distance(X[order], codes[order])
    np.testing.assert_array_equal(X[ours], X[order][theirs])


def test_evenly_spaced_rows_keep_both_ends():
    order = np.arange(100)[::-1]
    few = evenly_spaced(order, 5)
    assert few.size == 5
    assert (few[0], few[-1]) == (99, 0)
    assert evenly_spaced(order, 1000).size == 100


def test_tenths_leave_out_every_row_once_and_duplicates_together(shuffled):
    X, y, _ = shuffled
    X, y = np.vstack([X, X[:7]]), np.append(y, y[:7])
    folds = list(tenths(X, y))
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(47))
    of = np.empty(47, dtype=int)
    for number, out in enumerate(folds):
        of[out] = number
    np.testing.assert_array_equal(of[40:], of[:7])
    group = groups_by_target(X, y)
    assert group.max() + 1 == 40
    assert not list(tenths(np.ones((5, 2)), np.ones(5)))  # all rows are one
