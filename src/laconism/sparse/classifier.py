"""Sparse Bayesian classification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..model.predictions import BinaryPredictions
from ..model.tasks import Labels
from .base import SparseBayesBase


@dataclass(eq=False, repr=False, kw_only=True)
class SparseBayesClassifier(BinaryPredictions, SparseBayesBase):
    r"""Sparse probit or logistic classifier on features or kernels.

    Maximises :math:`\sum_i \log p(y_i \mid f_i) - \sum_j \mathrm{penalty}(w_j)` with
    :math:`f = \Phi w + b` [FJ01]_. Most weights become exactly zero. Probabilities are integrated over
    the Gaussian posterior of the remaining weights,
    :math:`p(y{=}1 \mid x) = \int \Phi(f)\,\mathcal N(f \mid m, v)\,df = \Phi(m/\sqrt{1+v})`.

    Parameters
    ----------
    prior : str or Prior, default="jeffreys"
        Prior of the weights: ``"jeffreys"`` (no parameter to tune), ``"laplace"``, ``"gaussian"``,
        ``"student_t"``, ``"generalized_gaussian"`` or an object of :mod:`laconism.priors`.
    kernel : None, str, Kernel or callable, default=None
        ``None`` uses the features themselves as columns. ``"linear"``, ``"poly"``, ``"rbf"``,
        ``"matern"``, an object of :mod:`laconism.kernels` or a function of two matrices gives one column
        for each distinct training row. With ``"precomputed"`` the kernel matrix is passed as ``X``.
    gamma : float or {"scale", "auto"}, default="scale"
        Parameter of the named kernels; ``"scale"`` is ``1 / (n_features * X.var())``, ``"auto"`` is
        ``1 / n_features``. The papers' width h is ``gamma = 1 / (2 * h**2)``.
    degree : int, default=3
        Degree of the ``"poly"`` kernel.
    coef0 : float, default=1.0
        Constant term of the ``"poly"`` kernel.
    expansion : int, default=1
        Largest degree of the products of features that are columns too (with ``kernel=None``); 2 gives
        the quadratic classifiers of [FJ01]_.
    likelihood : {"probit", "logistic"} or Binary, default="probit"
        Distribution of the label.
    fit_intercept : bool, default=True
        Whether there may be an intercept. With kernels and the Jeffreys or the generalized Gaussian
        prior it is dropped if the kernels do not need it, since a latent of zero means even odds.
    penalize_intercept : bool, default=False
        Whether the intercept has the prior of the weights, as in the papers.
    solver : {"auto", "em", "newton", "proximal"} or Solver, default="auto"
        ``"auto"`` is the exact ``"proximal"`` for the Laplace prior and ``"newton"`` otherwise;
        ``"em"`` is the papers' algorithm.
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-8
        The fit stops after an iteration that gains less than this many nats per observation.
    rank_tol : float or "auto", default="auto"
        The kernel matrix is not formed but factored, until no diagonal element of the residual exceeds
        this fraction of the largest. ``"auto"`` depends on the solver: 1e-6 if the factors only choose
        kernels (Newton's method with a prior that absorbs zeros), 1e-12 if they weigh all of them (EM),
        1e-8 otherwise.
    max_rank : int, default=1000
        Largest rank of the factorisation. If it is reached, only the kernels of that many rows are
        candidates, those that approximate the matrix best (a Nystrom approximation), and ``status_``
        reports it.
    class_weight : None, dict or "balanced", default=None
        Weights of the classes, multiplied with ``sample_weight``.
    n_jobs : int or None, default=None
        Number of workers for the one-against-rest problems of more than two classes.
    warm_start : bool, default=False
        Whether to start from the previous solution; with a prior that absorbs zeros, columns are then
        mostly pruned.
    callbacks : None, callable or list of callables, default=None
        Each is called with a :class:`~laconism.solvers.Record` after every iteration; returning
        ``True`` stops the fit. See :mod:`laconism.interop.progress`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1 or n_classes, n_columns)
        Weights of the features; with ``kernel=None`` only.
    dual_coef_ : ndarray of shape (1 or n_classes, n_relevant)
        Weights of the kept kernels; with a kernel only.
    intercept_ : ndarray of shape (1 or n_classes,)
    relevance_ : ndarray of shape (n_relevant,)
        Indices of the columns that any class keeps: training rows with a kernel, features without.
    relevance_vectors_ : ndarray of shape (n_relevant, n_features)
        The training rows with kept kernels; with a kernel only.
    n_relevant_ : int
        Number of columns that were kept.
    posteriors_ : list of GaussianPosterior
        The posterior of the weights of each output.
    prior_ : Prior
        The prior of the first output, with defaults resolved and scales learnt.
    priors_ : list of Prior
        The prior of each output; learnt scales differ between outputs.
    history_ : list of Record
        ``iteration, objective, active, seconds, output``; ``pandas.DataFrame(history_)`` is a table.
        If the scale of the prior is learnt, each round is a record, and its objective is the marginal
        one (:class:`~laconism.priors.GeneralizedGaussian`), which may decrease.
    status_ : Status
        Whether the fit converged, and a message.
    n_iter_ : int

    Examples
    --------
    >>> from laconism import SparseBayesClassifier
    >>> from laconism.datasets import make_ripley
    >>> X, y = make_ripley(250, random_state=0)
    >>> model = SparseBayesClassifier(kernel="rbf", gamma=2.0).fit(X, y)
    >>> bool(model.n_relevant_ < 10), bool(model.score(X, y) > 0.85)
    (True, True)

    References
    ----------
    .. [FJ01] M. Figueiredo, A. Jain, Bayesian learning of sparse classifiers, CVPR 2001.
    """

    _task = Labels()

    likelihood: Any = "probit"
    class_weight: Any = None
