"""Precisions of a signal-to-noise ratio of one."""

import numpy as np
import pytest

from laconism.design import DenseDesign
from laconism.laplace.first_precision import first_precision, own_precisions
from laconism.likelihoods import Gaussian
from laconism.priors import Jeffreys
from laconism.solvers import Problem


def test_a_column_that_never_changes_has_a_first_precision():
    X = np.column_stack([np.random.default_rng(0).normal(size=30), np.full(30, 1e8)])
    problem = Problem(DenseDesign(X), X[:, 0], Gaussian(), Jeffreys(), np.ones(30), True)
    found = own_precisions(problem, problem.empty())
    # The target is the column: its variance over that of the noise.
    assert found[0] == pytest.approx(1.0)
    assert found[1] == pytest.approx(first_precision(problem, problem.empty()))


def test_neither_units_of_columns_nor_of_targets_matter():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    units = np.array([1e-3, 1.0, 1e4])

    def own(X, y):
        problem = Problem(DenseDesign(X), y, Gaussian(), Jeffreys(), np.ones(40), True)
        return own_precisions(problem, problem.empty())

    np.testing.assert_allclose(own(X * units, 10 * y), own(X, y) * units**2 / 100, rtol=1e-9)
