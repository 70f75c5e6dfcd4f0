"""From the settings of a sparse model to its columns and its design."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._protocols import Basis
from ..basis import Monomials, WithConstant
from ..design import Built, build_design
from ..model.bases import kernel_basis
from ..model.tasks import FitData
from ..solvers import rank_tolerance
from .prior import has_free_intercept, may_drop_intercept, resolve_prior


class PreparedDesign(NamedTuple):
    """A design, and the number of columns to choose from."""

    built: Built
    n_columns: int


def prepare_design(model: Any, data: FitData) -> PreparedDesign:
    """Return the design of a model, its kernel matrix factored as exactly as the solver needs."""
    basis = _make_basis(model, data)
    n_columns = basis.n_columns
    _, prior, solver = resolve_prior(model, n_columns)
    tol = rank_tolerance(solver, prior) if model.rank_tol == "auto" else model.rank_tol
    if model.fit_intercept and model.penalize_intercept:
        basis = WithConstant(basis)
    # Columns are not centred if the intercept may be dropped: centred columns imply one.
    centre = has_free_intercept(model) and not may_drop_intercept(model, data.likelihood)
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
