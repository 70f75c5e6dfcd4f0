"""The start of the search from the full model down: all columns under one precision."""

from __future__ import annotations

import numpy as np

from ..laplace.first_precision import first_precision
from ..laplace.mode import Mode, find_mode
from ..laplace.shared_precision import fit_shared
from ..likelihoods import Gaussian
from ..solvers import Problem
from .bottom_up import EvidenceState

# Columns to start with; of more, evenly spaced ones are taken, since the others are neighbours of these.
_MAX_START_COLUMNS = 5_000


def full_model(problem: Problem) -> EvidenceState:
    """Return all columns, or evenly spaced ones of very many, under one precision."""
    p = problem.design.shape[1]
    active = np.arange(0, p, max(1, -(-p // _MAX_START_COLUMNS)))
    part, empty = problem.keep(active), problem.empty()
    if isinstance(problem.likelihood, Gaussian):
        return EvidenceState.of(_below_best_precision(part), active, p, refining=False)
    alpha = np.full(active.size, first_precision(part, empty))
    mode = find_mode(part, alpha, empty.likelihood, np.zeros(active.size), empty.b)
    return EvidenceState.of(mode, active, p, refining=False)


def _below_best_precision(problem: Problem) -> Mode:
    """Return all columns of a regression under the first shared precision below the best one.

    Under a larger precision, correlated weights that are large only together would be pruned, and what
    they explain would be taken for noise.
    """
    best = fit_shared(problem, 1.0)
    for power in range(1, 13):
        mode = fit_shared(problem, 10.0**-power)
        if mode.noise_unidentified:
            return best
        if mode.objective <= best.objective:
            return mode
        best = mode
    return best
