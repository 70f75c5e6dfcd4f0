"""From the settings of a sparse model to its prior, its solver and its treatment of the intercept."""

from __future__ import annotations

from typing import Any

from .._component import resolve
from ..likelihoods import Binary, Likelihood
from ..priors import REGISTRY as PRIORS
from ..priors import GeneralizedGaussian, Jeffreys, Prior
from ..solvers import Solver, choose_solver


def resolve_prior(model: Any, n_columns: int) -> tuple[Prior, Prior, Solver]:
    """Return the prior as given, with its defaults resolved for this many columns, and its solver."""
    unbound: Prior = resolve("prior", model.prior, PRIORS, Prior)
    labels = model._task.classifies
    bound = unbound.bind(n_columns, kernel=model.kernel is not None, labels=labels)
    return unbound, bound, choose_solver(model.solver, bound)


def has_free_intercept(model: Any) -> bool:
    """Return whether the model has an intercept without a prior."""
    return bool(model.fit_intercept and not model.penalize_intercept)


def may_drop_intercept(model: Any, likelihood: Likelihood) -> bool:
    """Return whether the intercept is dropped if it gains less than the price of a kernel.

    Only for labels, where a latent of zero means even odds, with kernels, and under the Jeffreys or the
    generalized Gaussian prior. In all other cases the objective is exactly that of the settings.
    """
    prior = resolve("prior", model.prior, PRIORS, Prior)
    classes = isinstance(likelihood, Binary) and isinstance(prior, Jeffreys | GeneralizedGaussian)
    return has_free_intercept(model) and model.kernel is not None and classes
