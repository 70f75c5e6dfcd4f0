"""The sparse priors that compete with a dense reference, and the fit under one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from .._protocols import Index, Prior
from ..design import DenseDesign
from ..laplace.mode import Mode, find_mode
from ..model.callbacks import Reporter
from ..model.fit_output import fit_output
from ..priors import GeneralizedGaussian, Jeffreys
from ..solvers import Problem, choose_solver
from ..solvers.learnt_scale import Start

# From many small weights to few large ones; no prior is best on all data.
_PRIORS: tuple[Prior, ...] = (Jeffreys(1.0), Jeffreys())
# For labels only: in regression with more columns than rows its evidence favours no noise and keeps all.
_LABEL_PRIORS: tuple[Prior, ...] = (GeneralizedGaussian(q=1.0),)
# Stopping rule of a fit under a sparse prior.
_MAX_ITERATIONS = 1000
_TOLERANCE = 1e-6


def sparse_fits(*, labels: bool) -> list[Callable[[Problem], tuple[Index, Mode]]]:
    """Return the fits under every sparse prior, for labels or for values."""
    priors = (*_LABEL_PRIORS, *_PRIORS) if labels else _PRIORS
    return [partial(_fit_sparse, prior=prior, labels=labels) for prior in priors]


def _fit_sparse(problem: Problem, prior: Prior, *, labels: bool) -> tuple[Index, Mode]:
    """Return the columns that are kept under a prior, and their mode."""
    bound = prior.bind(problem.design.shape[1], kernel=False, labels=labels)
    fit = fit_output(
        replace(problem, design=problem.design.share(), prior=bound),
        choose_solver("auto", bound),
        Start(),
        prior,
        max_iter=_MAX_ITERATIONS,
        tol=_TOLERANCE,
        report=Reporter((), 0, None, None),
        always_intercept=problem.intercept,
    )
    w, b = fit.posterior.mean, fit.posterior.intercept
    few = replace(problem, design=DenseDesign(problem.design.keep(fit.active).matvec(np.eye(w.size))))
    # The Gaussians that bound the prior at these weights have the same mode.
    return fit.active, find_mode(few, 1 / fit.variance, fit.likelihood, w, b)
