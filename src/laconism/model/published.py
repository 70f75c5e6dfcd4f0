"""The fitted attributes of a model, and its latents at new rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .._component import is_name
from .._protocols import Array, Basis, Index
from ..linalg import as_dense, row_blocks
from ..magnitude import check_largest, in_double, squares_safely
from ..solvers import Status
from .bases import input_support, without_constant
from .far_variance import FarVariance
from .output import Fit, join
from .tasks import Labels, Values
from .validation import ROWS, entries_once, naming_columns, unfold_like


def _selects_features(estimator: Any) -> bool:
    if not (estimator._on_features or estimator._kernel_selects_features):
        raise AttributeError(
            f"{type(estimator).__name__} selects features only with kernel=None; with a kernel it "
            "selects rows, see relevance_."
        )
    return True


class PublishedModel(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """The posterior of the weights of a few columns, written once by a fit and then only read."""

    status_: Status

    _task: Labels | Values
    _has_own_order = False  # whether a fit sorts its rows in its own way
    _takes_grids = False  # whether a sample may be a table or tensor
    _sample_shape: tuple[int, ...] | None = None  # of the tables that it was fitted on
    _far_variance: FarVariance | None = None
    _chose_features: bool | None = None  # set by a fit that chose between features and kernels
    _rows: Index  # training rows of positive weight

    @property
    def _precomputed(self) -> bool:
        return is_name(getattr(self, "kernel", None), "precomputed")

    _kernel_selects_features = False  # whether a model with a kernel selects features too

    @property
    def _on_features(self) -> bool:
        """Whether its columns are features, and not kernels."""
        if self._chose_features is not None:
            return self._chose_features
        return getattr(self, "kernel", None) is None

    @property
    def _sorts_rows(self) -> bool:
        """Whether ``fit`` sorts the rows, so that their order does not matter; sums need no order."""
        return not (self._on_features or self._precomputed or self._has_own_order)

    # ---- publish --------------------------------------------------------------------------

    def _publish(
        self,
        fits: Sequence[Fit],
        basis: Basis,
        centre: Array,
        note: str,
        coef_shape: tuple[int, ...] = (-1,),
    ) -> list[Fit]:
        """Write the fitted attributes, given one fit per output on the columns of ``basis``.

        They are returned with their columns in the order of the rows or features that were given.
        ``centre`` was subtracted from the columns. ``note`` is added to the message of ``status_``, and
        ``coef_shape`` is the shape of one output's weights in ``coef_``.
        """
        union = np.unique(np.concatenate([fit.active for fit in fits]))
        union = union[self._given_order(basis.source[union])]
        place = np.empty(basis.n_columns, dtype=np.intp)
        place[union] = np.arange(union.size)
        self.basis_ = basis.keep(union)
        if self._sorts_rows:
            fits = [fit.in_order(np.argsort(place[fit.active])) for fit in fits]
        self._columns = [place[fit.active] for fit in fits]
        self.posteriors_ = [fit.posterior.shift(centre[fit.active]) for fit in fits]
        self.likelihoods_: list[Any] = [fit.likelihood for fit in fits]
        self._far_variance = None
        self.history_ = [record for fit in fits for record in fit.history]
        self.n_iter_ = max(len(fit.history) for fit in fits)
        self.status_ = join([fit.status for fit in fits], note)
        for stale in ("coef_", "dual_coef_", "relevance_vectors_"):  # of a fit with another kernel
            self.__dict__.pop(stale, None)
        self._publish_weights(basis, coef_shape)
        return list(fits)

    def _given_order(self, source: Index) -> Index:
        """Return columns of these sources in the order in which their rows were given.

        Only where the fit has sorted the rows, and no row has several columns.
        """
        if not self._sorts_rows or np.unique(source).size < source.size:
            return np.arange(source.size)
        return np.argsort(np.where(source < 0, -1, self._rows[source]), kind="stable")

    def _publish_weights(self, basis: Basis, coef_shape: tuple[int, ...]) -> None:
        """Write scikit-learn's attributes: ``coef_`` on features, ``dual_coef_`` on rows."""
        weights, intercepts = self._weights()
        source = self.basis_.source
        real = source >= 0  # the constant column of a penalised intercept has no source
        weights, source = weights[:, real], source[real]
        kept = without_constant(self.basis_)
        self.intercept_ = self._task.shape(intercepts)
        self.n_relevant_ = int(source.size)
        self.relevance_ = source
        if self._on_features:
            coef = np.zeros((len(weights), without_constant(basis).n_columns))
            coef[:, source] = weights
            self.coef_ = self._task.shape(coef.reshape(len(coef), *coef_shape))
            self._support = input_support(kept, source, self.n_features_in_)
            return
        self.dual_coef_ = self._task.shape(weights)
        if not self._precomputed:
            self.relevance_ = self._rows[source]
            self.relevance_vectors_ = kept.centres

    def _multiply_variances(self, factor: float) -> None:
        """Multiply the variances of all weights, as the last step of a search."""
        self.posteriors_ = [posterior.times(factor) for posterior in self.posteriors_]

    def _weights(self) -> tuple[Array, Array]:
        """Return one row of weights per output on the kept columns, and the intercepts."""
        source = self.basis_.source
        weights = np.zeros((len(self.posteriors_), source.size))
        for row, posterior, columns in zip(weights, self.posteriors_, self._columns, strict=True):
            row[columns] = posterior.mean
        intercepts = np.array([posterior.intercept for posterior in self.posteriors_])
        return weights, intercepts + weights[:, source < 0].sum(axis=1)

    # ---- predict --------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posteriors_")

    def _as_rows(self, X: Any) -> Any:
        """Return samples as rows; a model on grids accepts tables too."""
        check_is_fitted(self)
        return unfold_like(X, self._sample_shape, self.n_features_in_) if self._takes_grids else X

    def _latents(self, X: Any, *, far: bool = True) -> tuple[Array, Array]:
        """Return mean and variance of each output's latent; ``far`` includes the far variance."""
        X = self._as_rows(X)
        with naming_columns(X):
            X = validate_data(self, X, **ROWS, reset=False)
        X = entries_once(X)
        if not squares_safely(X):
            X = in_double(X, "features")
        return self._latents_at(X, far=far)

    def _latents_at(self, X: Any, *, far: bool = True) -> tuple[Array, Array]:
        """Return mean and variance of the latent at validated rows, computed in blocks."""
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

    # ---- select ---------------------------------------------------------------------------

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return self._support

    def transform(self, X: Any) -> Any:
        """Return the features that were kept, one row per sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A model on grids also accepts shape (n_samples, M1, M2, ...).

        Returns
        -------
        ndarray of shape (n_samples, n_kept)
        """
        return super().transform(self._as_rows(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = self._takes_grids
        return tags


# Only models on features select features. The methods are replaced after the class exists: scikit-learn
# has then wrapped `transform` for set_output, and the wrapper is kept.
for _name in ("transform", "fit_transform", "inverse_transform", "get_support", "get_feature_names_out"):
    setattr(PublishedModel, _name, available_if(_selects_features)(getattr(PublishedModel, _name)))
