"""What every estimator does: validate -> basis -> design -> solve -> publish."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._component import is_number, is_positive, resolve, unknown
from .._protocols import Array, Basis, Index, Likelihood, Prior
from ..basis import Features, KernelBasis, Monomials, WithConstant
from ..design import build_design
from ..kernels import resolve_kernel
from ..posterior import GaussianPosterior
from ..priors import REGISTRY as PRIORS
from ..priors import Prior as PriorComponent
from ..solvers import (
    Problem,
    Record,
    Solver,
    State,
    Status,
    choose_solver,
    null_state,
    resume,
    solve,
)
from ._callbacks import CallbackSupportMixin, Reporter, check_callbacks

# What rows may be: doubles or floats as they come, sparse by rows.
_ROWS: dict[str, Any] = {"dtype": [np.float64, np.float32], "accept_sparse": "csr"}


@dataclass(frozen=True)
class Fit:
    """The answer for one output (a regression, or one class against the others)."""

    active: Index
    posterior: GaussianPosterior
    likelihood: Likelihood
    status: Status
    history: list[Record]


def fit_output(
    problem: Problem,
    solver: Solver,
    start: State | None,
    unbound: Prior,
    *,
    max_iter: int,
    tol: float,
    report: Reporter,
    always_intercept: bool,
) -> Fit:
    """Solve one output and return its posterior; runs in a worker, so it takes and returns data."""
    settings: dict[str, Any] = {"max_iter": max_iter, "tol": tol, "callback": report}
    answer = solve(problem, solver, start=start, **settings)
    # A prior may charge for the search among many columns. The search is over: what is left is
    # estimated under the prior of that many columns, from where it stands.
    settled = unbound.bind(answer.active.size, kernel=problem.kernels)
    if settled != problem.prior:
        answer = resume(answer, settled, solver, **settings)
    kept = np.flatnonzero(answer.state.w)  # the exact solver keeps its zeros in place
    problem, state = answer.problem.keep(kept), answer.state
    if always_intercept and kept.size == 0:
        # Even the penalised intercept is gone: an empty model predicts the frequencies.
        problem = replace(problem, intercept=True)
        state = null_state(problem)
    w = state.w[kept] if kept.size else state.w[:0]
    curvature = np.maximum(state.curvature, 1e-10)
    touching = problem.ridge(problem.weight * curvature, state.f + state.slope / curvature, w)
    posterior = GaussianPosterior.from_ridge(replace(touching, weights=w, intercept=state.b))
    history = [record._replace(output=report.output) for record in answer.history]
    return Fit(answer.active[kept], posterior, state.likelihood, answer.status, history)


def _selects_features(estimator: Any) -> bool:
    if estimator.kernel is not None:
        raise AttributeError(
            f"{type(estimator).__name__} selects features only with kernel=None; with a kernel it "
            "selects rows, see relevance_."
        )
    return True


class SparseBayesBase(CallbackSupportMixin, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Shared by classifier and regressor; they add the targets and the predictions."""

    prior: Any
    kernel: Any
    gamma: Any
    degree: int
    coef0: float
    expansion: int
    fit_intercept: bool
    penalize_intercept: bool
    solver: Any
    max_iter: int
    tol: float
    rank_tol: float
    max_rank: int
    n_jobs: int | None
    warm_start: bool
    callbacks: Any

    # ---- validate -------------------------------------------------------------------------

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Undo whatever a failing ``fit`` has written."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _validate(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> tuple[Any, Any, Any]:
        """Return data, targets and weights of the rows that count, and remember which they were."""
        X, y = validate_data(self, X, y, **_ROWS, **options)
        self._check_settings(X)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, copy=True)
        if (weight < 0).any():
            raise ValueError("sample_weight must not be negative.")
        if not weight.any():
            raise ValueError("sample_weight must not be zero for every row.")
        self._rows = np.flatnonzero(weight > 0)
        if self._rows.size < weight.size:
            X, y, weight = X[self._rows], y[self._rows], weight[self._rows]
            if self._precomputed:
                X = X[:, self._rows]
        return X, y, weight

    def _check_settings(self, X: Any) -> None:
        rules = {
            "tol": (is_positive(self.tol), "a positive number"),
            "max_iter": (is_positive(self.max_iter), "a positive whole number"),
            "rank_tol": (is_positive(self.rank_tol), "a positive number"),
            "max_rank": (is_positive(self.max_rank), "a positive whole number"),
            "expansion": (
                is_number(self.expansion) and self.expansion in range(1, 11),
                "a whole number from 1 to 10",
            ),
        }
        for name, (holds, rule) in rules.items():
            if not holds:
                raise ValueError(f"{name} must be {rule}, got {getattr(self, name)!r}.")
        if self.expansion > 1 and self.kernel is not None:
            raise ValueError("expansion needs kernel=None: it multiplies features, not kernels.")
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' needs the square matrix of similarities between the "
                f"training rows, got shape {X.shape}."
            )

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    # ---- basis and design -----------------------------------------------------------------

    def _resolve_gamma(self, X: Array, weight: Array) -> float:
        if is_positive(self.gamma):
            return float(self.gamma)
        if self.gamma == "auto":
            return 1.0 / int(X.shape[1])
        if self.gamma == "scale":
            share = weight / weight.sum()
            mean = (share @ X).mean()
            variance = float((share @ (X - mean) ** 2).mean())
            return 1 / (int(X.shape[1]) * variance) if variance > 0 else 1.0
        if isinstance(self.gamma, str):
            raise unknown("gamma", self.gamma, ["auto", "scale"])
        raise ValueError(f"gamma must be positive, 'scale' or 'auto', got {self.gamma!r}.")

    def _make_basis(self, X: Array, weight: Array) -> Basis:
        if self._precomputed:
            return Features(np.arange(X.shape[1]))
        if self.kernel is not None:
            kernel = resolve_kernel(
                self.kernel,
                gamma=self._resolve_gamma(X, weight),
                degree=self.degree,
                coef0=self.coef0,
            )
            return KernelBasis.on_rows(kernel, X)
        if self.expansion > 1:
            return Monomials.of_degree(self.expansion, X.shape[1])
        return Features(np.arange(X.shape[1]))

    # ---- solve ----------------------------------------------------------------------------

    def _solve(self, X: Array, weight: Array, targets: Sequence[Array], likelihood: Likelihood) -> None:
        """Fit every output on one shared design and publish what they kept."""
        reports = self._reporters(len(targets))
        basis = self._make_basis(X, weight)
        kernels = self.kernel is not None
        unbound: Prior = resolve("prior", self.prior, PRIORS, PriorComponent)
        prior = unbound.bind(basis.n_columns, kernel=kernels)
        solver = choose_solver(self.solver, prior)
        if self.fit_intercept and self.penalize_intercept:
            basis = WithConstant(basis)
        free = self.fit_intercept and not self.penalize_intercept
        design, centre, note = build_design(
            basis, X, weight, centre=free, tol=self.rank_tol, max_rank=int(self.max_rank)
        )
        problems = [Problem(design, y, likelihood, prior, weight, free, kernels) for y in targets]
        starts = self._warm_starts(problems, basis, centre)
        fits: list[Fit] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
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
        self.prior_, self.solver_ = prior, solver
        self._publish(fits, basis, centre, note)

    def _reporters(self, n_outputs: int) -> list[Reporter]:
        callbacks = check_callbacks(self.callbacks)
        contexts: list[Any] = [None] * n_outputs
        if getattr(self, "_skl_callbacks", None):
            root = self._callback_fit_ctx
            contexts = [
                root.subcontext(task_name="output", max_subtasks=int(self.max_iter))
                for _ in range(n_outputs)
            ]
        return [
            Reporter(callbacks, output, context, self if context is not None else None)
            for output, context in enumerate(contexts)
        ]

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

    # ---- publish --------------------------------------------------------------------------

    def _publish(self, fits: Sequence[Fit], basis: Basis, centre: Array, note: str) -> None:
        union = np.unique(np.concatenate([fit.active for fit in fits]))
        self.basis_ = basis.keep(union)
        self._columns = [np.searchsorted(union, fit.active) for fit in fits]
        self.posteriors_ = [fit.posterior.shift(centre[fit.active]) for fit in fits]
        self.likelihoods_: list[Any] = [fit.likelihood for fit in fits]
        self.n_columns_ = basis.n_columns
        self.history_ = [record for fit in fits for record in fit.history]
        self.n_iter_ = max(len(fit.history) for fit in fits)
        status = _join([fit.status for fit in fits])
        self.status_ = replace(status, message=status.message + note)
        if not self.status_.converged:
            warnings.warn(self.status_.message, ConvergenceWarning, stacklevel=5)
        weights, intercepts = self._weights()
        source = self.basis_.source
        real = source >= 0  # the constant column of a penalised intercept has no source
        self._set_weights(weights[:, real], intercepts, source[real])

    def _weights(self) -> tuple[Array, Array]:
        """Return one row of weights per output on the kept columns, and the intercepts."""
        source = self.basis_.source
        weights = np.zeros((len(self.posteriors_), source.size))
        for row, posterior, columns in zip(weights, self.posteriors_, self._columns, strict=True):
            row[columns] = posterior.mean
        intercepts = np.array([posterior.intercept for posterior in self.posteriors_])
        return weights, intercepts + weights[:, source < 0].sum(axis=1)

    def _set_weights(self, weights: Array, intercepts: Array, source: Index) -> None:
        """Write scikit-learn's attributes: ``coef_`` on features, ``dual_coef_`` on rows."""
        self.intercept_ = self._shape_output(intercepts)
        if self.kernel is None:
            coef = np.zeros((len(weights), self.n_columns_ - self._has_constant))
            coef[:, source] = weights
            self.coef_ = self._shape_output(coef)
            self.relevance_ = source
            self._support = self._input_support(source)
        else:
            self.dual_coef_ = self._shape_output(weights)
            self.relevance_ = self._rows[source]
            if not self._precomputed:
                self.relevance_vectors_ = self._real_basis.centres
        self.n_relevant_ = int(source.size)

    @property
    def _has_constant(self) -> bool:
        return isinstance(self.basis_, WithConstant)

    @property
    def _real_basis(self) -> Any:
        """The basis without the column of a penalised intercept."""
        return self.basis_.rest if isinstance(self.basis_, WithConstant) else self.basis_

    def _shape_output(self, values: Array) -> Any:
        return values

    def _input_support(self, source: Index) -> Array:
        """Return which input features the kept columns use."""
        if isinstance(self._real_basis, Monomials):
            return np.asarray((self._real_basis.powers > 0).any(axis=0))
        support = np.zeros(self.n_features_in_, dtype=bool)
        support[source] = True
        return support

    # ---- predict --------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posteriors_")

    def _latents(self, X: Any) -> tuple[Array, Array]:
        """Return mean and variance of the latent, one column per output."""
        check_is_fitted(self)
        X = validate_data(self, X, **_ROWS, reset=False)
        Phi = self.basis_.columns(X)
        pairs = [
            posterior.latent(Phi[:, columns])
            for posterior, columns in zip(self.posteriors_, self._columns, strict=True)
        ]
        return np.column_stack([m for m, _ in pairs]), np.column_stack([v for _, v in pairs])

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return self._support

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags


# Selecting features makes sense on features only. The methods are replaced after the class exists:
# scikit-learn has then wrapped `transform` for set_output already, and the wrapping survives.
for _name in ("transform", "fit_transform", "inverse_transform", "get_support"):
    setattr(SparseBayesBase, _name, available_if(_selects_features)(getattr(SelectorMixin, _name)))
SparseBayesBase.get_feature_names_out = available_if(_selects_features)(
    SelectorMixin.get_feature_names_out
)


def _join(statuses: Sequence[Status]) -> Status:
    """Return one status for all outputs."""
    if len(statuses) == 1:
        return statuses[0]
    failed = [status.message for status in statuses if not status.converged]
    if failed:
        return Status(False, f"{len(failed)} of {len(statuses)} outputs: {failed[0]}")
    return Status(True, f"All {len(statuses)} outputs converged; the first: {statuses[0].message}")
