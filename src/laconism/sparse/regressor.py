"""Sparse Bayesian regression."""

from __future__ import annotations

from typing import Any, Literal

from ..model.predictions import GaussianPredictions
from ..model.tasks import Values
from .base import SparseBayesBase


class SparseBayesRegressor(GaussianPredictions, SparseBayesBase):
    r"""Sparse Gaussian regression on features or kernels.

    Maximises :math:`-\tfrac n2\log\sigma^2 - \|y - \Phi w - b\|^2/(2\sigma^2) -
    \sum_j\mathrm{penalty}(w_j)` over weights and noise [F01]_: most weights become exactly zero. Where
    that would pass through the data, with half as many parameters as rows and little noise left, the
    noise is the one that a dense model expects (by its evidence), except for ``solver="em"``.

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
        Of the named kernels. The papers' width h is ``gamma = 1 / (2 * h**2)``.
    degree : int, default=3
        Of ``"poly"``.
    coef0 : float, default=1.0
        Of ``"poly"``.
    expansion : int, default=1
        Degree up to which products of features are taken as columns too (``kernel=None``).
    likelihood : {"gaussian", "student"} or Noise, default="gaussian"
        ``"student"`` has heavy tails for a few wild targets: :class:`~laconism.likelihoods.Student`.
        ``Gaussian(noise=0.1, estimate=False)`` of :mod:`laconism.likelihoods` fixes the noise variance.
    fit_intercept : bool, default=True
        Whether there is an intercept.
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
    n_jobs : int or None, default=None
        Unused by a single output; here so that all estimators share it.
    warm_start : bool, default=False
        Start from the previous answer; a prior that absorbs zeros then mostly prunes.
    callbacks : None, callable or list of callables, default=None
        Each is called with a :class:`~laconism.solvers.Record` after every iteration; returning
        ``True`` stops the fit.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,)
        Weights of the features; with ``kernel=None`` only.
    dual_coef_ : ndarray of shape (n_relevant,)
        Weights of the kept rows; with a kernel only.
    intercept_ : float
    noise_variance_ : float
        Residual variance, corrected for the parameters that the data determine; where those are many
        for the rows, at least what rows ask for that are left out, each with its own kernel.
    relevance_ : ndarray of shape (n_relevant,)
        Indices of what was kept: training rows for a kernel, columns without.
    relevance_vectors_ : ndarray of shape (n_relevant, n_features)
        The kept rows; with a kernel only.
    n_relevant_, posteriors_, prior_, priors_, history_, status_, n_iter_
        As in :class:`SparseBayesClassifier`.

    Examples
    --------
    >>> from laconism import SparseBayesRegressor
    >>> from laconism.datasets import make_sparse_regression
    >>> X, y, coef = make_sparse_regression(150, 500, n_relevant=10, random_state=0)
    >>> model = SparseBayesRegressor().fit(X, y)
    >>> bool((model.relevance_ == coef.nonzero()[0]).all())
    True

    References
    ----------
    .. [F01] M. Figueiredo, Adaptive sparseness using Jeffreys prior, NIPS 2001.
    """

    _task = Values()

    def __init__(
        self,
        prior: Any = "jeffreys",
        *,
        kernel: Any = None,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        expansion: int = 1,
        likelihood: Any = "gaussian",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        solver: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-8,
        rank_tol: float | Literal["auto"] = "auto",
        max_rank: int = 1000,
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
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.callbacks = callbacks
