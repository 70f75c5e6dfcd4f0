"""What the sparse Bayesian classifier and regressor share: design -> solve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from .._component import is_count, resolve
from .._protocols import Array, Basis, Likelihood, Prior
from ..basis import Monomials, WithConstant
from ..design import build_design
from ..priors import REGISTRY as PRIORS
from ..priors import Prior as PriorComponent
from ..solvers import Problem, State, choose_solver, rank_tolerance
from ._callbacks import begin_reports
from ._fit import Fit, fit_output
from ._model import KernelModel


class SparseBayesBase(KernelModel):
    """Shared by classifier and regressor; they add the targets and the predictions."""

    prior: Any
    expansion: int
    penalize_intercept: bool
    solver: Any
    warm_start: bool

    def _rules(self) -> dict[str, tuple[bool, str]]:
        fits = is_count(self.expansion) and self.expansion <= 10
        return super()._rules() | {"expansion": (fits, "a whole number from 1 to 10")}

    def _make_basis(self, X: Array, weight: Array) -> Basis:
        if self.expansion == 1:
            return super()._make_basis(X, weight)
        if self.kernel is not None:
            raise ValueError("expansion needs kernel=None: it multiplies features, not kernels.")
        return Monomials.of_degree(self.expansion, X.shape[1])

    def _solve(self, X: Array, weight: Array, targets: Sequence[Array], likelihood: Likelihood) -> None:
        """Fit every output on one shared design and publish what they kept."""
        reports, end_reports = begin_reports(self, len(targets))
        basis = self._make_basis(X, weight)
        kernels = self.kernel is not None
        unbound: Prior = resolve("prior", self.prior, PRIORS, PriorComponent)
        prior = unbound.bind(basis.n_columns, kernel=kernels)
        solver = choose_solver(self.solver, prior)
        if self.fit_intercept and self.penalize_intercept:
            basis = WithConstant(basis)
        free = self.fit_intercept and not self.penalize_intercept
        tol = rank_tolerance(solver, prior) if self.rank_tol == "auto" else self.rank_tol
        built = build_design(basis, X, weight, centre=free, tol=tol, max_rank=int(self.max_rank))
        design, basis, centre = built.design, built.basis, built.centre
        crowded = kernels and not built.chosen
        problems = [
            Problem(design.share(), y, likelihood, prior, weight, free, kernels, crowded)
            for y in targets
        ]
        starts = self._warm_starts(problems, basis, centre)
        jobs = (
            delayed(fit_output)(
                problem,
                solver,
                start,
                unbound,
                max_iter=int(self.max_iter),
                tol=self.tol,
                report=report,
                always_intercept=self.fit_intercept,
            )
            for problem, start, report in zip(problems, starts, reports, strict=True)
        )
        fits: list[Fit] = Parallel(n_jobs=self.n_jobs, prefer="threads")(jobs)
        end_reports()
        learnt = [fit.prior for fit in fits] if unbound.learns else [prior] * len(fits)
        self.prior_, self.priors_, self.solver_ = learnt[0], learnt, solver
        self._publish(fits, basis, centre, built.note)

    def _warm_starts(
        self, problems: Sequence[Problem], basis: Basis, centre: Array
    ) -> list[State | None]:
        """Return the previous answer on the columns that are still there, if that is asked for."""
        nothing: list[State | None] = [None] * len(problems)
        if not self.warm_start or not hasattr(self, "posteriors_"):
            return nothing
        if len(self.posteriors_) != len(problems):
            return nothing
        place = {int(source): column for column, source in enumerate(basis.source)}
        starts: list[State | None] = []
        for problem, posterior, columns, likelihood in zip(
            problems, self.posteriors_, self._columns, self.likelihoods_, strict=True
        ):
            w = np.zeros(basis.n_columns)
            for source, value in zip(self.basis_.source[columns], posterior.mean, strict=True):
                if int(source) in place:
                    w[place[int(source)]] = value
            b = posterior.intercept + float(centre @ w) if problem.intercept else 0.0
            starts.append(problem.refit(w, b, likelihood) if w.any() else None)
        return starts
