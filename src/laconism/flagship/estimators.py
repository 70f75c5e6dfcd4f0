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
from .sparse_prior import sparse_fits
from .tasks import REFERENCE_NOISES


class LaconicModel(PathModel):
    """A flagship, for labels or for values."""

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
        """Fit every candidate and publish the winner."""
        began = time.perf_counter()
        found = fit_laconic(Settings.of(self), data, sparse_fits)
        self._publish_fit(found.winner, found.coupling, found.rows, began)


class LaconicClassifier(BinaryPredictions, LaconicModel):
    r"""A classifier without decisions to make: as good as a Gaussian process, with a handful of kernels.

    First a dense *reference* is fitted: a Gaussian process, or a kernel on every row with one precision
    for all weights where that is clearly better. The precision, the width of the kernel and what each
    feature counts in it are chosen by how well rows are predicted that were left out; probabilities are
    integrated over the posterior. Then it is *projected*: the fewest kernels whose probabilities stay
    within ``tolerance`` nats per observation of the reference's. Features are standardised inside; the
    rbf and Matern kernels see them squashed, ``asinh((x - median) / spread)``, if some have long tails
    and rows left out clearly ask for it (``kernel_.spread``).

    Parameters
    ----------
    kernel : "auto", "rbf", "matern", "linear", "poly", None, Kernel or callable, default="auto"
        ``None`` projects onto the features themselves. ``"auto"`` is the rbf kernel; on at most 600 rows
        that are fewer than four for each feature it is ``None`` if that predicts rows left out clearly
        better; with more features than rows, unless the kernel does.
    gamma : float or "auto", default="auto"
        Of the named kernels, on standardised features; ``"auto"`` finds it.
    tolerance : float or "auto", default="auto"
        What the sparse model may lose: the mean Kullback-Leibler divergence between its probabilities
        and the reference's, in nats per observation; the fewest kernels within it are taken. ``"auto"``
        is 0.004, and beyond that as many kernels as win another 0.0002 each; of features, 0.002.
    weigh_features : bool, default=True
        Whether a feature may count for more than another in the distance between rows. It does if the
        weights that one half of the rows asks for clearly help to predict the other half.
    max_kernels : int or None, default=None
        Most kernels (or features for each output); ``None`` is 64, for more than two classes 200, or
        one for 30 rows up to 200; of more features than rows, all that rows left out clearly ask for.
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
        Each is called with a :class:`~laconism.solvers.Record` after every size of the path; the
        objective is minus the nats lost. Returning ``True`` ends the path there.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    path_ : list of Point
        ``kernels, nats, output``: what the model of each size loses. Classes share their kernels, and
        so one path, of output 0; features are chosen for each class by itself.
    reference_ : list of Reference
        The dense model of each output (a sparse one where ``kernel=None``, features are many for their
        rows, and that predicts better); ``reference_[0].latent(X)`` is its latent's mean and variance,
        ``mean_scale`` the factor of its mean that calibrates it on left-out rows.
    coupling_ : float
        Of more than two classes: from the probabilities p of each against the rest come those of all,
        in proportion to ``p / (1 - p) ** coupling_``. Rows left out choose it.
    tolerance_ : float
        The most that the model may lose.
    gamma_ : float
    kernel_ : Kernel
    feature_scales_ : ndarray of shape (n_features,)
        What each feature counts in the distance between rows, on average one.
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
    r"""A regressor without decisions to make: as good as a Gaussian process, with a handful of kernels.

    The regression twin of :class:`LaconicClassifier`: a dense reference with noise and precision by the
    evidence, projected onto the fewest kernels whose predictions stay within ``tolerance`` nats per
    observation of the reference's. The posterior of the weights is the reference's, projected too; to
    the variance of the latent comes what the process has under its prior where those kernels do not
    reach, so that error bars grow away from the data.

    Parameters
    ----------
    kernel : "auto", "rbf", "matern", "linear", "poly", None, Kernel or callable, default="auto"
        ``None`` projects onto the features themselves. ``"auto"`` is the rbf kernel, or the Matern one
        where steps and corners make it clearly more likely (up to ``max_rank`` rows). On at most 600
        rows that are fewer than four for each feature it is ``None`` if that predicts rows left out
        clearly better; with more features than rows, unless the kernel does.
    gamma : float or "auto", default="auto"
        Of the named kernels, on standardised features; ``"auto"`` finds it.
    tolerance : float or "auto", default="auto"
        What the sparse model may lose: the mean squared difference from the reference's mean over twice
        its predictive variance, in nats per observation. ``"auto"`` as in :class:`LaconicClassifier`.
    weigh_features : bool, default=True
        Whether a feature may count for more than another in the distance between rows. It does if the
        weights that one half of the rows asks for (with Gaussian noise and four rows for each feature
        the most probable ones) clearly help to predict the other half.
    max_kernels : int or None, default=None
        Most kernels (or features); ``None`` is 64, or one for 30 rows up to 200; twice as
        many where new rows would lose a tenth of a nat by so few, as they do where there is next to no
        noise; of more features than rows as in :class:`LaconicClassifier`.
    likelihood : {"gaussian", "student", "auto"} or Noise, default="gaussian"
        ``"student"`` has heavy tails for a few wild targets: :class:`~laconism.likelihoods.Student`.
        ``"auto"`` takes it where rows left out clearly ask for it: without outliers it costs nothing,
        with them a few times the time of a fit. ``status_`` says where it should be tried.
        ``Gaussian(noise=0.1, estimate=False)`` of :mod:`laconism.likelihoods` fixes the noise variance.
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
        Variance of the noise; with heavy tails, of the Gaussian that has as much within two deviations.
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
