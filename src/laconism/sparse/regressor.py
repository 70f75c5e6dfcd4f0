"""Sparse Bayesian regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..model.predictions import GaussianPredictions
from ..model.tasks import Values
from .base import SparseBayesBase


@dataclass(eq=False, repr=False, kw_only=True)
class SparseBayesRegressor(GaussianPredictions, SparseBayesBase):
    r"""Sparse Gaussian regression on features or kernels.

    Maximises :math:`-\tfrac n2\log\sigma^2 - \|y - \Phi w - b\|^2/(2\sigma^2) -
    \sum_j\mathrm{penalty}(w_j)` over weights and noise variance [F01]_. Most weights become exactly
    zero. If the result interpolates the data (half as many parameters as rows, and little noise), the
    fit is repeated with the noise variance that the evidence of a dense model suggests, except with
    ``solver="em"``.

    Parameters
    ----------
    prior, kernel, gamma, degree, coef0, expansion
        As in :class:`SparseBayesClassifier`.
    likelihood : {"gaussian", "student"} or Noise, default="gaussian"
        Distribution of the noise. ``"student"`` has heavy tails, for data with outliers:
        :class:`~laconism.likelihoods.Student`.
        ``Gaussian(noise=0.1, estimate=False)`` of :mod:`laconism.likelihoods` fixes the noise variance.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    penalize_intercept, solver, max_iter, tol, rank_tol, max_rank, warm_start, callbacks
        As in :class:`SparseBayesClassifier`.
    n_jobs : int or None, default=None
        Not used: there is one output. All estimators have this parameter.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns,)
        Weights of the features; with ``kernel=None`` only.
    dual_coef_ : ndarray of shape (n_relevant,)
        Weights of the kept kernels; with a kernel only.
    intercept_ : float
    noise_variance_ : float
        Residual variance, corrected for the effective degrees of freedom. If rows are few for the
        parameters, it is at least the leave-one-out estimate, where a row is left out together with its
        kernel.
    relevance_, relevance_vectors_, n_relevant_, posteriors_, prior_, priors_, history_, status_, n_iter_
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

    likelihood: Any = "gaussian"
