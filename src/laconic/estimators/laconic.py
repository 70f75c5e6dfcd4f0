"""The flagship: a dense model, said in fewer words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from .._component import resolve
from .._protocols import Array
from ..likelihoods import Binary, Gaussian, Soft
from ..linalg import Triangle
from ..posterior import GaussianPosterior
from ..relevance import Mode
from ..solvers import Problem
from ._callbacks import with_callbacks
from ._laconic import LaconicBase
from ._predictions import BINARY, BinaryPredictions, GaussianPredictions, as_targets
from ._reference import Reference, best_stretch
from ._threads import one_blas_thread

# The least noise of a reference, as a part of the target's variance. One that passes through its data
# without any would ask its few kernels to do the same, to the last digit.
_LEAST_NOISE = 1e-8


class LaconicClassifier(BinaryPredictions, LaconicBase):
    r"""A classifier without decisions to make: as good as a Gaussian process, with a handful of kernels.

    First a dense *reference* is fitted: a kernel on every row, one precision for all weights. That
    precision, the width of the kernel and what each feature counts in it are chosen by how well rows are
    predicted that were left out; probabilities are integrated over the posterior. Then it is
    *projected*: the fewest kernels whose probabilities stay within ``tolerance`` nats per observation of
    the reference's. Features are standardised inside.

    Parameters
    ----------
    kernel : "rbf", "matern", "linear", "poly", None, Kernel or callable, default="rbf"
        ``None`` projects onto the features themselves.
    gamma : float or "auto", default="auto"
        Of the named kernels, on standardised features; ``"auto"`` finds it.
    tolerance : float, default=0.002
        What the sparse model may lose: the mean Kullback-Leibler divergence between its probabilities
        and the reference's, in nats per observation.
    weigh_features : bool, default=True
        Whether a feature may count for more than another in the distance between rows. It does if the
        weights that one half of the rows asks for clearly help to predict the other half.
    max_kernels : int or None, default=None
        Most kernels (or features) for each output; ``None`` is 64.
    likelihood : {"probit", "logistic"} or Binary, default="probit"
        Distribution of the label.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    max_rank : int, default=1000
        Rank at which the factorisation of the kernel matrix stops; ``status_`` says so.
    class_weight : None, dict or "balanced", default=None
        Weights of the classes, multiplied with ``sample_weight``.
    n_jobs : int or None, default=None
        Workers for the one-against-rest problems of more than two classes.
    callbacks : None, callable or list of callables, default=None
        Each is called with a :class:`~laconic.solvers.Record` after every size of the path; the
        objective is minus the nats lost. Returning ``True`` ends the path there.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    path_ : list of Point
        ``kernels, nats, output``: what the model of each size loses.
    reference_ : list of Reference
        The dense model of each output; ``reference_[0].latent(X)`` is its latent's mean and variance,
        ``stretch`` the factor by which rows left out ask for more (or less) confidence.
    tolerance_ : float
    gamma_ : float
    kernel_ : Kernel
    feature_scales_ : ndarray of shape (n_features,)
        What each feature counts in the distance between rows, on average one.
    dual_coef_, coef_, intercept_, relevance_, relevance_vectors_, n_relevant_, status_, history_
        As in :class:`SparseBayesClassifier`.

    Examples
    --------
    >>> from laconic import LaconicClassifier
    >>> from laconic.datasets import make_ripley
    >>> X, y = make_ripley(250, random_state=0)
    >>> model = LaconicClassifier().fit(X, y)
    >>> bool(model.n_relevant_ < 20), bool(model.score(X, y) > 0.85)
    (True, True)
    >>> model.with_kernels(2).n_relevant_
    2
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "auto",
        tolerance: float = 0.002,
        weigh_features: bool = True,
        max_kernels: int | None = None,
        likelihood: Any = "probit",
        fit_intercept: bool = True,
        max_rank: int = 1000,
        class_weight: Any = None,
        n_jobs: int | None = None,
        callbacks: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.tolerance = tolerance
        self.weigh_features = weigh_features
        self.max_kernels = max_kernels
        self.likelihood = likelihood
        self.fit_intercept = fit_intercept
        self.max_rank = max_rank
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 equals a row written twice, weight 0 a row left out.

        Returns
        -------
        self
        """
        with self._all_or_nothing(), one_blas_thread():
            return self._fit(X, y, sample_weight)  # type: ignore[no-any-return]

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        X, y, weight = self._validate(X, y, sample_weight, self.class_weight)
        likelihood = resolve("likelihood", self.likelihood, BINARY, Binary)
        self._solve(X, weight, self._encode(y), likelihood)
        return self

    def _calibrate(self, reference: Reference, dense: Problem) -> Reference:
        binary: Any = reference.likelihood
        t = binary.moderate(reference.left_m, reference.left_v)
        return replace(reference, stretch=best_stretch(dense, t))

    def _soften(self, reference: Reference, weight: Array) -> tuple[Array, Any]:
        """Return the latent whose plain probability is the reference's integrated one."""
        binary: Any = reference.likelihood
        return reference.stretch * binary.moderate(reference.m, reference.v), Soft(binary)


class LaconicRegressor(GaussianPredictions, LaconicBase):
    r"""A regressor without decisions to make: as good as a Gaussian process, with a handful of kernels.

    The regression twin of :class:`LaconicClassifier`: a dense reference with noise and precision by the
    evidence, projected onto the fewest kernels whose predictions stay within ``tolerance`` nats per
    observation of the reference's. The posterior of the weights is the reference's, projected too.

    Parameters
    ----------
    kernel : "rbf", "matern", "linear", "poly", None, Kernel or callable, default="rbf"
        ``None`` projects onto the features themselves.
    gamma : float or "auto", default="auto"
        Of the named kernels, on standardised features; ``"auto"`` finds it.
    tolerance : float, default=0.002
        What the sparse model may lose: the mean squared difference from the reference's mean over twice
        its predictive variance, in nats per observation.
    weigh_features : bool, default=True
        Whether a feature may count for more than another in the distance between rows. It does if the
        weights that one half of the rows asks for clearly help to predict the other half.
    max_kernels : int or None, default=None
        Most kernels (or features); ``None`` is 64.
    likelihood : "gaussian" or Gaussian, default="gaussian"
        ``Gaussian(noise=0.1, estimate=False)`` of :mod:`laconic.likelihoods` fixes the noise variance.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    max_rank : int, default=1000
        Rank at which the factorisation of the kernel matrix stops; ``status_`` says so.
    n_jobs : int or None, default=None
        Unused by a single output; here so that all estimators share it.
    callbacks : None, callable or list of callables, default=None
        As in :class:`LaconicClassifier`.

    Attributes
    ----------
    noise_variance_ : float
        Variance of the noise.
    path_, reference_, tolerance_, gamma_, kernel_, feature_scales_
        As in :class:`LaconicClassifier`.
    dual_coef_, coef_, intercept_, relevance_, relevance_vectors_, n_relevant_, status_, history_
        As in :class:`SparseBayesRegressor`.

    Examples
    --------
    >>> from laconic import LaconicRegressor
    >>> from laconic.datasets import make_sinc
    >>> X, y = make_sinc(100, random_state=0)
    >>> model = LaconicRegressor().fit(X, y)
    >>> bool(model.n_relevant_ < 20), bool(model.score(X, y) > 0.85)
    (True, True)
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "auto",
        tolerance: float = 0.002,
        weigh_features: bool = True,
        max_kernels: int | None = None,
        likelihood: Any = "gaussian",
        fit_intercept: bool = True,
        max_rank: int = 1000,
        n_jobs: int | None = None,
        callbacks: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.tolerance = tolerance
        self.weigh_features = weigh_features
        self.max_kernels = max_kernels
        self.likelihood = likelihood
        self.fit_intercept = fit_intercept
        self.max_rank = max_rank
        self.n_jobs = n_jobs
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the regressor.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight 2 equals a row written twice, weight 0 a row left out.

        Returns
        -------
        self
        """
        with self._all_or_nothing(), one_blas_thread():
            return self._fit(X, y, sample_weight)  # type: ignore[no-any-return]

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        X, y, weight = self._validate(X, y, sample_weight, y_numeric=True)
        y = as_targets(y)
        default = {"gaussian": lambda: Gaussian(floor=_LEAST_NOISE)}
        likelihood = resolve("likelihood", self.likelihood, default, Gaussian)
        self._solve(X, weight, [y], likelihood)
        self.noise_variance_ = float(self.likelihoods_[0].noise)
        return self

    def _soften(self, reference: Reference, weight: Array) -> tuple[Array, Any]:
        """Return the reference's mean, and a Gaussian of its predictive variance around it."""
        noise: Any = reference.likelihood
        share = weight / weight.sum()
        return reference.m, Gaussian(float(noise.noise + share @ reference.v), estimate=False)

    def _posterior(self, mode: Mode, reference: Reference, dense: Problem) -> GaussianPosterior:
        r"""Return the projection of the reference's posterior, which is linear in its weights."""
        plain = super()._posterior(mode, reference, dense)
        if not mode.w.size:
            return plain
        r, design = mode.r, mode.problem.design
        kept = design.matvec(np.eye(mode.w.size))
        cross = dense.design.rmatvec(r[:, None] * kept).T
        cross = cross - np.outer(design.rmatvec(r), reference.posterior.centre)
        root = mode.ridge.root[:, None]
        onto = root * mode.ridge.factor.solve(root * cross)
        covariance = onto @ reference.posterior.covariance_dot(onto.T)
        return GaussianPosterior(
            plain.mean,
            plain.intercept,
            plain.centre,
            reference.posterior.spread,
            np.asarray(Triangle.of(covariance).lower.T),
            None,
            plain.effective,
        )
