"""What every estimator does around its solver: validate -> basis, and publish -> predict."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .._component import is_count, is_jobs, is_name, is_positive, is_switch
from .._protocols import Array, Basis, Index
from ..basis import Features, KernelBasis, Monomials, WithConstant
from ..kernels import Polynomial, resolve_kernel
from ..linalg import as_dense, row_blocks
from ..magnitude import check_largest, squares_safely
from ..solvers import Status
from .callbacks import CallbackSupportMixin, with_callbacks
from .far_variance import FarVariance
from .output import Fit, join
from .tasks import FitData, Labels, Values
from .threads import one_blas_thread
from .validation import (
    ROWS,
    all_or_nothing,
    check_gamma,
    check_weight,
    entries_once,
    naming_columns,
    resolve_gamma,
    weight_of_classes,
)


def _selects_features(estimator: Any) -> bool:
    if estimator.kernel is not None and not estimator._on_features:
        raise AttributeError(
            f"{type(estimator).__name__} selects features only with kernel=None; with a kernel it "
            "selects rows, see relevance_."
        )
    return True


# Settings that are on or off, wherever they are found.
_SWITCHES = ("fit_intercept", "penalize_intercept", "warm_start", "standardize", "share_features")


class KernelModel(CallbackSupportMixin, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """A linear model of features or kernels; subclasses add what solves it and what it predicts."""

    kernel: Any
    gamma: Any
    degree: int
    coef0: float
    fit_intercept: bool
    max_iter: int
    tol: float
    rank_tol: float | Literal["auto"]
    max_rank: int
    n_jobs: int | None
    callbacks: Any
    likelihood: Any
    status_: Status

    # ---- fit ------------------------------------------------------------------------------

    _task: Labels | Values
    _far_variance: FarVariance | None = None  # set when a model is published

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, or the square kernel matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels of a classifier, targets of a regressor.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 equals a row written twice, weight 0 a row left out.

        Returns
        -------
        self
        """
        with all_or_nothing(self), one_blas_thread():
            self._fit(X, y, sample_weight)
            if not (self.status_.converged or self.status_.stopped):
                warnings.warn(self.status_.message, ConvergenceWarning, stacklevel=2)
        return self

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._fit_rows(self._fit_data(X, y, sample_weight))
        return self

    def _fit_data(self, X: Any, y: Any, sample_weight: Any) -> FitData:
        """Return the rows that count, the targets of each output and their likelihood."""
        class_weight = getattr(self, "class_weight", None)
        X, y, weight = self._validate(X, y, sample_weight, class_weight, **self._task.validation)
        likelihood = self._task.likelihood(self.likelihood)
        targets, classes = self._task.encode(y)
        if classes is not None:
            self.classes_ = classes
        return FitData(X, weight, targets, likelihood)

    @abstractmethod
    def _fit_rows(self, data: FitData) -> None:
        """Fit the model to validated rows and publish it."""

    # ---- validate -------------------------------------------------------------------------

    def _validate(
        self, X: Any, y: Any, sample_weight: Any, class_weight: Any = None, **options: Any
    ) -> tuple[Any, Any, Any]:
        """Return data, targets and weights of the rows that count, and remember which they were."""
        with naming_columns(X, y, options.get("y_numeric", False)):
            X, y = validate_data(self, X, y, ensure_all_finite=False, **ROWS, **options)
        X = entries_once(X)
        self._check_settings(X)
        if not squares_safely(X):
            assert_all_finite(X, input_name="X", estimator_name=type(self).__name__)
            check_largest(X, "features")
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, copy=True)
        check_weight(weight, "sample_weight")
        if class_weight is not None:
            weight = weight * weight_of_classes(class_weight, y)
            check_weight(weight, "class_weight times sample_weight")
        self._rows = np.flatnonzero(weight > 0)
        if self._rows.size < weight.size:
            X, y, weight = X[self._rows], y[self._rows], weight[self._rows]
        return X, y, weight

    def _rules(self) -> dict[str, tuple[bool, str]]:
        """Return what each setting must be, and whether it is."""
        return {
            "tol": (is_positive(self.tol), "a positive number"),
            "max_iter": (is_count(self.max_iter), "a positive whole number"),
            "rank_tol": (
                is_positive(self.rank_tol) or is_name(self.rank_tol, "auto"),
                "a positive number or 'auto'",
            ),
            "max_rank": (is_count(self.max_rank), "a positive whole number"),
        }

    def _check_settings(self, X: Any) -> None:
        switches = [name for name in _SWITCHES if hasattr(self, name)]
        jobs = (is_jobs(getattr(self, "n_jobs", None)), "None or a whole number other than zero")
        rules = (
            {"n_jobs": jobs}
            | {name: (is_switch(getattr(self, name)), "True or False") for name in switches}
            | self._rules()
        )
        for name, (holds, rule) in rules.items():
            if not holds:
                raise ValueError(f"{name} must be {rule}, got {getattr(self, name)!r}.")
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' needs the square matrix of similarities between the "
                f"training rows, got shape {X.shape}."
            )

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of a prior, kernel or solver that is an object included.

        Parameters
        ----------
        **params : dict
            ``prior__rate`` is the rate of ``prior``.

        Returns
        -------
        self
        """
        for name in params:
            owner, nested, _ = name.partition("__")
            value = params.get(owner, getattr(self, owner, None))
            if nested and isinstance(value, str):
                raise ValueError(
                    f"{name} cannot be set: {owner}={value!r} is a name, without parameters; give the "
                    f"object itself, such as prior=Laplace()."
                )
        return super().set_params(**params)  # type: ignore[no-any-return]

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _on_features(self) -> bool:
        """Whether its columns are features, and not kernels."""
        return self.kernel is None

    # ---- basis and design -----------------------------------------------------------------

    def _make_basis(self, X: Array, weight: Array) -> Basis:
        # What is not in use may not be nonsense either: it may be the kernel that was forgotten.
        check_gamma(self.gamma)
        Polynomial(degree=self.degree, coef0=self.coef0).check()
        if self._precomputed:
            return Features(self._rows)  # a row that does not count is no column either
        if self.kernel is not None:
            named = isinstance(self.kernel, str) and self.kernel != "linear"
            kernel = resolve_kernel(
                self.kernel,
                gamma=resolve_gamma(self.gamma, X, weight) if named else 1.0,
                degree=self.degree,
                coef0=self.coef0,
            )
            return KernelBasis.on_rows(kernel, X)
        return Features(np.arange(X.shape[1]))

    # ---- publish --------------------------------------------------------------------------

    def _publish(self, fits: Sequence[Fit], basis: Basis, centre: Array, note: str) -> None:
        union = np.unique(np.concatenate([fit.active for fit in fits]))
        self.basis_ = basis.keep(union)
        self._columns = [np.searchsorted(union, fit.active) for fit in fits]
        self.posteriors_ = [fit.posterior.shift(centre[fit.active]) for fit in fits]
        self.likelihoods_: list[Any] = [fit.likelihood for fit in fits]
        self._far_variance = None
        self._n_columns = basis.n_columns
        self.history_ = [record for fit in fits for record in fit.history]
        self.n_iter_ = max(len(fit.history) for fit in fits)
        self.status_ = join([fit.status for fit in fits], note)
        for stale in ("coef_", "dual_coef_", "relevance_vectors_"):  # of a fit with another kernel
            self.__dict__.pop(stale, None)
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
        self.intercept_ = self._task.shape(intercepts)
        if self._on_features:
            coef = np.zeros((len(weights), self._n_columns - self._has_constant))
            coef[:, source] = weights
            self.coef_ = self._task.shape(coef)
            self.relevance_ = source
            self._support = self._input_support(source)
        else:
            self.dual_coef_ = self._task.shape(weights)
            self.relevance_ = source
            if not self._precomputed:
                self.relevance_ = self._rows[source]
                self.relevance_vectors_ = self._real_basis.centres
        self.n_relevant_ = int(source.size)

    @property
    def _has_constant(self) -> bool:
        return isinstance(self.basis_, WithConstant)

    @property
    def _real_basis(self) -> Any:
        """The basis without the column of a penalised intercept."""
        return self.basis_.rest if isinstance(self.basis_, WithConstant) else self.basis_

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

    def _latents(self, X: Any, *, far: bool = True) -> tuple[Array, Array]:
        """Return mean and variance of the latent, one column per output.

        ``far`` includes what the model adds far from its training rows, if it does.
        """
        check_is_fitted(self)
        with naming_columns(X):
            X = validate_data(self, X, **ROWS, reset=False)
        X = entries_once(X)
        check_largest(X, "features")
        return self._latents_at(X, far=far)

    def _latents_at(self, X: Any, *, far: bool = True) -> tuple[Array, Array]:
        """Return mean and variance at validated rows, a block at a time."""
        n, outputs = X.shape[0], len(self.posteriors_)
        far_variance = self._far_variance if far else None
        m, v = np.empty((n, outputs)), np.empty((n, outputs))
        for rows in row_blocks(n, self.basis_.n_columns):
            Phi: Any = self.basis_.columns(X[rows])
            check_largest(Phi)
            Phi = as_dense(Phi)
            for k, (posterior, columns) in enumerate(zip(self.posteriors_, self._columns, strict=True)):
                part = Phi[:, columns]
                latent = posterior.latent(part)
                if far_variance is not None:
                    latent = far_variance.apply(X[rows], part, *latent)
                m[rows, k], v[rows, k] = latent
        return m, v

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return self._support

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = True
        return tags


# Selecting features makes sense on features only. The methods are replaced after the class exists:
# scikit-learn has then wrapped `transform` for set_output already, and the wrapping survives.
for _name in ("transform", "fit_transform", "inverse_transform", "get_support"):
    setattr(KernelModel, _name, available_if(_selects_features)(getattr(SelectorMixin, _name)))
KernelModel.get_feature_names_out = available_if(_selects_features)(SelectorMixin.get_feature_names_out)
