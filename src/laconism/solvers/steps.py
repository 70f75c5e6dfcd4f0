"""The two steps that everything is made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .problem import Problem, State

_HALVINGS = 20


def em_step(problem: Problem, state: State) -> State:
    """Return the state after one E-step and one M-step; the objective never drops.

    Both prior and likelihood are replaced by the Gaussians that touch them, eqs. (6) and (15) of
    [FJ01], and the weighted ridge problem is solved, eq. (16); then the noise variance, eq. (3) of
    [F01].
    """
    z, r = state.likelihood.surrogate(problem.y, state.f, np.zeros_like(state.f))
    answer = problem.ridge(problem.weight * r, z, state.w)
    return problem.refit(answer.weights, answer.intercept, state.likelihood, state.offset)


def newton_step(problem: Problem, state: State) -> State:
    """Return the state after one Newton step in the likelihood, halved until the objective rises.

    The prior is replaced by the Gaussian that touches it, the likelihood by the one that osculates.
    """
    metric = None
    if problem.many_rows:
        metric = problem.metric(state) if state.metric is None else state.metric
        answer = problem.deep_ridge(metric, state)
    else:
        answer = problem.ridge(*problem.laplace_targets(state), state.w)
    dw, db = answer.weights - state.w, answer.intercept - state.b
    for halving in range(_HALVINGS):
        t = 0.5**halving
        w, b = state.w + t * dw, state.b + t * db
        new = problem.refit(w, b, state.likelihood, state.offset)
        if new.objective >= state.objective:
            return problem.remember(metric, new) if metric is not None and halving == 0 else new
        if metric is not None and metric is state.metric:  # it was too old after all
            return newton_step(problem, replace(state, metric=None))
    new = em_step(problem, state)
    # At the answer rounding alone decides; an ascent method then stays where it is.
    return new if new.objective >= state.objective else replace(state)
