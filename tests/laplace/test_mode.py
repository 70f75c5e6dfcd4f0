"""The mode under given precisions, and the first precision."""

import numpy as np
import pytest

from laconism.design import DenseDesign
from laconism.laplace.first_precision import first_precision, own_precisions
from laconism.laplace.mode import find_mode
from laconism.likelihoods import Gaussian, Logistic, Probit
from laconism.linalg import ridge, ridge_primal
from laconism.priors import Jeffreys
from laconism.solvers import Problem


def test_a_column_that_never_changes_has_a_first_precision():
    X = np.column_stack([np.random.default_rng(0).normal(size=30), np.full(30, 1e8)])
    problem = Problem(DenseDesign(X), X[:, 0], Gaussian(), Jeffreys(), np.ones(30), True)
    found = own_precisions(problem, problem.empty())
    assert found[0] == pytest.approx(
        1.0
    )  # the target is the column: its variance over that of the noise
    assert found[1] == pytest.approx(first_precision(problem, problem.empty()))


def test_the_mode_of_a_quadratic_takes_one_solve():
    rng = np.random.default_rng(0)
    Phi, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    problem = Problem(DenseDesign(Phi), y, Gaussian(0.5), Jeffreys(), np.ones(30), False)
    alpha, solves = np.array([0.5, 1.0, 2.0, 4.0]), []

    def counted(*args, **kwargs):
        solves.append(0)
        return ridge_primal(*args, **kwargs)

    mode = find_mode(problem, alpha, problem.likelihood, np.zeros(4), 0.0, solve=counted)
    explicit = np.linalg.solve(Phi.T @ Phi / 0.5 + np.diag(alpha), Phi.T @ y / 0.5)
    np.testing.assert_allclose(mode.w, explicit, rtol=1e-12)
    np.testing.assert_allclose(mode.f, Phi @ explicit, rtol=1e-12)
    assert len(solves) == 1


@pytest.mark.parametrize("likelihood", [Probit(), Logistic()], ids=lambda each: type(each).__name__)
def test_a_mode_far_out_is_reached_in_few_solves(likelihood):
    # Separable labels under a weak prior: the curvature gives way, and plain Newton steps are short.
    rng, solves = np.random.default_rng(0), []
    Phi = rng.normal(size=(80, 60))
    y, alpha = np.where(Phi[:, 0] > 0, 1.0, -1.0), np.full(60, 1e-3)
    problem = Problem(DenseDesign(Phi), y, likelihood, Jeffreys(), np.ones(80), True)

    def counted(*args, **kwargs):
        solves.append(1)
        return ridge(*args, **kwargs)

    mode = find_mode(problem, alpha, likelihood, np.zeros(60), 0.0, solve=counted)
    slope = likelihood.evaluate(y, mode.f)[1]
    np.testing.assert_allclose(Phi.T @ slope, alpha * mode.w, rtol=0, atol=1e-8)
    assert len(solves) <= 13  # plain steps: 16 of the probit, 15 of the logistic likelihood
