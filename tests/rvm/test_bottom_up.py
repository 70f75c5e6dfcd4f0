"""The gain of a column against the evidence itself."""

from dataclasses import replace

import numpy as np
import pytest

import reference_rvm as naive
from laconism.design import DenseDesign
from laconism.laplace.mode import find_mode
from laconism.rvm.evidence_steps import _dissimilar, evidence_gains
from rvm_problems import make_problem


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("inside", [0, 1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_worth_is_what_a_column_adds_to_the_evidence(seed, inside, intercept):
    problem = make_problem("fixed", 25, 12, intercept=intercept, weight="counts", seed=seed, scale=0.5)
    rows = np.repeat(np.arange(25), problem.weight.astype(int))
    Phi, y = problem.design.matrix[rows], problem.y[rows]
    rng = np.random.default_rng(seed)
    alpha = np.full(12, np.inf)
    alpha[:inside] = 10 ** rng.uniform(-1, 1, size=inside)
    mode = find_mode(
        problem.keep(np.arange(inside)), alpha[:inside], problem.likelihood, np.zeros(inside), 0.0
    )

    def evidence(k, value):
        changed = np.where(np.arange(12) == k, value, alpha)
        return naive.log_evidence_gaussian(Phi, y, changed, 0.3, intercept)

    gain, best, _ = evidence_gains(mode, np.arange(inside), problem.design)
    now = evidence(0, alpha[0])
    assert mode.objective == pytest.approx(now, rel=1e-8)
    paid = 0
    for k in range(inside, 12):
        if np.isfinite(best[k]):
            paid += 1
            added = evidence(k, best[k])
            assert added - now == pytest.approx(gain[k], rel=1e-8, abs=1e-8 * abs(now))
            assert max(evidence(k, best[k] * 1.1), evidence(k, best[k] / 1.1)) < added
        else:
            assert gain[k] == 0
            assert max(evidence(k, 10.0**e) for e in range(-3, 6)) <= now + 1e-9
    assert paid or inside


def test_columns_that_promise_nothing_are_not_tried():
    design, r = DenseDesign(np.eye(5)), np.ones(5)
    chosen = _dissimilar(design, r, np.array([0.0, 1e-4, 3.0, 0.5, 1e-5]), np.ones(5), 5)
    np.testing.assert_array_equal(chosen, [2, 3])


def test_worth_of_more_columns_than_rows_span():
    """The solution is then known by the rows; what the others would add is the same."""
    problem = make_problem("fixed", 12, 30)
    inside = np.arange(20)
    mode = find_mode(problem.keep(inside), np.full(20, 0.5), problem.likelihood, np.zeros(20), 0.0)
    assert mode.ridge.dual is not None
    primal = mode.quadratic().ridge(1 / mode.alpha)
    gain, alpha, _ = evidence_gains(mode, inside, problem.design)
    by_columns, alpha_by_columns, _ = evidence_gains(replace(mode, ridge=primal), inside, problem.design)
    np.testing.assert_allclose(gain, by_columns)
    np.testing.assert_allclose(alpha, alpha_by_columns)
