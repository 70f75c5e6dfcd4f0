"""Orders of rows and folds that depend neither on the order of rows and columns nor on units."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from laconism.judging.folds import balanced_folds
from laconism.judging.rows import canonical_order, evenly_spaced, row_keys


@pytest.fixture
def shuffled():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40).astype(float)
    return X, y, rng.permutation(40)


@pytest.mark.parametrize("n_targets", [0, 1, 2])
def test_the_order_of_shuffled_rows_is_the_same(shuffled, n_targets):
    X, y, order = shuffled
    targets = [y, np.sin(X[:, 0])][:n_targets]
    ours = canonical_order(X, *targets)
    theirs = canonical_order(X[order], *(target[order] for target in targets))
    np.testing.assert_array_equal(np.sort(ours), np.arange(40))
    np.testing.assert_array_equal(ours, order[theirs])


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_may_be_permuted_and_in_other_units(shuffled, sparse):
    X, y, _ = shuffled
    Z = X[:, [2, 0, 1]] * [1e-6, -1.0, 1e6]
    X, Z = (csr_array(X), csr_array(Z)) if sparse else (X, np.add(Z, [1.0, -20.0, 3e6]))
    np.testing.assert_array_equal(canonical_order(Z, y), canonical_order(X, y))
    for one, other in zip(row_keys(X), row_keys(Z), strict=True):
        np.testing.assert_allclose(other, one, atol=1e-8)


def test_rows_are_sorted_by_the_first_target_then_by_distance(shuffled):
    X, y, _ = shuffled
    order = canonical_order(X, y)
    assert (np.diff(y[order]) * np.sign(0.5 - y.mean()) >= 0).all()  # the rare label is last
    distance = (((X - X.mean(axis=0)) / X.std(axis=0)) ** 2).sum(axis=1)[order]
    for label in (0, 1):
        assert (np.diff(distance[y[order] == label]) >= 0).all()


def test_the_sign_of_a_target_does_not_matter(shuffled):
    X, y, _ = shuffled
    for target in (y, np.exp(X[:, 0]), -np.exp(X[:, 0])):
        np.testing.assert_array_equal(canonical_order(X, 3.0 - 2.0 * target), canonical_order(X, target))


def test_constant_features_have_no_effect(shuffled):
    X, y, _ = shuffled
    more = np.column_stack([np.full(40, 7.0), X])
    np.testing.assert_array_equal(canonical_order(more, y), canonical_order(X, y))
    assert all(np.isfinite(key).all() for key in row_keys(np.ones((5, 2))))


def test_evenly_spaced_rows_keep_both_ends():
    order = np.arange(100)[::-1]
    few = evenly_spaced(order, 5)
    assert few.size == 5
    assert (few[0], few[-1]) == (99, 0)
    assert evenly_spaced(order, 1000).size == 100


def folds_of(X, y, n_folds=10):
    """Return the fold of each row; each is left out once."""
    folds = balanced_folds(X, y, n_folds)
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(y.size))
    of = np.empty(y.size, dtype=int)
    for number, out in enumerate(folds):
        of[out] = number
    return of


def test_folds_leave_out_every_row_once_and_duplicates_together(shuffled):
    X, y, _ = shuffled
    of = folds_of(np.vstack([X, X[:7]]), np.append(y, y[:7]))
    np.testing.assert_array_equal(of[40:], of[:7])


def test_folds_have_similar_targets(shuffled):
    X, y, _ = shuffled
    counts = np.bincount(folds_of(X, y, 5), weights=y)
    assert np.ptp(counts) <= 1
    means = np.bincount(folds_of(X, X[:, 0], 5), weights=X[:, 0]) / 8
    assert np.ptp(means) < 0.5 * X[:, 0].std()


def test_folds_do_not_depend_on_the_order_of_rows_and_columns(shuffled):
    X, y, order = shuffled
    of = folds_of(X, y)
    np.testing.assert_array_equal(folds_of(X[order][:, ::-1], y[order]), of[order])


def test_there_are_no_more_folds_than_rows():
    assert len(balanced_folds(np.arange(6.0)[:, None], np.arange(6.0), 10)) == 6
    assert len(balanced_folds(np.ones((5, 2)), np.ones(5), 10)) == 5  # too few different rows
