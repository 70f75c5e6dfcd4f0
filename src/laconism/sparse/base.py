"""What the sparse Bayesian classifier and regressor share: design -> solve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import is_classifier

from .._component import is_count, resolve
from .._protocols import Array, Basis, Likelihood, Prior
from ..basis import Monomials, WithConstant
from ..design import Built, build_design
from ..likelihoods import Binary
from ..model.callbacks import begin_reports
from ..model.kernel_model import KernelModel
from ..model.output import Fit, fit_output
from ..model.tasks import FitData
from ..priors import REGISTRY as PRIORS
from ..priors import GeneralizedGaussian, Jeffreys
from ..priors import Prior as PriorComponent
from ..solvers import Problem, Solver, choose_solver, rank_tolerance
from ..solvers.learnt_scale import Start

# From half as many columns as rows on, residuals say nothing about the noise (likelihoods/gaussian.py).
_CROWDED = (
    " With that many kernels for so few rows it may pass through the data, so its error bars are those "
    "of rows left out: try LaconicRegressor, features (kernel=None) or a wider kernel (a smaller gamma)."
)


class PreparedDesign(NamedTuple):
    """A design, and how many columns there were to choose from."""

    built: Built
    n_columns: int


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

    def _priors(self, n_columns: int) -> tuple[Prior, Prior, Solver]:
        """Return the prior, the same with its numbers for so many columns, and who solves it."""
        unbound: Prior = resolve("prior", self.prior, PRIORS, PriorComponent)
        bound = unbound.bind(n_columns, kernel=self.kernel is not None, labels=is_classifier(self))
        return unbound, bound, choose_solver(self.solver, bound)

    @property
    def _free_intercept(self) -> bool:
        return bool(self.fit_intercept and not self.penalize_intercept)

    def _may_drop_intercept(self, likelihood: Likelihood) -> bool:
        """Return whether the intercept is left out where it is not worth a kernel's price.

        Of classes, whose latent has a zero of its own, on kernels, and under a prior that finds out by
        itself how sparse to be. Of the others the objective is what was asked for, to the letter.
        """
        prior = resolve("prior", self.prior, PRIORS, PriorComponent)
        classes = isinstance(likelihood, Binary) and isinstance(prior, Jeffreys | GeneralizedGaussian)
        return self._free_intercept and self.kernel is not None and classes

    def _prepare(self, question: FitData, tol: float | None = None) -> PreparedDesign:
        """Return the design; it serves any prior, where ``tol`` is small enough for all of them."""
        basis = self._make_basis(question.X, question.weight)
        n_columns = basis.n_columns
        if tol is None:
            _, prior, solver = self._priors(n_columns)
            tol = rank_tolerance(solver, prior)
        if self.fit_intercept and self.penalize_intercept:
            basis = WithConstant(basis)
        # What may have no intercept keeps its columns as they are.
        centre = self._free_intercept and not self._may_drop_intercept(question.likelihood)
        tol = tol if self.rank_tol == "auto" else self.rank_tol
        rows = (question.X, question.weight)
        built = build_design(basis, *rows, centre=centre, tol=tol, max_rank=int(self.max_rank))
        return PreparedDesign(built, n_columns)

    def _fit_rows(
        self, data: FitData, prepared: PreparedDesign | None = None, scales: Sequence[float] = ()
    ) -> None:
        """Fit every output on one shared design and publish what they kept.

        ``prepared`` is that design, ``scales`` are guesses of what the prior's will be, where they are
        known from elsewhere.
        """
        weight, targets, likelihood = data.weight, data.targets, data.likelihood
        reports, end_reports = begin_reports(self, len(targets))
        prepared = self._prepare(data) if prepared is None else prepared
        unbound, prior, solver = self._priors(prepared.n_columns)
        free, kernels = self._free_intercept, self.kernel is not None
        built = prepared.built
        near_duplicates = kernels and not built.chosen
        problems = [
            Problem(built.design.share(), y, likelihood, prior, weight, free, kernels, near_duplicates)
            for y in targets
        ]
        starts = self._warm_starts(problems, built.basis, built.centre)
        if len(scales) == len(starts):
            starts = [start._replace(scale=s) for start, s in zip(starts, scales, strict=True)]
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
                may_drop_intercept=self._may_drop_intercept(likelihood),
            )
            for problem, start, report in zip(problems, starts, reports, strict=True)
        )
        fits: list[Fit] = Parallel(n_jobs=self.n_jobs, prefer="threads")(jobs)
        end_reports()
        well_determined = [fit.prior for fit in fits] if unbound.learns else [prior] * len(fits)
        self.prior_, self.priors_, self.solver_ = well_determined[0], well_determined, solver
        self._held_noise = any(fit.held for fit in fits)
        self._publish(fits, built.basis, built.centre, built.note)
        if not self._task.classifies:
            self._publish_noise(data, built.basis)

    def _publish_noise(self, data: FitData, basis: Basis) -> None:
        """Publish the noise of a regression, corrected for the parameters that were fitted."""
        self.noise_variance_ = self._noise_variance(data.X, data.targets[0], data.weight, basis)
        if self.kernel is not None and 2 * self.n_relevant_ >= data.weight.sum():
            self.status_ = replace(self.status_, message=self.status_.message + _CROWDED)

    def _warm_starts(self, problems: Sequence[Problem], basis: Basis, centre: Array) -> list[Start]:
        """Return the previous answer on the columns that are still there, if that is asked for."""
        nothing = [Start()] * len(problems)
        if not self.warm_start or not hasattr(self, "posteriors_"):
            return nothing
        if self._held_noise:  # from what is left of it the way up to its noise is not found
            return nothing
        if len(self.posteriors_) != len(problems):
            return nothing
        place = {int(source): column for column, source in enumerate(basis.source)}
        starts: list[Start] = []
        for problem, posterior, columns, likelihood in zip(
            problems, self.posteriors_, self._columns, self.likelihoods_, strict=True
        ):
            w = np.zeros(basis.n_columns)
            for source, value in zip(self.basis_.source[columns], posterior.mean, strict=True):
                if int(source) in place:
                    w[place[int(source)]] = value
            b = posterior.intercept + float(centre @ w) if problem.intercept else 0.0
            state = problem.refit(w, b, likelihood) if w.any() else None
            starts.append(Start(state, posterior.effective))
        return starts
