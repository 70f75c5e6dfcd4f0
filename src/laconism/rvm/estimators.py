"""The relevance vector machine."""

from __future__ import annotations

from typing import Any

from ..model.predictions import BinaryPredictions, GaussianPredictions
from ..model.tasks import Labels, Values
from .base import RVMBase


class RVMClassifier(BinaryPredictions, RVMBase):
    r"""Relevance vector machine for classification [T01]_.

    Every weight has a precision of its own, :math:`w_k \sim \mathcal N(0, \alpha_k^{-1})`, and the
    precisions are those under which the labels are most probable. Most become infinite: what is left
    are the relevance vectors. Probabilities are integrated over the posterior of their weights. Vectors
    that together do not raise the evidence by a nat each, Akaike's price of a fitted precision, are no
    better than chance: then there are none, and ``status_`` reports it (not with ``"variational"``).

    Parameters
    ----------
    kernel : None, str, Kernel or callable, default="rbf"
        ``None`` uses the features themselves; ``"linear"``, ``"poly"``, ``"rbf"``, ``"matern"``, an
        object of :mod:`laconism.kernels` or a function of two matrices puts one column on each distinct
        training row; ``"precomputed"`` takes the kernel matrix as ``X``.
    gamma : float or {"scale", "auto"}, default="scale"
        Of the named kernels; a width h is ``gamma = 1 / (2 * h**2)``.
    degree : int, default=3
        Of ``"poly"``.
    coef0 : float, default=1.0
        Of ``"poly"``.
    inference : {"sequential", "evidence", "variational"}, default="sequential"
        ``"sequential"`` adds, re-estimates and deletes columns [TF03]_: fast, also on many rows.
        ``"evidence"`` starts with all columns in [T01]_, at the most 5,000; up to 300 columns both go
        both ways and end at the same maximum. ``"variational"`` has distributions for the precisions
        as well and a bound on the evidence in ``history_`` that never drops [BT00]_.
    solver : {"fast", "vb"}, default="fast"
        Of ``"variational"``; ``"vb"`` is the paper's update, with the same answers in many more steps.
    likelihood : {"logistic", "probit"} or Binary, default="logistic"
        Distribution of the label. ``"variational"`` uses its quadratic bound, Jaakkola and Jordan's for
        the logistic one; the others its own curvature (Laplace).
    fit_intercept : bool, default=True
        Whether there may be an intercept. Its prior is flat; with a kernel it is there only if the
        kernels alone would miss it, and 0 otherwise: a latent of zero is even odds already.
    shape, rate : float, default=1e-12
        Of the gamma hyper-prior of ``"variational"``, ``rate`` in units that the data set.
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-5
        An iteration that gains less than this many nats per observation is the last.
    rank_tol : float or "auto", default="auto"
        A kernel matrix is never formed; it is factored until no diagonal element misses more than
        this part of the largest: 1e-6 for ``"sequential"``, whose factors only choose, 1e-8 for the
        others, and 1e-10 up to 300 rows, except for ``"variational"``.
    max_rank : int, default=1000
        Largest rank of the factorisation; ``status_`` reports if it was reached.
    class_weight : None, dict or "balanced", default=None
        Weights of the classes, multiplied with ``sample_weight``.
    n_jobs : int or None, default=None
        Workers for the one-against-rest problems of more than two classes.
    callbacks : None, callable or list of callables, default=None
        Each is called with a :class:`~laconism.solvers.Record` after every iteration; returning
        ``True`` stops the fit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1 or n_classes, n_features)
        Weights of the features; with ``kernel=None`` only.
    dual_coef_ : ndarray of shape (1 or n_classes, n_relevant)
        Weights of the relevance vectors; with a kernel only.
    intercept_ : ndarray of shape (1 or n_classes,)
    relevance_ : ndarray of shape (n_relevant,)
        Indices of what was kept by any class: training rows for a kernel, columns without.
    relevance_vectors_ : ndarray of shape (n_relevant, n_features)
        The kept rows; with a kernel only.
    n_relevant_ : int
    posteriors_ : list of GaussianPosterior
        One per output.
    history_ : list of Record
        ``iteration, objective, active, seconds, output``; the objective is the log evidence
        (Laplace's), or the bound on it.
    status_ : Status
        Whether it converged, and a sentence.
    n_iter_ : int

    Examples
    --------
    >>> from laconism import RVMClassifier
    >>> from laconism.datasets import make_ripley
    >>> X, y = make_ripley(250, random_state=0)
    >>> model = RVMClassifier(gamma=2.0).fit(X, y)
    >>> bool(model.n_relevant_ < 10), bool(model.score(X, y) > 0.85)
    (True, True)

    References
    ----------
    .. [T01] M. Tipping, Sparse Bayesian learning and the relevance vector machine, JMLR 1, 2001.
    .. [TF03] M. Tipping, A. Faul, Fast marginal likelihood maximisation for sparse Bayesian models,
       AISTATS 2003.
    .. [BT00] C. Bishop, M. Tipping, Variational relevance vector machines, UAI 2000.
    """

    _task = Labels()

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        inference: str = "sequential",
        solver: str = "fast",
        likelihood: Any = "logistic",
        fit_intercept: bool = True,
        shape: float = 1e-12,
        rate: float = 1e-12,
        max_iter: int = 1000,
        tol: float = 1e-5,
        rank_tol: Any = "auto",
        max_rank: int = 1000,
        class_weight: Any = None,
        n_jobs: int | None = None,
        callbacks: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.inference = inference
        self.solver = solver
        self.likelihood = likelihood
        self.fit_intercept = fit_intercept
        self.shape = shape
        self.rate = rate
        self.max_iter = max_iter
        self.tol = tol
        self.rank_tol = rank_tol
        self.max_rank = max_rank
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.callbacks = callbacks


class RVMRegressor(GaussianPredictions, RVMBase):
    r"""Relevance vector machine for regression [T01]_.

    Every weight has a precision of its own, :math:`w_k \sim \mathcal N(0, \alpha_k^{-1})`; precisions
    and noise are those under which the targets are most probable. Most precisions become infinite: what
    is left are the relevance vectors. A kernel on each row can pass through all targets, with no noise
    left; so the search by evidence stops where the effective parameters of kernels are half as many as
    the observations. Vectors that are no better than chance are left out as in :class:`RVMClassifier`.

    Parameters
    ----------
    kernel : None, str, Kernel or callable, default="rbf"
        As in :class:`RVMClassifier`.
    gamma : float or {"scale", "auto"}, default="scale"
        Of the named kernels; a width h is ``gamma = 1 / (2 * h**2)``.
    degree : int, default=3
        Of ``"poly"``.
    coef0 : float, default=1.0
        Of ``"poly"``.
    inference : {"sequential", "evidence", "variational"}, default="sequential"
        As in :class:`RVMClassifier`.
    solver : {"fast", "vb"}, default="fast"
        Of ``"variational"``.
    likelihood : {"gaussian", "student"} or Noise, default="gaussian"
        ``"student"`` has heavy tails for a few outliers: :class:`~laconism.likelihoods.Student`.
        ``Gaussian(noise=0.1, estimate=False)`` of :mod:`laconism.likelihoods` fixes the noise variance.
    fit_intercept : bool, default=True
        Whether there is an intercept; its prior is flat.
    shape, rate : float, default=1e-12
        Of the gamma hyper-prior of ``"variational"``, ``rate`` in units that the data set.
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-5
        An iteration that gains less than this many nats per observation is the last.
    rank_tol : float or "auto", default="auto"
        A kernel matrix is never formed; it is factored until no diagonal element misses more than
        this part of the largest: 1e-6 for ``"sequential"``, whose factors only choose, 1e-8 for the
        others, and 1e-10 up to 300 rows, except for ``"variational"``.
    max_rank : int, default=1000
        Largest rank of the factorisation; ``status_`` reports if it was reached.
    n_jobs : int or None, default=None
        Unused by a single output; here so that all estimators share it.
    callbacks : None, callable or list of callables, default=None
        As in :class:`RVMClassifier`.

    Attributes
    ----------
    coef_, dual_coef_ : ndarray
        Weights of the features, or of the relevance vectors.
    intercept_ : float
    noise_variance_ : float
        Variance of the noise; with many parameters for the rows, at least the leave-one-out estimate.
    relevance_, relevance_vectors_, n_relevant_, posteriors_, history_, status_, n_iter_
        As in :class:`RVMClassifier`.

    Examples
    --------
    >>> from laconism import RVMRegressor
    >>> from laconism.datasets import make_sinc
    >>> X, y = make_sinc(100, random_state=0)
    >>> model = RVMRegressor(gamma=1 / 18).fit(X, y)
    >>> mean, std = model.predict_dist([[0.0], [40.0]])
    >>> bool(std[1] > 2 * std[0])
    True

    References
    ----------
    .. [T01] M. Tipping, Sparse Bayesian learning and the relevance vector machine, JMLR 1, 2001.
    """

    _task = Values()

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        inference: str = "sequential",
        solver: str = "fast",
        likelihood: Any = "gaussian",
        fit_intercept: bool = True,
        shape: float = 1e-12,
        rate: float = 1e-12,
        max_iter: int = 1000,
        tol: float = 1e-5,
        rank_tol: Any = "auto",
        max_rank: int = 1000,
        n_jobs: int | None = None,
        callbacks: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.inference = inference
        self.solver = solver
        self.likelihood = likelihood
        self.fit_intercept = fit_intercept
        self.shape = shape
        self.rate = rate
        self.max_iter = max_iter
        self.tol = tol
        self.rank_tol = rank_tol
        self.max_rank = max_rank
        self.n_jobs = n_jobs
        self.callbacks = callbacks
