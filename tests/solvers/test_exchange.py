"""Kept kernels make room for better ones."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit

from laconism import SparseBayesClassifier
from laconism.design import DenseDesign
from laconism.likelihoods import Gaussian, Logistic
from laconism.priors import GeneralizedGaussian, Jeffreys
from laconism.solvers import EM, Accelerated, Newton, Problem, exchange, may_exchange, solve
from laconism.solvers.exchange import _Candidates

RUN = {"max_iter": 500, "tol": 1e-8}


def wave(x):
    return 3 * np.sin(1.5 * x)


def draw(n, **options):
    """Return rows of one feature, and the problem of a kernel on each of them."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, size=n)
    y = np.where(rng.uniform(size=n) < expit(wave(x)), 1.0, -1.0)
    Phi = np.exp(-0.5 * (x[:, None] - x) ** 2)
    settings = {"prior": Jeffreys(strength=1), "intercept": False, "kernels": True, **options}
    return x, Problem(DenseDesign(Phi), y, Logistic(), weight=rng.uniform(0.5, 2, size=n), **settings)


def nearest(x, places):
    return np.sort([int(np.argmin(abs(x - place))) for place in places])


def answer_on(problem, columns):
    """Return what is found of these columns alone."""
    few, half = problem.keep(columns), problem.weight / 2
    Phi = few.design.matrix
    w = np.linalg.solve(Phi.T @ (half[:, None] / 2 * Phi), Phi.T @ (half * few.y))
    answer = solve(few, Newton(), start=few.state(w, 0.0, few.likelihood), **RUN)
    return replace(answer, active=columns[answer.active])


def best_quadratic(problem, state, columns):
    """Return the least squares that these columns reach where the likelihood is touched."""
    r = problem.weight * state.curvature
    z = state.f + state.slope / state.curvature
    A = problem.design.matrix[:, columns]
    if problem.intercept:
        A = np.column_stack([A, np.ones(len(r))])
    root = np.sqrt(r)
    rest = root * z - root[:, None] * A @ np.linalg.lstsq(root[:, None] * A, root * z, rcond=None)[0]
    return -rest @ rest / 2


@pytest.mark.parametrize("intercept", [False, True])
def test_the_nats_of_a_move_are_those_of_the_best_least_squares(intercept):
    x, problem = draw(30, intercept=intercept)
    answer = answer_on(problem, nearest(x, [-2.2, -0.4, 0.6, 2.4]))
    assert answer.active.size >= 3
    table, kept = _Candidates(problem, answer).table, answer.active
    now = best_quadratic(problem, answer.state, kept)

    def brings(out, candidate):
        columns = np.append(np.delete(kept, out), candidate)
        return best_quadratic(problem, answer.state, columns) - now

    # A candidate that the others can all but say is promised less than it would bring.
    plain = table.left > 2e-4 * table.own
    others = [c for c in np.flatnonzero(plain) if c not in kept]
    assert len(others) > 5
    gains = table.swaps()
    for candidate in others:
        for out in range(kept.size):
            assert gains[out, candidate] == pytest.approx(brings(out, candidate), abs=1e-4)


@pytest.mark.parametrize("intercept", [False, True])
def test_misplaced_kernels_are_exchanged_for_better_ones(intercept):
    x, problem = draw(300, intercept=intercept)
    poor = answer_on(problem, nearest(x, [-2.9, -1.0, 0.1, 2.0]))
    told = []
    better = exchange(problem, poor, Newton(), callback=told.append, **RUN)
    assert better.state.fit > poor.state.fit + 2
    assert better.active.size <= poor.active.size
    assert better.history == poor.history + told
    assert all(new.objective >= old.objective - 1e-9 for old, new in pairwise(better.history))
    assert [record.iteration for record in better.history] == list(range(1, len(better.history) + 1))
    np.testing.assert_array_equal(better.problem.design.matrix, problem.design.matrix[:, better.active])


def test_a_callback_stops_exchanges_and_a_spent_budget_forbids_them():
    x, problem = draw(300)
    poor = answer_on(problem, nearest(x, [-2.9, -1.0, 0.1, 2.0]))
    once = exchange(problem, poor, Newton(), callback=lambda record: True, **RUN)
    assert once.state.fit > poor.state.fit
    spent = exchange(problem, poor, Newton(), callback=None, max_iter=len(poor.history), tol=1e-8)
    assert spent is poor


def test_only_kernels_that_a_prior_without_a_level_has_chosen_are_exchanged():
    _, problem = draw(40)
    answer = solve(problem, Newton(), **RUN)
    assert may_exchange(problem, answer, Newton())
    assert may_exchange(problem, answer, Accelerated(Newton()))
    assert not may_exchange(problem, answer, EM())
    _, features = draw(40, kernels=False)
    assert not may_exchange(features, answer, Newton())
    _, level = draw(40, prior=GeneralizedGaussian(q=0.5, scale=1.0))
    assert not may_exchange(level, answer, Newton())
    _, many = draw(1_500)
    assert not may_exchange(many, answer, Newton())
    noisy = Problem(
        problem.design, problem.y, Gaussian(), problem.prior, problem.weight, False, kernels=True
    )
    assert not may_exchange(noisy, solve(noisy, Newton(), **RUN), Newton())


def test_no_single_exchange_makes_a_classifier_much_better():
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, size=(150, 2))
    y = (np.hypot(*X.T) + 0.3 * rng.normal(size=150) > 1.3).astype(int)
    model = SparseBayesClassifier(kernel="rbf", gamma=1.0, likelihood="logistic", fit_intercept=False)
    kept = model.fit(X, y).relevance_
    Phi = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    prior, weight = Jeffreys(strength=1), np.ones(150)
    problem = Problem(DenseDesign(Phi), 2.0 * y - 1, Logistic(), prior, weight, False, kernels=True)

    def worth(columns):
        found = answer_on(problem, columns)
        return found.state.fit - 2 * found.active.size

    now = worth(kept)
    for out in range(kept.size):
        others = np.delete(kept, out)
        swaps = [np.append(others, c) for c in range(0, 150, 10) if c not in kept]
        assert max(worth(np.sort(columns)) for columns in swaps) < now + 1.0
