"""The flagship: a dense reference, projected onto few kernels or features."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._component import is_count, is_name, is_positive
from ..model.predictions import BinaryPredictions, GaussianPredictions
from ..model.tasks import FitData, Labels, Values
from .fit import fit_laconic
from .many_rows import MAX_STUDENT_ROWS, sample_if_many
from .partitioned import AllRows
from .path_model import PathModel
from .settings import Settings
from .sparse_prior import fit_sparse
from .tasks import REFERENCE_NOISES

if TYPE_CHECKING:
    from ..partitions.start import PartitionedRows


class LaconicModel(PathModel):
    """What the flagship classifier and regressor share."""

    tolerance: Any
    weigh_features: bool
    max_kernels: int | None
    centres: str
    _has_own_order = True
    _no_precomputed = "kernel='precomputed' has no reference to project; pass the kernel itself."

    def _own_rules(self) -> dict[str, tuple[bool, str]]:
        tolerance, most = self.tolerance, self.max_kernels
        return {
            "tolerance": (
                is_positive(tolerance) or is_name(tolerance, "auto"),
                "a positive number of nats or 'auto'",
            ),
            "max_kernels": (most is None or is_count(most), "None or a positive whole number"),
            "centres": (self.centres in ("rows", "free"), "'rows' or 'free'"),
        }

    def _fit_rows(self, data: FitData) -> None:
        """Choose a candidate and publish its projection."""
        fit_laconic_partitions(self, *sample_if_many(self, data))


def fit_laconic_partitions(model: Any, data: FitData, everything: PartitionedRows | None) -> None:
    """Choose a candidate on some rows, fit it to all of them and publish its projection.

    ``everything`` has all rows in partitions if ``data`` is a sample of them.
    """
    began, settings = time.perf_counter(), Settings.of(model)
    rows = None if everything is None else AllRows(everything, data)
    if data.weight.size > MAX_STUDENT_ROWS or rows is not None:  # each step would sum over all rows
        settings = replace(settings, any_noise=False)
    model._publish_fit(fit_laconic(settings, data, fit_sparse, rows), began)


class LaconicClassifier(BinaryPredictions, LaconicModel):
    r"""Classifier that needs no tuning: a Gaussian process, projected onto a few kernels.

    The fit has two steps. First *candidates* are compared: dense references (Gaussian processes) with an
    rbf kernel, with squashed features (``asinh((x - median) / spread)``), on wide data on 64, 256, ...
    features themselves or under a sparse prior, with additive kernels
    (:class:`~laconism.kernels.Additive`), and with feature weights (ARD). One replaces an
    earlier one only if it is clearly better: its left-out rows are twenty times as likely, and by more
    than a standard error. Then the winner is *projected* onto the fewest kernels whose probabilities are
    within ``tolerance`` nats per observation of its own. Probabilities are integrated over the posterior
    of the weights. Features are standardised inside.

    Parameters
    ----------
    kernel : str, None, Kernel or callable, default="auto"
        "auto", "rbf", "matern", "additive", "linear" or "poly".
        ``None`` uses the features themselves instead of kernels. ``"auto"`` chooses among the
        candidates, the rbf kernel first. Features are candidates on wide data (at most 600 rows, and
        fewer than four for each feature); if they outnumber the rows, they come first.
    gamma : float or "auto", default="auto"
        Parameter of the named kernels, on standardised features. ``"auto"`` searches for it.
    tolerance : float or "auto", default="auto"
        Largest loss of the sparse model: the mean Kullback-Leibler divergence of its probabilities from
        those of the reference, in nats per observation. The fewest kernels within it are taken.
        ``"auto"`` is 0.003, and more kernels are added while each gains at least 0.0002.
    weigh_features : bool, default=True
        Whether kernels that are learnt are candidates, where there are no more features than rows:
        additive kernels, and feature weights. At each row they are judged as if it had not been seen.
    categorical_features : array-like of str, int or bool, default=None
        The features that hold codes of categories: their names, their indices or a mask. Additive
        kernels compare codes for equality, in single precision; a code that was not in the training rows
        has no effect. Other candidates take them as numbers.
    max_kernels : int or None, default=None
        Largest number of kernels, or of features for each output. ``None`` is as many as the tolerance
        asks for.
    centres : {"rows", "free"}, default="rows"
        Whether kernels stay on training rows. ``"free"`` moves the centres of models of up to 64 kernels
        down the gradient of the loss, where fewer kernels then lose as little; the fit takes longer.
        ``relevance_`` then has the rows on which they started. Additive kernels stay on rows.
    likelihood : {"probit", "logistic"} or Binary, default="probit"
        Distribution of the label.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    max_rank : int, default=1000
        Largest rank of the factorisation of the kernel matrix; ``status_`` reports if it was reached.
    class_weight : None, dict or "balanced", default=None
        Weights of the classes, multiplied with ``sample_weight``.
    n_jobs : int or None, default=None
        Number of workers for the one-against-rest problems of more than two classes. Of more than 20,000
        rows, the threads that sum over blocks of them; ``None`` is then all cores.
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
        The winner before its projection, for each output. ``reference_[0].latent(X)`` returns mean and
        variance of the latent; ``mean_scale`` is the factor that calibrates left-out probabilities.
    candidates_ : list of Trial
        What was tried, in order: ``name``, ``seconds``, mean left-out ``log_density`` per row with its
        standard error, ``size``, the candidate it was compared with (``against``), its ``gain`` over
        that one with standard error, and whether it was ``taken`` then and ``won`` in the end. NaN where
        it does not apply or could not win. ``pandas.DataFrame(model.candidates_)`` is a table.
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
        Weight of each feature in the distance between rows, or in the additive kernel, on average one;
        with a kernel only.
    effects_ : list of Effect
        With an additive kernel, the variance that each feature and each set of features explains.
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
        categorical_features: Any = None,
        max_kernels: int | None = None,
        centres: str = "rows",
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
        self.categorical_features = categorical_features
        self.max_kernels = max_kernels
        self.centres = centres
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
    kernel : str, None, Kernel or callable, default="auto"
        "auto", "rbf", "matern", "additive", "linear" or "poly".
        ``None`` uses the features themselves instead of kernels. ``"auto"`` chooses among the
        candidates as in :class:`LaconicClassifier`; instead of squashed features there is the Matern
        kernel, for functions with steps and corners (up to ``max_rank`` rows).
    gamma : float or "auto", default="auto"
        Parameter of the named kernels, on standardised features. ``"auto"`` searches for it.
    tolerance : float or "auto", default="auto"
        Largest loss of the sparse model: the mean of the squared difference of its mean from that of
        the reference, over twice the predictive variance of a row that has not been seen, in nats per
        observation. ``"auto"`` as in :class:`LaconicClassifier`.
    weigh_features : bool, default=True
        As in :class:`LaconicClassifier`. With Gaussian noise they maximise the evidence.
    categorical_features : array-like of str, int or bool, default=None
        As in :class:`LaconicClassifier`.
    max_kernels : int or None, default=None
        As in :class:`LaconicClassifier`.
    centres : {"rows", "free"}, default="rows"
        As in :class:`LaconicClassifier`.
    likelihood : {"auto", "gaussian", "student"} or Noise, default="auto"
        Distribution of the noise. ``"student"`` has heavy tails, for data with outliers:
        :class:`~laconism.likelihoods.Student`. ``"auto"`` is Gaussian; if the left-out residuals have
        heavy tails, Student's noise is the last candidate (up to 5,000 rows). With ``"gaussian"``
        ``status_`` recommends ``"student"`` if there are outliers.
        ``Gaussian(noise=0.1, estimate=False)`` of :mod:`laconism.likelihoods` fixes the noise variance.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    max_rank : int, default=1000
        Largest rank of the factorisation of the kernel matrix; ``status_`` reports if it was reached.
    n_jobs : int or None, default=None
        Of more than 20,000 rows, the threads that sum over blocks of them; ``None`` is all cores.
    callbacks : None, callable or list of callables, default=None
        As in :class:`LaconicClassifier`.

    Attributes
    ----------
    noise_variance_ : float
        Variance of the noise. With heavy tails it is that of the Gaussian with the same probability
        within two standard deviations.
    path_, reference_, candidates_, tolerance_, gamma_, kernel_, feature_scales_
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
        categorical_features: Any = None,
        max_kernels: int | None = None,
        centres: str = "rows",
        likelihood: Any = "auto",
        fit_intercept: bool = True,
        max_rank: int = 1000,
        n_jobs: int | None = None,
        callbacks: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.tolerance = tolerance
        self.weigh_features = weigh_features
        self.categorical_features = categorical_features
        self.max_kernels = max_kernels
        self.centres = centres
        self.likelihood = likelihood
        self.fit_intercept = fit_intercept
        self.max_rank = max_rank
        self.n_jobs = n_jobs
        self.callbacks = callbacks
