"""The fit under the sparse prior that competes with a dense reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._protocols import Index
from ..design import DenseDesign
from ..laplace.mode import Mode, find_mode
from ..likelihoods import Binary
from ..model.fit_output import fit_output
from ..priors import Jeffreys
from ..solvers import Problem, choose_solver
from ..solvers.learnt_scale import Start

# Stopping rule of a fit under a sparse prior.
_MAX_ITERATIONS = 1000
_TOLERANCE = 1e-6


def fit_sparse(problem: Problem) -> tuple[Index, Mode]:
    """Return the columns that are kept under Jeffreys' prior, and their mode."""
    prior, labels = Jeffreys(), isinstance(problem.likelihood, Binary)
    bound = prior.bind(problem.design.shape[1], kernel=False, labels=labels)
    fit = fit_output(
        replace(problem, design=problem.design.share(), prior=bound),
        choose_solver("auto", bound),
        Start(),
        prior,
        max_iter=_MAX_ITERATIONS,
        tol=_TOLERANCE,
        always_intercept=problem.intercept,
    )
    w, b = fit.posterior.mean, fit.posterior.intercept
    few = replace(problem, design=DenseDesign(problem.design.keep(fit.active).matvec(np.eye(w.size))))
    # The Gaussians that bound the prior at these weights have the same mode.
    return fit.active, find_mode(few, 1 / fit.variance, fit.likelihood, w, b)
