"""What the joint estimators share: kernels and feature scales found together."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state

from .._component import is_count, is_positive, unknown
from .._protocols import Array, Index, Likelihood
from ..basis import KernelBasis, WithConstant
from ..basis.kernel import distinct_rows
from ..kernels import RBF, Kernel, Linear, Polynomial, Scaled
from ..posterior import GaussianPosterior
from ..priors import Laplace
from ..solvers import Problem, Record, State, Status
from ..solvers.joint import Joint, JointProblem, expectation_maximisation, variable_projection
from ._callbacks import Reporter, begin_reports
from ._fit import Fit
from ._model import KernelModel

_KERNELS = ["linear", "poly", "rbf"]
_SOLVERS = {"em": expectation_maximisation, "varpro": variable_projection}
# All distinct rows are centres up to this many; of more rows this many are drawn.
_ALL_CENTRES, _DRAWN_CENTRES = 1000, 300
# Powers of p that the search starts from: all features weak, or some of them strong.
_STARTS = (-1.0, -2 / 3, -1 / 3, 0.0)
# Iterations of a trial; the best of the trials goes on.
_TRIAL = 8
# A small part of the rate of the weights lets all features speak before few are chosen: a product of
# two, which neither betrays alone, is only found so.
_GENTLE = 0.3
# Features that screening leaves if nobody says how many: so many for each row.
_PER_ROW = 1


class JCFOBase(KernelModel):
    """Shared by classifier and regressor; they add the targets and the predictions."""

    weight_rate: float
    scale_rate: Any
    screening: Any
    solver: Any
    n_centres: int | None
    standardize: bool
    penalize_intercept: bool
    random_state: Any

    # What belongs to other families.
    gamma = 1.0
    coef0 = 1.0
    rank_tol = 1e-8
    max_rank = 1000

    def _rules(self) -> dict[str, tuple[bool, str]]:
        return {
            "tol": (is_positive(self.tol), "a positive number"),
            "max_iter": (is_count(self.max_iter), "a positive whole number"),
            "weight_rate": (is_positive(self.weight_rate), "a positive number"),
            "scale_rate": (
                is_positive(self.scale_rate) or self.scale_rate == "auto",
                "a positive number or 'auto'",
            ),
            "n_centres": (self.n_centres is None or is_count(self.n_centres), "None or a count"),
            "screening": (
                self.screening is None or self.screening == "auto" or is_count(self.screening),
                "None, 'auto' or a positive whole number",
            ),
            "kernel": (self.kernel in _KERNELS, "'rbf', 'poly' or 'linear'"),
            "degree": (is_count(self.degree), "a positive whole number"),
        }

    # ---- what is asked --------------------------------------------------------------------

    def _inner_kernel(self) -> Kernel:
        if self.kernel == "rbf":
            return RBF(gamma=1.0)
        return Linear() if self.kernel == "linear" else Polynomial(degree=int(self.degree))

    def _screen(self, X: Array, y: Any, weight: Array, likelihood: Likelihood) -> Index:
        """Return the features that a sparse linear model of them would use, section 3.1 of [JCFO]."""
        n, p = X.shape
        wanted = self.screening
        if wanted == "auto":
            wanted = _PER_ROW * n if p > _PER_ROW * n else None
        if wanted is None or wanted >= p:
            return np.arange(p)
        return self._linear_ranking(X, y, weight)[: int(wanted)]

    def _linear_ranking(self, X: Array, y: Any, weight: Array) -> Index:
        raise NotImplementedError

    def _choose_centres(self, X: Array) -> Index:
        source, _ = distinct_rows(X)
        most = self.n_centres
        if most is None:
            most = source.size if source.size <= _ALL_CENTRES else _DRAWN_CENTRES
        if source.size <= most:
            return source
        drawn = check_random_state(self.random_state).permutation(source.size)[: int(most)]
        return np.sort(source[drawn])

    # ---- solve ----------------------------------------------------------------------------

    def _solve(
        self,
        X: Any,
        weight: Array,
        labels: Any,
        targets: Sequence[Array],
        likelihood: Likelihood,
    ) -> None:
        """Find weights and scales together and publish both."""
        if self.solver not in _SOLVERS:
            raise unknown("solver", str(self.solver), sorted(_SOLVERS))
        reports, end_reports = begin_reports(self, 1)
        sparse: bool = issparse(X)
        X = np.asarray(X.toarray() if sparse else X, dtype=np.float64)
        share = weight / weight.sum()
        deviation = np.sqrt(share @ (X - share @ X) ** 2)
        varies = deviation > 8 * np.finfo(float).eps * np.abs(share @ X) + 1e-150
        unit = np.where(varies, 1 / np.where(varies, deviation, 1.0), 0.0)
        unit = unit if self.standardize else varies.astype(float)
        self._screened = self._screen(X * unit, labels, weight, likelihood)
        Z = X[:, self._screened] * unit[self._screened]
        centres = self._choose_centres(X)
        question = JointProblem(
            self._inner_kernel(),
            Z,
            Z[centres],
            targets,
            likelihood,
            weight,
            float(self.weight_rate),
            2.0 if self.scale_rate == "auto" else float(self.scale_rate),
            self.fit_intercept and not self.penalize_intercept,
            self.fit_intercept and self.penalize_intercept,
        )
        reports[0].begin()
        answer, history = self._search(question, reports[0])
        reports[0].end()
        end_reports()
        self.feature_scales_ = np.zeros(X.shape[1])
        self.feature_scales_[self._screened] = answer.theta
        self.kernel_ = Scaled(self._inner_kernel(), self.feature_scales_ * unit**2)
        self._support: Any = self.feature_scales_ > 0
        self.objective_ = answer.value
        self._publish_joint(question, answer, X, centres, history)

    def _search(self, question: JointProblem, report: Reporter) -> tuple[Joint, list[Record]]:
        """Return the best of a few trials, carried on to the end."""
        history: list[Record] = []
        began = time.perf_counter()

        def tell(here: Joint) -> bool:
            kept = sum(int(np.count_nonzero(state.w)) for state in here.states)
            seconds = time.perf_counter() - began
            history.append(Record(len(history) + 1, -here.value, kept, seconds))
            return report(history[-1])

        p = question.X.shape[1]
        solver = _SOLVERS[self.solver]
        settings: dict[str, Any] = {"tol": self.tol, "callback": tell}
        if self.solver == "em":
            start = np.full(p, 1 / p)
            return solver(question, start, max_iter=int(self.max_iter), **settings), history
        gentle = replace(question, weight_rate=_GENTLE * question.weight_rate)
        first = variable_projection(gentle, np.full(p, 1 / p), max_iter=int(self.max_iter), tol=1e-3)
        trials = [first.theta, *(np.full(p, p**power) for power in dict.fromkeys(_STARTS))]
        if question.kernel != RBF(gamma=1.0):
            trials = trials[:2]  # a product of strong features soon leaves the range of a double
        tried = [
            variable_projection(question, theta, max_iter=_TRIAL, tol=self.tol)
            for theta in (trials if p > 1 else trials[-1:])
        ]
        best = min(tried, key=lambda trial: trial.value)
        answer = solver(question, best.theta, max_iter=int(self.max_iter), **settings)
        if not history:  # the trial was at the end already
            tell(answer)
        return answer, history

    # ---- publish --------------------------------------------------------------------------

    def _publish_joint(
        self, question: JointProblem, answer: Joint, X: Array, centres: Index, history: list[Record]
    ) -> None:
        basis: Any = KernelBasis(self.kernel_, X[centres], centres)
        basis = WithConstant(basis) if question.constant else basis
        Phi = question.columns(answer.theta)
        n_features = int(self._support.sum())
        message = (
            f"{'Converged' if answer.converged else 'Stopped'} after {len(answer.values) - 1} "
            f"iterations and {answer.evaluations} kernel matrices, {n_features} features kept."
        )
        fits = [
            _fit(question.problem(Phi, y), state, Status(answer.converged, message), history)
            for y, state in zip(question.targets, answer.states, strict=True)
        ]
        self._publish(fits, basis, np.zeros(basis.n_columns), "")

    # A joint model selects features although it has a kernel.
    transform = SelectorMixin.transform
    fit_transform = SelectorMixin.fit_transform
    inverse_transform = SelectorMixin.inverse_transform
    get_support = SelectorMixin.get_support
    get_feature_names_out = SelectorMixin.get_feature_names_out


def _fit(problem: Problem, state: State, status: Status, history: list[Record]) -> Fit:
    """Return the posterior of the kept weights, the scales taken as known."""
    kept = np.flatnonzero(state.w)
    part = replace(problem.keep(kept), prior=Laplace(rate=problem.prior.kink))
    at = part.state(state.w[kept], state.b, state.likelihood)
    touching = part.ridge(*part.osculate(at), at.w)
    posterior = GaussianPosterior.from_ridge(replace(touching, weights=at.w, intercept=at.b))
    return Fit(kept, posterior, state.likelihood, status, history)
