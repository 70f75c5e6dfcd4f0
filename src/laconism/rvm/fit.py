"""All outputs of a relevance vector machine, on one shared design."""

from __future__ import annotations

from typing import Any

from joblib import Parallel, delayed

from .._protocols import Basis
from ..design import Built, build_design
from ..likelihoods import Binary
from ..model.callbacks import begin_reports
from ..model.kernel_model import KernelModel
from ..model.output import Fit
from ..model.tasks import FitData
from ..priors import Jeffreys
from ..solvers import Problem
from .output import fit_relevance


def fit_outputs(
    model: KernelModel,
    solver: Any,
    basis: Basis,
    data: FitData,
    *,
    kernels: bool,
    rank_tol: Any = "auto",
    max_rank: int = 1000,
) -> tuple[Built, list[Fit]]:
    """Learn the precisions of every output on one shared design, by the settings of a model.

    ``kernels`` is whether columns are kernels on the rows; the solver has an automatic ``rank_tol``.
    """
    X, weight, targets, likelihood, _ = data
    reports, end_reports = begin_reports(model, len(targets))
    solver.check()
    tol = solver.rank_tol(basis.n_columns) if rank_tol == "auto" else rank_tol
    intercept = bool(model.fit_intercept)
    may_drop_intercept = intercept and kernels and isinstance(likelihood, Binary)
    # Columns are centred only where there is an intercept in any case.
    centre = intercept and not may_drop_intercept
    built = build_design(basis, X, weight, centre=centre, tol=tol, max_rank=max_rank)
    # Precisions with the hyper-prior 1 / alpha are weights with the prior 1 / |w|.
    jobs = (
        delayed(fit_relevance)(
            Problem(built.design.share(), y, likelihood, Jeffreys(), weight, intercept, kernels),
            solver,
            max_iter=int(model.max_iter),
            tol=model.tol,
            report=report,
            may_drop_intercept=may_drop_intercept,
        )
        for y, report in zip(targets, reports, strict=True)
    )
    fits = Parallel(n_jobs=model.n_jobs, prefer="threads")(jobs)
    end_reports()
    return built, fits
