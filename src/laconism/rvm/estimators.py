"""The relevance vector machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..model.predictions import BinaryPredictions, GaussianPredictions
from ..model.tasks import Labels, Values
from .base import RVMBase


@dataclass(eq=False, repr=False, kw_only=True)
class RVMClassifier(BinaryPredictions, RVMBase):
    r"""Relevance vector machine for classification [T01]_.

    Each weight has its own precision, :math:`w_k \sim \mathcal N(0, \alpha_k^{-1})`, and the precisions
    maximise the evidence. Most of them become infinite; the columns with finite precisions are the
    relevance vectors. Probabilities are integrated over the posterior of their weights.

    The relevance vectors must raise the evidence by at least one nat each (Akaike's criterion).
    Otherwise none is kept, and ``status_`` reports it; ``"variational"`` has no such test.

    Parameters
    ----------
    kernel : None, str, Kernel or callable, default="rbf"
        ``None`` uses the features themselves as columns. ``"linear"``, ``"poly"``, ``"rbf"``,
        ``"matern"``, an object of :mod:`laconism.kernels` or a function of two matrices gives one column
        for each distinct training row. With ``"precomputed"`` the kernel matrix is passed as ``X``.
    gamma : float or {"scale", "auto"}, default="scale"
        Parameter of the named kernels, as in scikit-learn; a width h is ``gamma = 1 / (2 * h**2)``.
    degree : int, default=3
        Degree of the ``"poly"`` kernel.
    coef0 : float, default=1.0
        Constant term of the ``"poly"`` kernel.
    inference : {"sequential", "evidence", "variational"}, default="sequential"
        ``"sequential"`` starts without columns and adds, re-estimates and deletes them [TF03]_; it is
        fast on many rows too. ``"evidence"`` starts with all columns and prunes them [T01]_, for at most
        5,000 columns. Up to 300 columns both search in both directions and reach the same maximum.
        ``"variational"`` also has posteriors of the precisions, and a lower bound on the evidence in
        ``history_`` that never decreases [BT00]_.
    solver : {"fast", "vb"}, default="fast"
        Update of ``"variational"``. ``"vb"`` is that of the paper; ``"fast"`` has the same solutions and
        needs far fewer iterations.
    likelihood : {"logistic", "probit"} or Binary, default="logistic"
        Distribution of the label. ``"variational"`` uses a quadratic bound on it (Jaakkola and Jordan's
        for the logistic), the others Laplace's approximation.
    fit_intercept : bool, default=True
        Whether there may be an intercept, with a flat prior. With a kernel it is dropped if the kernels
        do not need it, since a latent of zero means even odds.
    shape, rate : float, default=1e-12
        Shape and rate of the gamma hyper-prior of ``"variational"``; the unit of ``rate`` is set by the
        data.
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-5
        The fit stops after an iteration that gains less than this many nats per observation.
    rank_tol : float or "auto", default="auto"
        The kernel matrix is not formed but factored, until no diagonal element of the residual exceeds
        this fraction of the largest. ``"auto"`` is 1e-6 for ``"sequential"``, where the factors only
        choose columns, and 1e-8 otherwise; up to 300 rows it is 1e-10, except for ``"variational"``.
    max_rank : int, default=1000
        Largest rank of the factorisation; ``status_`` reports if it was reached.
    class_weight : None, dict or "balanced", default=None
        Weights of the classes, multiplied with ``sample_weight``.
    n_jobs : int or None, default=None
        Number of workers for the one-against-rest problems of more than two classes.
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
        Indices of the columns that any class keeps: training rows with a kernel, features without.
    relevance_vectors_ : ndarray of shape (n_relevant, n_features)
        The relevance vectors themselves; with a kernel only.
    n_relevant_ : int
        Number of relevance vectors.
    posteriors_ : list of GaussianPosterior
        The posterior of the weights of each output.
    history_ : list of Record
        ``iteration, objective, active, seconds, output``; the objective is the log evidence (by
        Laplace's approximation), or the lower bound on it.
    status_ : Status
        Whether the fit converged, and a message.
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

    likelihood: Any = "logistic"
    class_weight: Any = None


@dataclass(eq=False, repr=False, kw_only=True)
class RVMRegressor(GaussianPredictions, RVMBase):
    r"""Relevance vector machine for regression [T01]_.

    Each weight has its own precision, :math:`w_k \sim \mathcal N(0, \alpha_k^{-1})`; the precisions and
    the noise variance maximise the evidence. Most precisions become infinite; the columns with finite
    precisions are the relevance vectors. They are tested as in :class:`RVMClassifier`.

    A kernel on each row can interpolate the targets and leave no noise. So evidence maximisation stops
    when the kernels have half as many effective parameters as there are observations.

    Parameters
    ----------
    kernel : None, str, Kernel or callable, default="rbf"
        As in :class:`RVMClassifier`.
    gamma : float or {"scale", "auto"}, default="scale"
        Parameter of the named kernels, as in scikit-learn; a width h is ``gamma = 1 / (2 * h**2)``.
    degree : int, default=3
        Degree of the ``"poly"`` kernel.
    coef0 : float, default=1.0
        Constant term of the ``"poly"`` kernel.
    inference : {"sequential", "evidence", "variational"}, default="sequential"
        As in :class:`RVMClassifier`.
    solver : {"fast", "vb"}, default="fast"
        Update of ``"variational"``, as in :class:`RVMClassifier`.
    likelihood : {"gaussian", "student"} or Noise, default="gaussian"
        Distribution of the noise. ``"student"`` has heavy tails, for data with outliers:
        :class:`~laconism.likelihoods.Student`.
        ``Gaussian(noise=0.1, estimate=False)`` of :mod:`laconism.likelihoods` fixes the noise variance.
    fit_intercept : bool, default=True
        Whether there is an intercept; its prior is flat.
    shape, rate : float, default=1e-12
        Shape and rate of the gamma hyper-prior of ``"variational"``; the unit of ``rate`` is set by the
        data.
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-5
        The fit stops after an iteration that gains less than this many nats per observation.
    rank_tol : float or "auto", default="auto"
        The kernel matrix is not formed but factored, until no diagonal element of the residual exceeds
        this fraction of the largest. ``"auto"`` is 1e-6 for ``"sequential"``, where the factors only
        choose columns, and 1e-8 otherwise; up to 300 rows it is 1e-10, except for ``"variational"``.
    max_rank : int, default=1000
        Largest rank of the factorisation; ``status_`` reports if it was reached.
    n_jobs : int or None, default=None
        Not used: there is one output. All estimators have this parameter.
    callbacks : None, callable or list of callables, default=None
        As in :class:`RVMClassifier`.

    Attributes
    ----------
    coef_, dual_coef_ : ndarray
        Weights of the features, or of the relevance vectors.
    intercept_ : float
    noise_variance_ : float
        Variance of the noise. If rows are few for the parameters, it is at least the leave-one-out
        estimate.
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

    likelihood: Any = "gaussian"
