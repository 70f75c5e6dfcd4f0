"""One EM step, one Newton step and starts by one ridge problem; every solver is made of these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..linalg import damped_least_squares, ridge
from .line_search import backtrack
from .problem import Problem, State


def em_step(problem: Problem, state: State) -> State:
    """Return the state after one E-step and one M-step; the objective never falls.

    Both prior and likelihood are replaced by the Gaussians that touch them, eqs. (6) and (15) of
    [FJ01], and the weighted ridge problem is solved, eq. (16); then the noise variance, eq. (3) of
    [F01].
    """
    z, r = state.likelihood.surrogate(problem.y, state.f, np.zeros_like(state.f))
    answer = problem.ridge(problem.weight * r, z, state.w)
    return problem.refit(answer.weights, answer.intercept, state.likelihood, state.offset)


def newton_step(problem: Problem, state: State) -> State:
    """Return the state after one Newton step in the likelihood, halved until the objective rises.

    The prior is replaced by the Gaussian that touches it, the likelihood by its second-order expansion.
    """
    metric = None
    if problem.many_rows:
        metric = problem.metric(state) if state.metric is None else state.metric
        answer = problem.ridge_to_convergence(metric, state)
    else:
        answer = problem.ridge(*problem.laplace_targets(state), state.w)
    dw, db = answer.weights - state.w, answer.intercept - state.b

    def at(step: float) -> State:
        w, b = state.w + step * dw, state.b + step * db
        return problem.refit(w, b, state.likelihood, state.offset)

    def rises(new: State, _: float) -> bool:
        return new.objective >= state.objective

    reused = metric is not None and metric is state.metric
    found = backtrack(at, rises, max_trials=1) if reused else backtrack(at, rises)
    if found is not None:
        new, step = found
        return problem.reuse_metric(metric, new) if metric is not None and step == 1 else new
    if reused:  # the metric of an earlier state is out of date here
        return newton_step(problem, replace(state, metric=None))
    new = em_step(problem, state)
    # At the maximum rounding alone decides; an ascent method then returns the same state.
    return new if new.objective >= state.objective else replace(state)


def ridge_start(problem: Problem, damping: float) -> State:
    """Return the ridge estimate of labels 0/1 or targets, step 2 of [FJ01]'s algorithm."""
    target = problem.likelihood.first_target(problem.y)
    T, t, one, _ = problem.design.compress(problem.weight, target)
    centre, level = np.zeros(T.shape[1]), 0.0
    if problem.intercept:
        total = float(problem.weight.sum())
        centre, level = (one @ T) / total, float(one @ t) / total
        T, t = T - np.outer(one, centre), t - level * one
    w = damped_least_squares(T, t, damping)
    return problem.refit(w, level - float(centre @ w), problem.likelihood)


def scaled_ridge_start(problem: Problem, fraction: float = 1e-2) -> State:
    """Return a ridge estimate whose penalty is a fraction of each column's squared length."""
    variance = 1 / np.maximum(fraction * problem.squares, np.finfo(float).tiny)
    target = problem.likelihood.first_target(problem.y)
    answer = ridge(problem.design, problem.weight, target, variance, intercept=problem.intercept)
    return problem.refit(answer.weights, answer.intercept, problem.likelihood)
