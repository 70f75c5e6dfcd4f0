"""Compressed rows have the likelihood of all rows."""

from dataclasses import replace

import numpy as np
import pytest

from laconism.design import DenseDesign
from laconism.rvm.evidence import Sequential, TopDownEvidence
from laconism.rvm.qr_compress import qr_compress
from laconism.rvm.variational import Variational
from laconism.solvers import solve
from rvm_problems import TOP, make_problem


def check_compressed(problem, few):
    """Check that nothing that a regression is told about its rows has changed."""
    assert few.y.size == problem.design.shape[1] + 2
    one = [np.ones_like(each.y) for each in (problem, few)]
    for old, new in ((one[0], one[1]), (problem.y, few.y)):
        np.testing.assert_allclose(few.weight @ new**2, problem.weight @ old**2)
        seen = problem.design.rmatvec(problem.weight * old)
        atol = 1e-10 * np.abs(seen).max()
        np.testing.assert_allclose(few.design.rmatvec(few.weight * new), seen, atol=atol)
    np.testing.assert_allclose(few.weight @ few.y, problem.weight @ problem.y)
    gram = problem.design.gram(problem.weight)
    matrix = few.design.matrix
    np.testing.assert_allclose(
        matrix.T @ (few.weight[:, None] * matrix), gram, atol=1e-10 * np.abs(gram).max()
    )
    np.testing.assert_array_equal(few.design.gram(few.weight), gram)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weight", [None, "counts"])
@pytest.mark.parametrize("solver", [Sequential(), TopDownEvidence(), Variational()])
def test_rows_of_a_regression_are_compressed_into_few_of_the_same_likelihood(solver, weight, intercept):
    problem = make_problem("gaussian", 90, 12, intercept=intercept, weight=weight)
    few = qr_compress(problem)
    check_compressed(problem, few)
    many, other = (solve(each, solver, **TOP).state for each in (problem, few))
    assert other.objective == pytest.approx(many.objective, abs=1e-6)
    np.testing.assert_allclose(other.w, many.w, atol=1e-4 * np.abs(many.w).max())
    assert other.likelihood.noise == pytest.approx(many.likelihood.noise, rel=1e-4)


def test_columns_that_repeat_each_other_are_compressed_by_reflections():
    problem = make_problem("gaussian", 60, 5)
    twice = np.column_stack([problem.design.matrix, problem.design.matrix[:, :2], np.zeros(60)])
    problem = replace(problem, design=DenseDesign(twice))
    check_compressed(problem, qr_compress(problem))


@pytest.mark.parametrize(("kind", "n"), [("logistic", 90), ("gaussian", 20), ("gaussian", 10)])
def test_rows_stay_as_they_are_where_compressing_is_wrong_or_saves_nothing(kind, n):
    problem = make_problem(kind, n, 12)
    assert qr_compress(problem) is problem
