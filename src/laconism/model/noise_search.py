"""A search that is repeated with more noise if its fit interpolates the data."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ..laplace.mode import refit_by_degrees
from ..laplace.signal_to_noise import expected_noise
from ..likelihoods import Gaussian
from ..linalg import LEAST_REMAINDER
from ..solvers import Problem
from .output import Fit, Search

# The held noise is lowered while the residual variance is below this fraction of it.
_CLEARLY_LESS_SHARE = 0.5
# The largest factor by which the held noise is lowered in one step.
_MAX_NOISE_FACTOR = 4.0
# In larger designs the held noise is not lowered, to save time; it is then rather too large.
_MAX_ENTRIES_TO_LOWER_NOISE = 20_000_000


def learns_noise(problem: Problem) -> bool:
    """Return whether the noise of a regression is to be estimated."""
    return isinstance(problem.likelihood, Gaussian) and problem.likelihood.estimate


def retry_with_more_noise(search: Search, problem: Problem, rows_per_parameter: float = 2.0) -> Fit:
    """Return the fit of a search or, if that interpolates the data, of a search with more noise.

    With no more rows per parameter than this, the search is repeated under the noise that a dense model
    expects, which is lowered while the residual variance is clearly smaller.
    """
    fit = search(problem)
    found: Any = fit.likelihood
    # Less noise than this may be an artefact of too many parameters.
    small = found.noise <= LEAST_REMAINDER * _target_variance(problem)
    if not (small and fit.status.converged and _has_few_rows(problem, fit, rows_per_parameter)):
        return fit
    noise = expected_noise(problem)
    if noise <= found.noise:
        return fit
    fit = _fit_at_noise(search, problem, noise, found.floor)
    if math.prod(problem.design.shape) > _MAX_ENTRIES_TO_LOWER_NOISE:
        return fit
    while (residual := _residual_noise(problem, fit)) <= _CLEARLY_LESS_SHARE * noise:
        noise = max(residual, noise / _MAX_NOISE_FACTOR)
        other = _fit_at_noise(search, problem, noise, found.floor)
        if _has_few_rows(problem, other, rows_per_parameter):
            break
        fit = other
    return fit


def _has_few_rows(problem: Problem, fit: Fit, rows_per_parameter: float) -> bool:
    """Return whether there are too few rows per parameter for residuals to determine the noise."""
    n_parameters = fit.posterior.effective + problem.intercept
    return rows_per_parameter * n_parameters >= float(problem.weight.sum())


def _target_variance(problem: Problem) -> float:
    share = problem.weight / problem.weight.sum()
    return float(share @ (problem.y - share @ problem.y) ** 2)


def _fit_at_noise(search: Search, problem: Problem, noise: float, floor: float) -> Fit:
    """Return the fit of a search under a fixed noise."""
    share = problem.weight / problem.weight.sum()
    level = float(share @ problem.y) if problem.intercept else 0.0  # centred targets keep more digits
    held = Gaussian(noise, floor=floor)
    fit = search(replace(problem, y=problem.y - level, likelihood=held.hold()))
    posterior = replace(fit.posterior, intercept=fit.posterior.intercept + level)
    return replace(fit, posterior=posterior, likelihood=held, held=True)


def _residual_noise(problem: Problem, fit: Fit) -> float:
    """Return the residual variance of a fit by its degrees of freedom; it is never zero."""
    posterior = fit.posterior
    latent = problem.keep(fit.active).latent(posterior.mean, posterior.intercept)
    likelihood: Any = refit_by_degrees(problem, fit.likelihood, latent, posterior.effective)
    return float(likelihood.noise)
