"""From the end of a search to what is published of each output: posterior and status."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..design import DenseDesign
from ..model.output import Fit, laplace_fit
from ..priors import Laplace
from ..solvers import Problem, Solution, Status
from .problem import JointProblem
from .search import JointFit


def output_fits(problems: Sequence[JointProblem], fits: Sequence[JointFit]) -> list[Fit]:
    """Return the posterior of each output's kept weights, the scales taken as known.

    The columns of one problem are counted after those of the problems before it.
    """
    outputs, first = [], 0
    for problem, fit in zip(problems, fits, strict=True):
        for y, output in zip(problem.targets, fit.state.outputs, strict=True):
            kept, likelihood = np.flatnonzero(output.w), output.likelihood
            design = DenseDesign(problem.columns(fit.state.theta, kept))
            prior = Laplace(rate=problem.latent_rate(likelihood))
            part = Problem(design, y, likelihood, prior, problem.weight, problem.intercept)
            at = part.state(output.w[kept], output.b, likelihood)
            found = Solution(first + kept, at, part, _status(fit), fit.history)
            outputs.append(laplace_fit(found, always_intercept=False))
        first += problem.n_columns
    return outputs


def _status(fit: JointFit) -> Status:
    """Return whether the search has converged, and a sentence."""
    state = fit.state
    if state.converged:
        message = f"Converged: optimal to {state.violation:.1e} of the rates or standard errors"
    elif state.stopped:
        message = "Stopped by a callback"
    else:
        message = (
            f"Stopped at {state.violation:.1e} of the rates or standard errors; raise max_iter or tol"
        )
    n_features = int(np.count_nonzero(state.theta))
    message += f" ({len(fit.history)} iterations, {n_features} features kept)."
    return Status(state.converged, message + fit.note, state.stopped)
