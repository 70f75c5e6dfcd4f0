"""Sparse Bayesian classification."""

from __future__ import annotations

from typing import Any, Literal

from ..model.predictions import BinaryPredictions
from ..model.tasks import Labels
from .base import SparseBayesBase


class SparseBayesClassifier(BinaryPredictions, SparseBayesBase):
    r"""Sparse probit or logistic classifier on features or kernels.

    Maximises :math:`\sum_i \log p(y_i \mid f_i) - \sum_j \mathrm{penalty}(w_j)` with
    :math:`f = \Phi w + b` [FJ01]_: most weights become exactly zero. Probabilities are integrated over
    the Gaussian posterior of the weights that are left,
    :math:`p(y{=}1 \mid x) = \int \Phi(f)\,\mathcal N(f \mid m, v)\,df = \Phi(m/\sqrt{1+v})`.

    Parameters
    ----------
    prior : str or Prior, default="jeffreys"
        ``"jeffreys"`` (nothing to tune), ``"laplace"``, ``"gaussian"``, ``"student_t"``,
        ``"generalized_gaussian"`` or an object of :mod:`laconism.priors`.
    kernel : None, str, Kernel or callable, default=None
        ``None`` uses the features themselves; ``"linear"``, ``"poly"``, ``"rbf"``, ``"matern"``, an
        object of :mod:`laconism.kernels` or a function of two matrices puts one column on each distinct
        training row; ``"precomputed"`` takes the kernel matrix as ``X``.
    gamma : float or {"scale", "auto"}, default="scale"
        Of the named kernels; ``"scale"`` is ``1 / (n_features * X.var())``, ``"auto"``
        ``1 / n_features``. The papers' width h is ``gamma = 1 / (2 * h**2)``.
    degree : int, default=3
        Of ``"poly"``.
    coef0 : float, default=1.0
        Of ``"poly"``.
    expansion : int, default=1
        Degree up to which products of features are taken as columns too (``kernel=None``); 2 gives the
        quadratic classifiers of [FJ01]_.
    likelihood : {"probit", "logistic"} or Binary, default="probit"
        Distribution of the label.
    fit_intercept : bool, default=True
        Whether there may be an intercept. On kernels under the Jeffreys or the generalized Gaussian
        prior it is there only if they would miss it, and 0 otherwise: a latent of zero is even odds
        already.
    penalize_intercept : bool, default=False
        ``True`` puts the prior on the intercept as on any weight, which is the papers' model.
    solver : {"auto", "em", "newton", "proximal"} or Solver, default="auto"
        ``"auto"`` takes the exact ``"proximal"`` for the Laplace prior and ``"newton"`` otherwise;
        ``"em"`` is the papers' algorithm.
    max_iter : int, default=1000
        Most iterations.
    tol : float, default=1e-8
        An iteration that gains less than this many nats per observation is the last.
    rank_tol : float or "auto", default="auto"
        A kernel matrix is never formed; it is factored until no diagonal element misses more than
        this part of the largest. ``"auto"`` is what the solver needs to give the weights of the full
        matrix to 1e-5 of their length: 1e-6 where the factors only choose the kernels (Newton's method
        with a prior that absorbs zeros), 1e-12 where they weigh all of them (EM), 1e-8 otherwise.
    max_rank : int, default=1000
        Rank at which the factorisation stops all the same. The candidates are then the kernels of that
        many rows, the ones that leave least of the matrix unexplained (a Nystrom approximation), and
        ``status_`` says so.
    class_weight : None, dict or "balanced", default=None
        Weights of the classes, multiplied with ``sample_weight``.
    n_jobs : int or None, default=None
        Workers for the one-against-rest problems of more than two classes.
    warm_start : bool, default=False
        Start from the previous answer; a prior that absorbs zeros then mostly prunes.
    callbacks : None, callable or list of callables, default=None
        Each is called with a :class:`~laconism.solvers.Record` after every iteration; returning
        ``True`` stops the fit. See :mod:`laconism.interop.progress`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1 or n_classes, n_columns)
        Weights of the features; with ``kernel=None`` only.
    dual_coef_ : ndarray of shape (1 or n_classes, n_relevant)
        Weights of the kept rows; with a kernel only.
    intercept_ : ndarray of shape (1 or n_classes,)
    relevance_ : ndarray of shape (n_relevant,)
        Indices of what was kept by any class: training rows for a kernel, columns without.
    relevance_vectors_ : ndarray of shape (n_relevant, n_features)
        The kept rows; with a kernel only.
    n_relevant_ : int
    posteriors_ : list of GaussianPosterior
        One per output.
    prior_ : Prior
        The prior with everything resolved; with everything learnt, of the first output.
    priors_ : list of Prior
        One per output: a scale that is learnt is not the same for all.
    history_ : list of Record
        ``iteration, objective, active, seconds, output``; ``pandas.DataFrame(history_)`` is a table.
        While a prior's scale is learnt, a record is a round and its objective the marginal one
        (:class:`~laconism.priors.GeneralizedGaussian`), which need not rise.
    status_ : Status
        Whether it converged, and a sentence.
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

    def __init__(
        self,
        prior: Any = "jeffreys",
        *,
        kernel: Any = None,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        expansion: int = 1,
        likelihood: Any = "probit",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        solver: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-8,
        rank_tol: float | Literal["auto"] = "auto",
        max_rank: int = 1000,
        class_weight: Any = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        callbacks: Any = None,
    ) -> None:
        self.prior = prior
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.expansion = expansion
        self.likelihood = likelihood
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.rank_tol = rank_tol
        self.max_rank = max_rank
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.callbacks = callbacks
