"""The flagship: a dense reference, projected onto few kernels or features."""

from __future__ import annotations

import time
from typing import Any

from .._component import is_count, is_name, is_positive
from ..model.predictions import BinaryPredictions, GaussianPredictions
from ..model.tasks import FitData, Labels, Values
from .fit import fit_laconic
from .path_model import PathModel
from .settings import Settings
from .sparse_prior import SPARSE_FITS
from .tasks import REFERENCE_NOISES


class LaconicModel(PathModel):
    """What the flagship classifier and regressor share."""

    tolerance: Any
    weigh_features: bool
    max_kernels: int | None
    _no_precomputed = "kernel='precomputed' has no reference to project; pass the kernel itself."

    def _own_rules(self) -> dict[str, tuple[bool, str]]:
        tolerance, most = self.tolerance, self.max_kernels
        return {
            "tolerance": (
                is_positive(tolerance) or is_name(tolerance, "auto"),
                "a positive number of nats or 'auto'",
            ),
            "max_kernels": (most is None or is_count(most), "None or a positive whole number"),
        }

    def _fit_rows(self, data: FitData) -> None:
        """Choose a candidate and publish its projection."""
        began = time.perf_counter()
        self._publish_fit(fit_laconic(Settings.of(self), data, SPARSE_FITS), began)


class LaconicClassifier(BinaryPredictions, LaconicModel):
    r"""Classifier that needs no tuning: a Gaussian process, projected onto a few kernels.

    The fit has two steps. First a dense *reference* is fitted: a Gaussian process, or a kernel on every
    row with independent weights of one variance if that is clearly better. Its kernel width and
    precision are chosen by the leave-one-out log density and the evidence. Then the reference is
    *projected* onto the fewest kernels whose probabilities are within ``tolerance`` nats per observation
    of its own. Probabilities are integrated over the posterior of the weights. *Clearly better* always
    means that left-out rows are predicted better by more than chance explains.

    Features are standardised inside. Features with long tails are squashed,
    ``asinh((x - median) / spread)``, for the rbf and Matern kernels if that is clearly better
    (``kernel_.spread``).

    Parameters
    ----------
    kernel : "auto", "rbf", "matern", "linear", "poly", None, Kernel or callable, default="auto"
        ``None`` uses the features themselves instead of kernels. ``"auto"`` is the rbf kernel. On wide
        data (at most 600 rows, and fewer than four for each feature) the features compete with it:
        up to as many features as rows, they are taken if they are clearly better; with more features
        than rows, the kernel is taken only if that is clearly better.
    gamma : float or "auto", default="auto"
        Parameter of the named kernels, on standardised features. ``"auto"`` searches for it.
    tolerance : float or "auto", default="auto"
        Largest loss of the sparse model: the mean Kullback-Leibler divergence of its probabilities from
        those of the reference, in nats per observation. The fewest kernels within it are taken.
        ``"auto"`` is 0.004 for kernels, and more kernels are added while each gains at least 0.0002; it
        is 0.002 for features.
    weigh_features : bool, default=True
        Whether features may have different weights in the distance between rows (ARD). They do if
        weights learnt on one half of the rows clearly improve the predictions of the other half.
    max_kernels : int or None, default=None
        Largest number of kernels, or of features for each output. ``None`` is 64 or one for every 30
        rows, whichever is larger, but at most 200; with more than two classes it is 200. Where features
        outnumber rows, more of them are taken if their cross-validated log density is clearly better.
    likelihood : {"probit", "logistic"} or Binary, default="probit"
        Distribution of the label.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    max_rank : int, default=1000
        Largest rank of the factorisation of the kernel matrix; ``status_`` reports if it was reached.
    class_weight : None, dict or "balanced", default=None
        Weights of the classes, multiplied with ``sample_weight``.
    n_jobs : int or None, default=None
        Number of workers for the one-against-rest problems of more than two classes.
    callbacks : None, callable or list of callables, default=None
        Each is called with a :class:`~laconism.solvers.Record` for every size of the path; the
        objective is minus the loss in nats per observation. Returning ``True`` ends the path there.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    path_ : list of PathPoint
        ``kernels, nats, output``: the size of each model on the path, and its loss in nats per
        observation. All classes share their kernels, so there is one path, of output 0. Features are
        chosen for each class separately.
    reference_ : list of Reference
        The dense model of each output. On wide data with ``kernel=None`` it is a model under a sparse
        prior if that is clearly better. ``reference_[0].latent(X)`` returns mean and variance of the
        latent; ``mean_scale`` is the factor of the mean that calibrates left-out probabilities.
    coupling_ : float
        With more than two classes, the probability of a class is proportional to
        ``p / (1 - p) ** coupling_``, with its probability ``p`` against the rest. It maximises the
        leave-one-out log density.
    tolerance_ : float
        The tolerance in use, in nats per observation.
    gamma_ : float
        Parameter of the kernel; with a kernel only.
    kernel_ : Kernel
        The kernel, feature weights included; with a kernel only.
    feature_scales_ : ndarray of shape (n_features,)
        Weight of each feature in the distance between rows, on average one; with a kernel only.
    dual_coef_, coef_, intercept_, relevance_, relevance_vectors_, n_relevant_, status_, history_
        As in :class:`SparseBayesClassifier`.

    Examples
    --------
    >>> from laconism import LaconicClassifier
    >>> from laconism.datasets import make_ripley
    >>> X, y = make_ripley(250, random_state=0)
    >>> model = LaconicClassifier().fit(X, y)
    >>> bool(model.n_relevant_ < 20), bool(model.score(X, y) > 0.85)
    (True, True)
    >>> model.with_kernels(2).n_relevant_
    2
    """

    _task = Labels()

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        gamma: Any = "auto",
        tolerance: Any = "auto",
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


class LaconicRegressor(GaussianPredictions, LaconicModel):
    r"""Regressor that needs no tuning: a Gaussian process, projected onto a few kernels.

    The regression counterpart of :class:`LaconicClassifier`. A dense *reference* is fitted, and then
    *projected* onto the fewest kernels whose predictions are within ``tolerance`` nats per observation
    of its own. The posterior of the weights is projected too. Far from the kept kernels the variance of
    the Gaussian process prior is added, so that error bars grow away from the data.

    Parameters
    ----------
    kernel : "auto", "rbf", "matern", "linear", "poly", None, Kernel or callable, default="auto"
        ``None`` uses the features themselves instead of kernels. ``"auto"`` is the rbf kernel, or the
        Matern kernel if that is clearly better, as for functions with steps and corners (up to
        ``max_rank`` rows). On wide data the features compete with it as in :class:`LaconicClassifier`.
    gamma : float or "auto", default="auto"
        Parameter of the named kernels, on standardised features. ``"auto"`` searches for it.
    tolerance : float or "auto", default="auto"
        Largest loss of the sparse model: the mean squared difference of its mean from that of the
        reference, over twice the predictive variance, in nats per observation. ``"auto"`` as in
        :class:`LaconicClassifier`.
    weigh_features : bool, default=True
        Whether features may have different weights in the distance between rows (ARD). They do if
        weights learnt on one half of the rows clearly improve the predictions of the other half. With
        Gaussian noise and at least four rows for each feature they maximise the evidence.
    max_kernels : int or None, default=None
        Largest number of kernels, or of features. ``None`` is 64 or one for every 30 rows, whichever is
        larger, but at most 200. It is doubled if the largest model would lose more than 0.1 nats per
        observation at new rows, as it may with very little noise. Where features outnumber rows, more
        of them are taken as in :class:`LaconicClassifier`.
    likelihood : {"gaussian", "student", "auto"} or Noise, default="gaussian"
        Distribution of the noise. ``"student"`` has heavy tails, for data with outliers:
        :class:`~laconism.likelihoods.Student`. ``"auto"`` is Gaussian unless the leave-one-out residuals
        have heavy tails; then a second fit with Student's noise is taken if it is clearly better. With
        ``"gaussian"`` ``status_`` recommends ``"student"`` if there are outliers.
        ``Gaussian(noise=0.1, estimate=False)`` of :mod:`laconism.likelihoods` fixes the noise variance.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    max_rank : int, default=1000
        Largest rank of the factorisation of the kernel matrix; ``status_`` reports if it was reached.
    n_jobs : int or None, default=None
        Not used: there is one output. All estimators have this parameter.
    callbacks : None, callable or list of callables, default=None
        As in :class:`LaconicClassifier`.

    Attributes
    ----------
    noise_variance_ : float
        Variance of the noise. With heavy tails it is that of the Gaussian with the same probability
        within two standard deviations.
    path_, reference_, tolerance_, gamma_, kernel_, feature_scales_
        As in :class:`LaconicClassifier`.
    dual_coef_, coef_, intercept_, relevance_, relevance_vectors_, n_relevant_, status_, history_
        As in :class:`SparseBayesRegressor`.

    Examples
    --------
    >>> from laconism import LaconicRegressor
    >>> from laconism.datasets import make_sinc
    >>> X, y = make_sinc(100, random_state=0)
    >>> model = LaconicRegressor().fit(X, y)
    >>> bool(model.n_relevant_ < 20), bool(model.score(X, y) > 0.85)
    (True, True)
    """

    _task = Values(REFERENCE_NOISES)

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        gamma: Any = "auto",
        tolerance: Any = "auto",
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
