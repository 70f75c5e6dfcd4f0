"""From latents to predictions: classes with probabilities, and values with standard deviations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length, column_or_1d

from .._component import is_positive
from .._protocols import Array, Basis, Index
from ..judging.calibrate import press_noise
from ..judging.left_out import OwnKernelPart, PressResiduals, has_few_rows
from ..likelihoods import Gaussian
from ..linalg import LEAST_REMAINDER, as_dense
from ..posterior import GaussianPosterior
from .calibration import calibrate_labels, calibrate_noise
from .multiclass import couple

if TYPE_CHECKING:
    from .output import Fit
    from .tasks import FitData


class BinaryPredictions(ClassifierMixin):  # type: ignore[misc]
    """Predictions of two classes from one latent, and of more classes one against the rest."""

    likelihoods_: list[Any]
    coupling_: float = 0.0  # of more than two classes; zero unless it is learnt from left-out rows
    _latents: Callable[..., tuple[Array, Array]]  # of the model it is mixed into

    def _calibrated(self, data: FitData, fits: Sequence[Fit]) -> list[Fit]:
        """Return fits whose latents are scaled and shifted so that left-out labels are most probable."""
        return calibrate_labels(self, data, fits)

    def decision_function(self, X: Any) -> Array:
        """Return the moderated latent, whose link is the integrated probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) for more than two classes
        """
        return self._moderated(*self._latents(X))

    def _moderated(self, m: Array, v: Array) -> Array:
        t = np.column_stack(
            [likelihood.moderate(m[:, k], v[:, k]) for k, likelihood in enumerate(self.likelihoods_)]
        )
        return t[:, 0] if self.classes_.size == 2 else t

    def _log_proba_of(self, m: Array, v: Array) -> Array:
        """Return the log probabilities, given mean and variance of each latent."""
        t = self._moderated(m, v)
        link = self.likelihoods_[0].log_link
        if self.classes_.size == 2:
            return np.column_stack([link(-t), link(t)])
        return couple(link(t), link(-t), self.coupling_)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of the integrated probabilities, exact in the tails.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._log_proba_of(*self._latents(X))

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes, integrated over the posterior of the weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row, the first of those that are equally probable.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        index = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[index])


class GaussianPredictions(RegressorMixin):  # type: ignore[misc]
    """Predictions of values: the latent, with its variance and that of the noise."""

    likelihoods_: list[Any]
    posteriors_: list[GaussianPosterior]
    noise_variance_: float
    _latents: Callable[..., tuple[Array, Array]]
    _latents_at: Callable[..., tuple[Array, Array]]
    _columns: list[Index]
    _on_features: bool
    basis_: Basis

    def _noise_variance(
        self, X: Array, y: Array, weight: Array, basis: Basis, n_scales: int = 0
    ) -> float:
        """Return the noise variance of the residuals, by their degrees of freedom.

        If rows are few for the parameters, it is at least that of the leave-one-out residuals. ``basis``
        has all candidate columns, whose ``n_scales`` parameters cost a degree of freedom each.
        """
        fitted = self.likelihoods_[0]
        if not fitted.estimate:
            return float(fitted.variance)
        posterior, columns = self.posteriors_[0], self._columns[0]
        latent, v = self._latents_at(X, far=False)
        residual, used = y - latent[:, 0], posterior.effective + (posterior.spread > 0)
        total = float(weight.sum())
        left = max(total - used, 1.0)
        squares = weight @ fitted.squares(y, latent[:, 0])
        noise = max(float(squares) / left, float(fitted.noise))
        # The formula of leave-one-out residuals holds for Gaussian noise only.
        gaussian = isinstance(fitted, Gaussian)
        if gaussian and has_few_rows(used, weight, kernels=not self._on_features):
            source = self.basis_.source[columns]
            own = OwnKernelPart.nothing() if self._on_features else OwnKernelPart.of(basis, source, X)
            Phi = as_dense(self.basis_.columns(X[own.rows]))[:, columns]
            press = PressResiduals.of(posterior, fitted.noise, own, X, Phi, residual, v[:, 0], weight)
            noise = press_noise(press.error, press.variance, weight, noise)
        noise *= max(left / max(left - n_scales, LEAST_REMAINDER * total), 1.0)
        return float(noise * (fitted.variance / fitted.noise))

    def _calibrate_noise(self, data: FitData) -> None:
        """Raise the noise variance to that of left-out residuals."""
        self.noise_variance_ = calibrate_noise(self, data, self.noise_variance_)

    def predict(self, X: Any) -> Array:
        """Return the posterior mean at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._latents(X, far=False)[0][:, 0]

    def predict_dist(self, X: Any, *, augment: bool = True) -> tuple[Array, Array]:
        """Return mean and standard deviation of a new observation at each row.

        The variance is that of the latent under the posterior of the kept weights, plus that of the
        noise. Noise with heavy tails has the variance of the Gaussian with the same probability within
        two standard deviations; for other probabilities see :meth:`predict_interval`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        augment : bool, default=True
            Whether to include the variance that the kept kernels lack far from the training rows.
            :class:`~laconism.LaconicRegressor` adds the variance of its prior and leaves the mean
            unchanged. :class:`~laconism.RVMRegressor` adds one more kernel at each row (RVM*), whose
            weight is learnt from the residuals near it; the mean then differs from that of
            :meth:`predict`, mostly far from the relevance vectors. Other models, and models on features
            or with ``kernel="precomputed"``, add nothing.

        Returns
        -------
        mean, std : ndarrays of shape (n_samples,)
        """
        m, v = self._latents(X, far=augment)
        return m[:, 0], np.sqrt(v[:, 0] + self.noise_variance_)

    def predict_interval(self, X: Any, coverage: float = 0.95) -> tuple[Array, Array]:
        """Return the predictive interval of a new observation at each row.

        With Gaussian noise it is the Gaussian interval of :meth:`predict_dist`. With heavy tails it is
        that of the sum of latent and noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.95
            The probability with which the observation is inside, between 0 and 1.

        Returns
        -------
        low, high : ndarrays of shape (n_samples,)
        """
        if not (is_positive(coverage) and coverage < 1):
            raise ValueError(f"coverage must be a number between 0 and 1, got {coverage!r}.")
        m, v, unit = self._around(X)
        half = unit * self.likelihoods_[0].half_width(v, coverage)
        return m - half, m + half

    def log_density(self, X: Any, y: Any) -> Array:
        """Return the predictive log density of an observation at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            The observations.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        m, v, unit = self._around(X)
        y = column_or_1d(y, dtype=np.float64)
        check_consistent_length(X, y)  # one observation would be broadcast to every row
        away = (y - m) / unit
        return np.asarray(self.likelihoods_[0].predictive(away, np.zeros_like(v), v) - np.log(unit))

    def _around(self, X: Any) -> tuple[Array, Array, float]:
        """Return mean and variance of the latent, and the unit of that variance.

        The unit is the published noise deviation, by its degrees of freedom, over the likelihood's.
        """
        m, std = self.predict_dist(X)
        unit = float(np.sqrt(self.noise_variance_ / self.likelihoods_[0].variance))
        return m, np.maximum(std**2 - self.noise_variance_, 0.0) / unit**2, unit
