"""From the settings of a sparse model to its columns, prior, solver and design."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._component import resolve
from .._protocols import Basis, Likelihood, Prior
from ..basis import Monomials, WithConstant
from ..design import Built, build_design
from ..likelihoods import Binary
from ..model.bases import kernel_basis
from ..model.tasks import FitData
from ..priors import REGISTRY as PRIORS
from ..priors import GeneralizedGaussian, Jeffreys
from ..priors import Prior as PriorComponent
from ..solvers import Solver, choose_solver, rank_tolerance


class PreparedDesign(NamedTuple):
    """A design, and the number of columns there were to choose from."""

    built: Built
    n_columns: int


class PriorAndSolver(NamedTuple):
    """The prior as given, the prior with its defaults resolved, and the solver for it."""

    unbound: Prior
    bound: Prior
    solver: Solver


def resolve_prior(model: Any, n_columns: int) -> PriorAndSolver:
    """Return prior and solver of a model with this many columns to choose from."""
    unbound: Prior = resolve("prior", model.prior, PRIORS, PriorComponent)
    labels = model._task.classifies
    bound = unbound.bind(n_columns, kernel=model.kernel is not None, labels=labels)
    return PriorAndSolver(unbound, bound, choose_solver(model.solver, bound))


def has_free_intercept(model: Any) -> bool:
    """Return whether the model has an intercept without a prior."""
    return bool(model.fit_intercept and not model.penalize_intercept)


def may_drop_intercept(model: Any, likelihood: Likelihood) -> bool:
    """Return whether the intercept is left out where it gains less than the price of a kernel.

    Only for classes, where a latent of zero means even odds, on kernels, and under a prior that learns
    how sparse to be. In all other cases the objective is exactly the one that the settings name.
    """
    prior = resolve("prior", model.prior, PRIORS, PriorComponent)
    classes = isinstance(likelihood, Binary) and isinstance(prior, Jeffreys | GeneralizedGaussian)
    return has_free_intercept(model) and model.kernel is not None and classes


def prepare_design(model: Any, data: FitData, tol: float | None = None) -> PreparedDesign:
    """Return the design of a model on validated rows.

    Parameters
    ----------
    model : SparseBayesBase
    data : FitData
    tol : float, optional
        The part of a kernel matrix that its factors may miss; by default what the solver needs.
    """
    basis = _make_basis(model, data)
    n_columns = basis.n_columns
    if tol is None:
        _, prior, solver = resolve_prior(model, n_columns)
        tol = rank_tolerance(solver, prior)
    if model.fit_intercept and model.penalize_intercept:
        basis = WithConstant(basis)
    # Columns are not centred where the intercept may be dropped.
    centre = has_free_intercept(model) and not may_drop_intercept(model, data.likelihood)
    tol = tol if model.rank_tol == "auto" else model.rank_tol
    max_rank = int(model.max_rank)
    built = build_design(basis, data.X, data.weight, centre=centre, tol=tol, max_rank=max_rank)
    return PreparedDesign(built, n_columns)


def _make_basis(model: Any, data: FitData) -> Basis:
    """Return the features, their products or the kernels."""
    if model.expansion == 1:
        kernel = (model.kernel, model.gamma, model.degree, model.coef0)
        return kernel_basis(*kernel, data.X, data.weight, model._rows)
    if model.kernel is not None:
        raise ValueError("expansion needs kernel=None: it multiplies features, not kernels.")
    return Monomials.of_degree(model.expansion, data.X.shape[1])
