"""What a regression on sums has at its end: the level of its targets, and its noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..model.output import Fit
from ..solvers import Problem


def shifted(fit: Fit, level: float) -> Fit:
    """Return the fit of targets from which a level was subtracted."""
    posterior = fit.posterior
    return replace(fit, posterior=replace(posterior, intercept=posterior.intercept + level))


def residual_squares(problem: Problem, fit: Fit) -> float:
    """Return the weighted sum of squared residuals over all rows."""
    design = problem.design.keep(fit.active)
    f = design.matvec(fit.posterior.mean) + fit.posterior.intercept
    return float(problem.weight @ (problem.y - f) ** 2)


def noise_variance(fit: Fit, squares: float, total: float) -> float:
    """Return the noise variance of the residuals, by their degrees of freedom."""
    likelihood: Any = fit.likelihood
    if not getattr(likelihood, "estimate", False):
        return float(likelihood.variance)
    used = fit.posterior.effective + (fit.posterior.spread > 0)
    noise: float = getattr(likelihood, "noise", 0.0)
    return float(np.maximum(squares / max(total - used, 1.0), noise))
