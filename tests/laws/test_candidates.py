"""The law of candidates: a left-out log density is that of a refit, whatever the order of the rows.

A few rows are left out here; ``python -m benchmarks run left_out`` leaves out all of them on many draws.
"""

import numpy as np
import pytest

from laconism.flagship.candidates import candidates_for
from laconism.flagship.law import candidate_fits
from laconism.testing import check_candidate

N, WIDE = 40, 70


def problem(kind, target, seed):
    p = WIDE if kind == "wide" else 3
    rng = np.random.default_rng([seed, p])
    X = rng.normal(size=(N, p))
    f = 1.5 * X[:, :3].sum(axis=1) if kind == "wide" else np.sin(2 * X[:, 0]) + X[:, 1]
    if kind == "long tails":
        X = np.exp(X)
        f = np.log(X[:, 0]) + np.log(X[:, 1])
    y = f + 0.5 * rng.normal(size=N)
    return X, np.where(y > 0, 1.0, -1.0) if target == "labels" else y


@pytest.mark.slow
@pytest.mark.parametrize("target", ["labels", "values"])
@pytest.mark.parametrize("kind", ["smooth", "long tails", "wide"])
def test_every_candidate_obeys_the_law(kind, target):
    X, y = problem(kind, target, seed=0)
    candidates = candidates_for(candidate_fits(X, y, np.ones(N)))
    assert len({each.name for each in candidates}) == len(candidates) > 1
    for candidate in candidates:
        check_candidate(candidate, X, y, n_refits=3)


def test_order_does_not_matter_where_rows_are_interpolated():
    """The kernel is wide and the noise small: sums of large numbers would lose the digits that count."""
    X, y = problem("wide", "values", seed=1)
    (rbf,) = (c for c in candidates_for(candidate_fits(X, y, np.ones(N))) if c.name == "rbf kernel")
    check_candidate(rbf, X, y, n_refits=1)
