"""The maximum of the evidence, from both directions."""

import mpmath
import numpy as np
import pytest
from sklearn.linear_model import ARDRegression

import reference_rvm as naive
from laconism import RVMClassifier, RVMRegressor
from laconism.datasets import make_ripley, make_sinc
from laconism.design import DenseDesign
from laconism.likelihoods import Gaussian, Logistic
from laconism.priors import Jeffreys
from laconism.rvm.evidence import Sequential, TopDownEvidence
from laconism.rvm.evidence_steps import evidence_gains
from laconism.rvm.maximize_precisions import LocalEvidence
from laconism.solvers import Problem, solve
from rvm_problems import LIKELIHOODS, TOP, make_problem


def all_alphas(state):
    """Return the precision of every column, infinite where it is out."""
    alpha = np.full(state.w.size, np.inf)
    alpha[state.active] = state.mode.alpha
    return alpha


def naive_evidence(problem, state):
    """Return the reference's log evidence at our precisions; a row of weight k is k rows."""
    rows = np.repeat(np.arange(len(problem.y)), problem.weight.astype(int))
    Phi, y, alpha = problem.design.matrix[rows], problem.y[rows], all_alphas(state)
    if isinstance(problem.likelihood, Logistic):
        return naive.laplace_log_evidence(Phi, y, alpha, problem.intercept)
    return naive.log_evidence_gaussian(Phi, y, alpha, state.likelihood.noise, problem.intercept)


@pytest.mark.slow
@pytest.mark.parametrize("solver", [Sequential(), TopDownEvidence()], ids=["sequential", "evidence"])
@pytest.mark.parametrize("kind", ["gaussian", "fixed", "logistic"])
@pytest.mark.parametrize("shape", [(60, 10), (15, 40)], ids=["tall", "wide"])
def test_the_objective_is_the_log_evidence(shape, kind, solver):
    for seed in range(3):
        for intercept in (False, True):
            weight = None if kind == "gaussian" and shape[0] < shape[1] else "counts"
            problem = make_problem(kind, *shape, intercept=intercept, weight=weight, seed=seed)
            state = solve(problem, solver, **TOP).state
            assert state.objective == pytest.approx(naive_evidence(problem, state), rel=1e-8)
            first = solver.init(problem)
            assert first.objective == pytest.approx(naive_evidence(problem, first), rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [False, True])
def test_the_log_evidence_of_next_to_no_noise(intercept):
    """Rows that repeat themselves exactly: the noise is at its floor, and doubles lose four digits."""
    problem = make_problem("gaussian", 10, 20, intercept=intercept, weight="counts")
    state = solve(problem, Sequential(), **TOP).state
    assert state.likelihood.noise < 1e-9
    rows = np.repeat(np.arange(10), problem.weight.astype(int))
    with mpmath.workdps(50):
        Phi = mpmath.matrix(problem.design.matrix[np.ix_(rows, state.active)].tolist())
        y, one = mpmath.matrix(problem.y[rows].tolist()), mpmath.ones(rows.size, 1)
        C = Phi * mpmath.diag([1 / mpmath.mpf(a) for a in state.mode.alpha]) * Phi.T
        C += mpmath.mpf(state.likelihood.noise) * mpmath.eye(rows.size)
        inverse = C**-1
        value = -(rows.size * mpmath.log(2 * mpmath.pi) + mpmath.log(mpmath.det(C))) / 2
        value -= (y.T * inverse * y)[0] / 2
        if intercept:
            total = (one.T * inverse * one)[0]
            value += (one.T * inverse * y)[0] ** 2 / total / 2 + mpmath.log(2 * mpmath.pi / total) / 2
        assert state.objective == pytest.approx(float(value), rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_evidence_is_at_its_maximum(seed, intercept):
    problem = make_problem("gaussian", 40, 6, intercept=intercept, seed=seed, scale=0.3)
    _, _, best = naive.maximise_evidence_gaussian(problem.design.matrix, problem.y, intercept, starts=4)
    for solver in (Sequential(), TopDownEvidence()):
        state = solve(problem, solver, **TOP).state
        assert abs(state.objective - best) <= 1e-3 * max(1.0, abs(best))


@pytest.mark.parametrize("kind", ["gaussian", "logistic", "probit"])
@pytest.mark.parametrize("seed", range(6))
def test_sequential_and_evidence_agree_on_features(seed, kind):
    problem = make_problem(kind, 80, 12, seed=seed, scale=0.3)
    up, down = (solve(problem, solver, **TOP).state for solver in (Sequential(), TopDownEvidence()))
    assert up.objective == pytest.approx(down.objective, rel=1e-3)
    assert set(up.active) == set(down.active)
    np.testing.assert_allclose(up.w, down.w, rtol=0, atol=5e-2 * np.abs(up.w).max())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3_000, 3_004))
@pytest.mark.parametrize("n", [50, 100])
@pytest.mark.parametrize("kind", ["sinc", "ripley"])
def test_sequential_and_evidence_agree_on_a_small_problem_with_kernels(kind, n, seed):
    """Each way has its own maxima, up to 17 nats apart; a small problem is solved from both ends."""
    make, table = (make_sinc, RVMRegressor) if kind == "sinc" else (make_ripley, RVMClassifier)
    X, y = make(n, random_state=seed)
    gamma = 1 / 18 if kind == "sinc" else 2.0
    up, down = (table(gamma=gamma, inference=how).fit(X, y) for how in ("sequential", "evidence"))
    assert abs(up.history_[-1].objective - down.history_[-1].objective) <= 1e-3


def test_more_columns_than_observations_are_not_searched_from_both_ends(monkeypatch):
    """The other end of such a problem may be a model without noise, of boundless evidence."""
    monkeypatch.setattr("laconism.rvm.evidence.full_model", None)
    state = solve(make_problem("gaussian", 10, 20), Sequential(), **TOP).state
    assert not state.compared


@pytest.mark.parametrize("solver", [Sequential(), TopDownEvidence()], ids=["sequential", "evidence"])
@pytest.mark.parametrize("kind", ["gaussian", "logistic"])
def test_no_column_would_pay_for_itself_in_the_end(kind, solver):
    """With kernels there are many maxima; either way ends at one."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-4, 4, size=60))
    f = np.sinc(x) * 3
    y = f + 0.3 * rng.normal(size=60) if kind == "gaussian" else np.where(f > 0.3, 1.0, -1.0)
    K = np.exp(-0.5 * (x[:, None] - x) ** 2)
    problem = Problem(DenseDesign(K), y, LIKELIHOODS[kind], Jeffreys(), np.ones(60), True)
    state = solve(problem, solver, **TOP).state
    gain, _, _ = evidence_gains(state.mode, state.active, problem.design)
    gain[state.active] = 0.0
    assert gain.max() <= 0.5
    assert LocalEvidence.at(state.mode.quadratic(), state.mode.alpha).prunable().size == 0


@pytest.mark.parametrize("seed", range(4))
def test_ard_regression_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 10))
    w = np.r_[2.0, -1.5, 1.0, np.zeros(7)]
    y = X @ w + 0.7 + 0.5 * rng.normal(size=100)
    theirs = ARDRegression(max_iter=1000, tol=1e-8).fit(X, y)
    at_theirs = naive.log_evidence_gaussian(X, y, theirs.lambda_, 1 / theirs.alpha_, True)
    for solver in (Sequential(), TopDownEvidence()):
        problem = Problem(DenseDesign(X), y, Gaussian(), Jeffreys(), np.ones(100), True)
        state = solve(problem, solver, **TOP).state
        assert state.objective >= at_theirs - 1e-6
        np.testing.assert_allclose(state.w[:3], theirs.coef_[:3], atol=0.02)
        np.testing.assert_allclose(X @ state.w + state.b, theirs.predict(X), atol=0.1)
        assert state.likelihood.noise == pytest.approx(1 / theirs.alpha_, rel=0.02)
