"""Starts that are one ridge problem."""

from __future__ import annotations

import numpy as np

from ..linalg import damped_least_squares, ridge
from .problem import Problem, State


def ridge_start(problem: Problem, damping: float) -> State:
    """Return the ridge estimate of labels 0/1 or targets, step 2 of [FJ01]'s algorithm."""
    target = problem.likelihood.first_target(problem.y)
    T, t, one, _ = problem.design.compress(problem.weight, target)
    centre, level = np.zeros(T.shape[1]), 0.0
    if problem.intercept:
        total = problem.weight.sum()
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
