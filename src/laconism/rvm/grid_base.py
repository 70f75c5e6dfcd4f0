"""What the grid machines share: tables in, and a relevance for every slice out."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse

from .._component import is_count, unknown
from .._protocols import Array, Basis, Index
from ..basis import Features, PerFeature
from ..basis.rows import distinct_rows
from ..model.output import Fit
from ..model.tasks import FitData
from ..model.validation import resolve_gamma
from .base import RelevanceBase
from .variational import Variational

# A mode whose precisions make up less than this part of every sum is switched off.
_OFF = 0.01


def unfold(X: Any) -> tuple[Any, tuple[int, ...] | None]:
    """Return samples as rows, and the shape of each if it had more than one dimension."""
    sparse: bool = issparse(X)
    if sparse or hasattr(X, "columns"):  # a data frame keeps its names
        return X, None
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError("X is ragged: every sample needs the same shape.") from error
    if array.ndim <= 2:
        return X, None
    if array.size == 0:
        raise ValueError(f"X has shape {array.shape}: there is nothing in it.")
    return array.reshape(array.shape[0], -1), array.shape[1:]


def as_grid(grid_shape: Any) -> tuple[int, ...] | None:
    """Return ``grid_shape`` as a tuple, or say what it should have been."""
    if grid_shape is None:
        return None
    sizes = (grid_shape,) if is_count(grid_shape) else grid_shape
    if not (isinstance(sizes, list | tuple) and sizes and all(map(is_count, sizes))):
        raise ValueError(
            f"grid_shape must be None or a tuple of positive whole numbers, got {grid_shape!r}."
        )
    return tuple(int(size) for size in sizes)


class GridRVMBase(RelevanceBase):
    """Shared by classifier and regressor; they add the targets and the predictions."""

    grid_shape: Any
    combine: Any
    basis: Any
    solver: Any
    grid_shape_: tuple[int, ...]

    # A grid takes its columns as they come: what belongs to kernels is fixed.
    kernel = None
    degree = 3
    coef0 = 1.0
    rank_tol: Literal["auto"] = "auto"
    max_rank = 1000

    # ---- tables in ------------------------------------------------------------------------

    def _settle_grid(self, X: Any, shape: tuple[int, ...] | None) -> None:
        """Say which grid the columns of the model lie on, or what does not fit."""
        declared, n_features = as_grid(self.grid_shape), int(X.shape[1])
        if self.basis is not None:
            if not isinstance(self.basis, str) or self.basis != "per_feature_rbf":
                raise unknown("basis", str(self.basis), ["per_feature_rbf"])
            if declared is not None or shape is not None:
                raise ValueError(
                    "basis='per_feature_rbf' makes a grid of features by rows of its own: it needs X of "
                    "shape (n_samples, n_features) and grid_shape=None."
                )
            self._sample_shape, self.grid_shape_ = None, (n_features, distinct_rows(X)[0].size)
            return
        if declared is not None and (shape or declared) != declared:
            raise ValueError(f"grid_shape is {declared}, but each sample of X has shape {shape}.")
        if declared is not None and prod(declared) != n_features:
            raise ValueError(
                f"grid_shape={declared} has {prod(declared)} entries, but each sample of X has "
                f"{n_features}."
            )
        self.grid_shape_ = shape or declared or (n_features,)
        self._sample_shape = self.grid_shape_

    def _make_basis(self, X: Array, weight: Array) -> Basis:
        gamma = resolve_gamma(self.gamma, X, weight)
        if self.basis is None:
            return Features(np.arange(X.shape[1]))
        # By name, as if each feature were alone.
        return PerFeature.on_rows(gamma * X.shape[1] if isinstance(self.gamma, str) else gamma, X)

    def _make_solver(self) -> Variational:
        return Variational(self.grid_shape_, self.combine, self.solver, self.shape, self.rate)

    def _unfold(self, X: Any) -> Any:
        """Return new samples as rows, after a look at their shape."""
        flat, shape = unfold(X)
        known = getattr(self, "_sample_shape", shape)  # an unfitted model says so itself
        if shape is not None and shape != known:
            fitted = (
                f"rows of {self.n_features_in_} features"
                if known is None
                else f"samples of shape {known}"
            )
            raise ValueError(
                f"Each sample of X has shape {shape}, but the model was fitted on {fitted}."
            )
        return flat

    def _latents(self, X: Any, *, far: bool = True) -> tuple[Array, Array]:
        return super()._latents(self._unfold(X), far=far)

    def transform(self, X: Any) -> Any:
        """Return the features that were kept, one row per sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, M1, M2, ...)

        Returns
        -------
        ndarray of shape (n_samples, n_kept)
        """
        return super().transform(self._unfold(X))

    def _fit_data(self, X: Any, y: Any, sample_weight: Any) -> FitData:
        X, shape = unfold(X)
        data = super()._fit_data(X, y, sample_weight)
        self._settle_grid(data.X, shape)
        return data

    def _fit_rows(self, data: FitData) -> None:
        """Learn the precisions of the slices and publish weights, precisions and noise."""
        built, fits = self._solve(data)
        self._set_modes(fits)
        if not self._task.classifies:
            X, weight, (y,), _ = data
            self.noise_variance_ = self._noise_variance(X, y, weight, built.basis)

    # ---- relevances out -------------------------------------------------------------------

    def _set_weights(self, weights: Array, intercepts: Array, source: Index) -> None:
        coef = np.zeros((len(weights), prod(self.grid_shape_)))
        coef[:, source] = weights
        self.coef_ = self._task.shape(coef.reshape(-1, *self.grid_shape_))
        self.intercept_ = self._task.shape(intercepts)
        self.relevance_, self.n_relevant_ = source, int(source.size)
        basis: Any = self.basis_
        self._support = np.zeros(self.n_features_in_, dtype=bool)
        self._support[source if self.basis is None else basis.feature] = True

    def _set_modes(self, fits: Sequence[Fit]) -> None:
        """Write precision and relevance of every slice, one array per mode."""
        self.mode_precision_, self.mode_relevance_ = [], []
        for mode, size in enumerate(self.grid_shape_):
            precision, relevance = np.full((len(fits), size), np.inf), np.zeros((len(fits), size))
            for k, fit in enumerate(fits):
                kept = fit.state.kept[mode]
                precision[k, kept] = fit.state.precisions.means[mode]
                relevance[k, kept] = fit.state.relevance(mode)
            one = len(fits) == 1
            self.mode_precision_.append(precision[0] if one else precision)
            self.mode_relevance_.append(relevance[0] if one else relevance)

    def _note(self, fits: Sequence[Fit]) -> str:
        """Return a sentence about each mode that the sum has switched off."""
        if self.combine != "sum" or len(self.grid_shape_) == 1:
            return ""
        off = [self._switched_off(fit.state) for fit in fits]
        return "".join(
            f" Mode {mode} is switched off: beside the precisions of the others its own are next to "
            "nothing, so they do not tell its slices apart."
            for mode in range(len(self.grid_shape_))
            if all(mode in modes for modes in off)
        )

    def _switched_off(self, state: Any) -> list[int]:
        """Return the modes that neither dropped a slice nor have a part in any precision."""
        if not state.w.any():
            return []
        shares, sizes = state.precisions.largest_shares(), state.precisions.grid
        return [k for k, full in enumerate(self.grid_shape_) if sizes[k] == full and shares[k] < _OFF]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
