"""Newton's method for the precisions against finite differences."""

import numpy as np
import pytest

from laconism.design import DenseDesign
from laconism.linalg import Quadratic
from laconism.rvm import maximize_precisions as _maximize
from laconism.rvm.maximize_precisions import LocalEvidence, maximize_precisions
from rvm_problems import make_problem


def quadratic_of(n=40, p=5, seed=0):
    """Return a quadratic with all columns well determined, and its best precisions."""
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(n, p))
    y = Phi @ rng.uniform(0.5, 2.0, size=p) + 0.5 * rng.normal(size=n)
    quadratic = Quadratic.of(DenseDesign(Phi), np.full(n, 4.0), y, intercept=True)
    alpha, kept = maximize_precisions(quadratic, np.ones(p), tol=1e-12)
    assert kept.size == p
    return quadratic, alpha


def central(function, at, h):
    """Return the derivative of a function of a vector by central differences, last axis the vector's."""
    steps = h * np.eye(at.size)
    return np.stack([(function(at + e) - function(at - e)) / (2 * h) for e in steps], axis=-1)


@pytest.mark.parametrize("seed", range(4))
def test_the_slope_of_the_evidence(seed):
    rng = np.random.default_rng(seed)
    quadratic, alpha = quadratic_of(seed=seed)
    at = np.log(alpha) + rng.normal(size=alpha.size)
    here = LocalEvidence.at(quadratic, np.exp(at))
    slope = 0.5 * (here.well_determined - here.alpha * here.answer.weights**2)
    numeric = central(lambda t: LocalEvidence.at(quadratic, np.exp(t)).value, at, 1e-5)
    np.testing.assert_allclose(slope, numeric, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_newtons_step_is_that_of_finite_differences(seed):
    rng = np.random.default_rng(seed)
    quadratic, best = quadratic_of(seed=seed)
    at = np.log(best) + 0.03 * rng.normal(size=best.size)

    def slope(t):
        return central(lambda u: LocalEvidence.at(quadratic, np.exp(u)).value, t, 1e-4)

    H = central(slope, at, 1e-3)
    values = np.linalg.eigvalsh(-H)
    assert values.min() > 1e-3 * values.max()  # no direction has the least curvature
    step = LocalEvidence.at(quadratic, np.exp(at)).newton()
    np.testing.assert_allclose(step, np.linalg.solve(-H, slope(at)), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(at + step, np.log(best), atol=0.01)  # the error squares


@pytest.mark.parametrize("seed", range(4))
def test_newtons_step_goes_uphill_anywhere(seed):
    rng = np.random.default_rng(seed)
    quadratic, best = quadratic_of(seed=seed)
    here = LocalEvidence.at(quadratic, best * np.exp(rng.uniform(-8, 8, size=best.size)))
    slope = 0.5 * (here.well_determined - here.alpha * here.answer.weights**2)
    assert slope @ here.newton() > 0
    assert np.abs(here.newton()).max() <= 3 + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_prunable_columns_are_those_that_are_better_gone(seed):
    """Their evidence rises all the way to an infinite precision, that of the others does not."""
    problem = make_problem("fixed", 30, 8, seed=seed, scale=0.3)
    quadratic = Quadratic.of(problem.design, np.full(30, 1 / 0.3), problem.y, intercept=True)
    alpha = np.full(8, 3.0)
    here = LocalEvidence.at(quadratic, alpha)
    prunable = set(here.prunable())
    for k in range(8):
        gone = LocalEvidence.at(quadratic, np.where(np.arange(8) == k, 1e12, alpha)).value
        values = [
            LocalEvidence.at(quadratic, np.where(np.arange(8) == k, 10.0**e, alpha)).value
            for e in np.linspace(-4, 8, 49)
        ]
        assert (k in prunable) == (max(values) <= gone + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_newtons_step_is_a_triangle_where_the_evidence_is_concave(seed, monkeypatch):
    quadratic, best = quadratic_of(seed=seed)
    here, there = LocalEvidence.at(quadratic, best), LocalEvidence.at(quadratic, best * 1e4)
    step = there.newton()
    assert np.isfinite(step).all()

    def no_eigenvalues(matrix):
        raise AssertionError

    monkeypatch.setattr(_maximize, "symmetric_eigen", no_eigenvalues)
    assert np.abs(here.newton()).max() < 1e-2
    with pytest.raises(AssertionError):
        there.newton()
