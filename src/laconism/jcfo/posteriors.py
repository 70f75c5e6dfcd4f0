"""From the end of a search to what is published of each output: posterior and status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..design import DenseDesign
from ..model.output import Fit
from ..posterior import GaussianPosterior
from ..priors import Laplace
from ..solvers import Problem, Status
from .problem import JointProblem
from .search import JointFit


def output_fits(problems: Sequence[JointProblem], fits: Sequence[JointFit]) -> list[Fit]:
    """Return the posterior of each output's kept weights, the scales taken as known.

    The columns of one problem are counted after those of the problems before it.
    """
    outputs, first = [], 0
    for problem, fit in zip(problems, fits, strict=True):
        outputs += _fits_of(problem, fit, first)
        first += problem.n_columns
    return outputs


def _fits_of(problem: JointProblem, fit: JointFit, first: int) -> list[Fit]:
    fits, status = [], _status(fit)
    for y, output in zip(problem.targets, fit.state.outputs, strict=True):
        kept = np.flatnonzero(output.w)
        design = DenseDesign(problem.columns(fit.state.theta, kept))
        prior = Laplace(rate=problem.latent_rate(output.likelihood))
        part = Problem(design, y, output.likelihood, prior, problem.weight, problem.intercept)
        at = part.state(output.w[kept], output.b, output.likelihood)
        ridge = part.ridge(*part.laplace_targets(at), at.w)
        posterior = GaussianPosterior.from_ridge(replace(ridge, weights=at.w, intercept=at.b))
        fits.append(Fit(first + kept, posterior, output.likelihood, status, fit.history))
    return fits


def _status(fit: JointFit) -> Status:
    """Return whether the search has converged, and a sentence."""
    state = fit.state
    if state.converged:
        message = f"Converged: optimal to {state.violation:.1e} of the rates"
    elif state.stopped:
        message = "Stopped by a callback"
    else:
        message = f"Stopped at {state.violation:.1e} of the rates; raise max_iter or tol"
    n_features = int(np.count_nonzero(state.theta))
    message += f" ({len(fit.history)} iterations, {n_features} features kept)."
    return Status(state.converged, message + fit.note, state.stopped)
