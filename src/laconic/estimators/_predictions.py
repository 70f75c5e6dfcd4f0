"""From latents to predictions: classes with probabilities, and values with their deviations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from .._protocols import Array, Basis, Index
from ..likelihoods import REGISTRY as LIKELIHOODS
from ..likelihoods import Binary
from ..magnitude import check_largest
from ..posterior import GaussianPosterior
from ._coupling import couple
from ._reference import as_dense
from ._unseen import Own, Unseen, is_crowded
from ._validation import about_targets, check_one_kind

# The least degrees of freedom that a residual is credited with, as a part of the observations.
_LEFT = 0.1

BINARY = {name: kind for name, kind in LIKELIHOODS.items() if issubclass(kind, Binary)}


def as_targets(y: Any) -> Array:
    """Return the targets of a regression as doubles that can be squared."""
    given = np.asarray(y)
    numbers = given.dtype.kind in "biuf" and np.isfinite(given).all()
    sentence = None if numbers else about_targets(given, numeric=True)
    if sentence is not None:
        raise ValueError(sentence)
    targets: Array = given.astype(np.float64, copy=False)
    check_largest(targets, "targets", "y")
    return targets


class BinaryPredictions(ClassifierMixin):  # type: ignore[misc]
    """Two classes on one latent, more of them one against the rest."""

    likelihoods_: list[Any]
    coupling_: float = 0.0  # of more than two classes; one that is learnt needs rows that were left out
    _latents: Callable[..., tuple[Array, Array]]  # of the model it is mixed into

    def _encode(self, y: Any) -> Sequence[Array]:
        """Remember the classes and return the labels -1, +1 of each output."""
        check_one_kind(y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            only = self.classes_.tolist()[0]
            raise ValueError(f"A classifier needs at least two classes, got one class ({only!r}).")
        positive = [1] if self.classes_.size == 2 else range(self.classes_.size)
        return [np.where(codes == k, 1.0, -1.0) for k in positive]

    def decision_function(self, X: Any) -> Array:
        """Return the moderated latent: its link is the integrated probability.

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
        """Return the logarithms of the probabilities, given mean and variance of each latent."""
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
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        t = self.decision_function(X)
        index = (t > 0).astype(int) if self.classes_.size == 2 else t.argmax(axis=1)
        return np.asarray(self.classes_[index])


class GaussianPredictions(RegressorMixin):  # type: ignore[misc]
    """The latent itself, with its variance and the noise's."""

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
        """Return the residual variance over the degrees of freedom that the fit has left.

        Where parameters are many for the rows, it is at least what rows that are left out ask for;
        ``basis`` has all columns that there were to choose from. ``n_scales`` parameters of the columns
        were fitted to the same rows, and cost a degree of freedom each.
        """
        fitted = self.likelihoods_[0]
        if not fitted.estimate:
            return float(fitted.noise)
        posterior, columns = self.posteriors_[0], self._columns[0]
        latent, v = self._latents_at(X)
        residual, used = y - latent[:, 0], posterior.effective + (posterior.spread > 0)
        total = float(weight.sum())
        left = max(total - used, 1.0)
        noise = max(float(weight @ residual**2) / left, float(fitted.noise))
        if is_crowded(used, weight, kernels=not self._on_features):
            source = self.basis_.source[columns]
            own = Own.nothing() if self._on_features else Own.of(basis, source, X)
            Phi = as_dense(self.basis_.columns(X[own.rows]))[:, columns]
            unseen = Unseen.of(posterior, fitted.noise, own, X, Phi, residual, v[:, 0], weight)
            noise = unseen.noise(noise, weight)
        return noise * max(left / max(left - n_scales, _LEFT * total), 1.0)

    def _shape_output(self, values: Array) -> Any:
        return float(values[0]) if values.ndim == 1 else values[0]

    def predict(self, X: Any) -> Array:
        """Return the posterior mean of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._latents(X)[0][:, 0]

    def predict_dist(self, X: Any) -> tuple[Array, Array]:
        """Return mean and standard deviation of a new observation at each row.

        The variance is that of the latent under the posterior of the kept weights plus the noise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        mean, std : ndarrays of shape (n_samples,)
        """
        m, v = self._latents(X)
        return m[:, 0], np.sqrt(v[:, 0] + self.noise_variance_)
