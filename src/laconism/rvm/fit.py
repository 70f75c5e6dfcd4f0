"""All outputs of a relevance vector machine, on one shared design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from joblib import Parallel, delayed

from .._protocols import Basis
from ..design import Built, build_design
from ..likelihoods import Binary
from ..model.callbacks import Reporter
from ..model.output import Fit
from ..model.tasks import FitData
from ..priors import Jeffreys
from ..solvers import Problem
from .output import fit_relevance


@dataclass(frozen=True)
class RelevanceSettings:
    """How the precisions are learnt, whatever the data."""

    solver: Any  # with init, step, done, check and rank_tol
    kernels: bool  # whether columns are kernels on the rows
    fit_intercept: bool
    max_iter: int
    tol: float
    rank_tol: float | None  # None leaves it to the solver
    max_rank: int
    n_jobs: int | None


@dataclass(frozen=True)
class RelevanceFit:
    """The design that all outputs share, and what was fitted to each of them."""

    built: Built
    outputs: list[Fit]


def fit_outputs(
    settings: RelevanceSettings, basis: Basis, data: FitData, reports: Sequence[Reporter]
) -> RelevanceFit:
    """Learn the precisions of every output on one shared design.

    Parameters
    ----------
    settings : RelevanceSettings
    basis : Basis
        All columns.
    data : FitData
    reports : sequence of Reporter
        One per output, called after each iteration.
    """
    X, weight, targets, likelihood, _ = data
    solver, intercept = settings.solver, settings.fit_intercept
    solver.check()
    tol = solver.rank_tol(basis.n_columns) if settings.rank_tol is None else settings.rank_tol
    may_drop_intercept = intercept and settings.kernels and isinstance(likelihood, Binary)
    # Columns are centred only where there is an intercept in any case.
    centre = intercept and not may_drop_intercept
    built = build_design(basis, X, weight, centre=centre, tol=tol, max_rank=settings.max_rank)
    # Precisions with the hyper-prior 1 / alpha are weights with the prior 1 / |w|.
    jobs = (
        delayed(fit_relevance)(
            Problem(
                built.design.share(), y, likelihood, Jeffreys(), weight, intercept, settings.kernels
            ),
            solver,
            max_iter=settings.max_iter,
            tol=settings.tol,
            report=report,
            may_drop_intercept=may_drop_intercept,
        )
        for y, report in zip(targets, reports, strict=True)
    )
    return RelevanceFit(built, Parallel(n_jobs=settings.n_jobs, prefer="threads")(jobs))
