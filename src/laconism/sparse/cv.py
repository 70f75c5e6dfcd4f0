"""Estimators that choose their degree of sparsity, scale and kernel width."""

from __future__ import annotations

from typing import Any, Literal

from sklearn.base import ClassifierMixin, RegressorMixin

from ..model.search import ClassifierSearch, RegressorSearch
from .classifier import SparseBayesClassifier
from .regressor import SparseBayesRegressor
from .search import SparseBayesSearch


class SparseBayesClassifierCV(ClassifierMixin, ClassifierSearch, SparseBayesSearch):  # type: ignore[misc]
    r"""Sparse classifier that chooses its degree of sparsity and its kernel width.

    Every candidate is a :class:`~laconism.SparseBayesClassifier` with the prior
    :class:`~laconism.priors.GeneralizedGaussian`: shape ``q`` from best subset (near 0) over the lasso
    (1) to ridge (2), its scale learnt from the evidence [GGIG]_. What candidates share is made once: a
    fold and a width have one factored kernel matrix, a prior starts from the answer of the one before
    it, and a fold from the scales of the last. The chosen one is fitted again on all rows: of features
    the best, of kernels the sparsest of those than which no other makes the labels of the rows left out
    five times as likely.

    Parameters
    ----------
    shapes : sequence of float, default=(0.1, 0.5, 1.0, 1.5, 2.0)
        Values of ``q`` to choose from.
    scales : "evidence", float or sequence of those, default="evidence"
        Of the prior: learnt, or numbers to choose from as well. Where a dense shape (``q`` above 1) of
        kernels is chosen with a scale that was learnt, of two classes, 3, 10 and 30 times that scale
        are tried too, and have to make the labels of the rows left out five times as likely.
    kernel : None, str, Kernel or callable, default=None
        As in :class:`~laconism.SparseBayesClassifier`.
    gammas : "auto" or sequence of float, default="auto"
        Values of a named kernel's ``gamma = 1 / (2 h**2)``. ``"auto"`` takes six widths ``h`` from a
        quarter of the lower decile of the distances between rows to twice the upper one.
    degree, coef0, expansion, likelihood, fit_intercept, penalize_intercept, class_weight
        As in :class:`~laconism.SparseBayesClassifier`.
    max_iter, tol, rank_tol, max_rank
        As in :class:`~laconism.SparseBayesClassifier`; candidates are solved to 1e-4 nats per
        observation, the chosen one to ``tol``.
    cv : int, splitter, iterable or None, default=None
        As in scikit-learn; None is 5 stratified folds, the same in whatever order the rows come, with
        copies of a row in one of them.
    scoring : None, str or callable, default=None
        None is the mean log probability of the label, rows weighted: minus the log-loss, of models as
        sure of themselves as the rows left out allow (``variance_factor_``). Any other takes the models
        as they are, as ``GridSearchCV`` does.
    criterion : {"cv", "evidence"}, default="cv"
        ``"evidence"`` fits each candidate once, on all rows, and takes the one with the largest
        Laplace evidence less the logarithm of the number of sets of this size. With
        ``kernel=None`` only: for kernels it is known to choose too few.
    one_standard_error : bool, default=False
        Take the sparsest candidate within one standard error of the best, be it features or kernels.
    race : bool, default=True
        Whether candidates that will not be chosen, as far as the folds so far tell row by row, are left
        out of the other folds. In ``cv_results_`` their scores on those folds are NaN, and so is their
        mean. ``False`` tries every candidate on every fold, as ``scoring`` does.
    n_jobs : int or None, default=None
        Workers, one width each.
    callbacks : None, callable or list of callables, default=None
        Each is called with a :class:`~laconism.solvers.Record` after every candidate: its number, mean
        score, mean number of kept columns and the seconds so far.

    Attributes
    ----------
    best_estimator_ : SparseBayesClassifier
    best_params_ : dict
        ``prior__q``, ``prior__scale`` and, where there is a choice, ``gamma``.
    best_score_ : float
    best_index_ : int
    cv_results_ : dict
        As ``GridSearchCV`` lays it out, with ``mean_n_relevant`` besides. NaN where a candidate was not
        tried (``race``).
    variance_factor_ : float
        By which the variances of the chosen model's latents are multiplied, as the rows left out ask
        for: below 1 where Laplace's approximation is too timid, at most 2, and 1 with ``scoring`` or
        ``criterion="evidence"``. Its weights are those of a plain fit with ``best_params_``.
    classes_ : ndarray of shape (n_classes,)
    n_splits_ : int
    refit_time_ : float
    n_iter_ : int
        Of the chosen model.

    Examples
    --------
    >>> from laconism import SparseBayesClassifierCV
    >>> from laconism.datasets import make_cross
    >>> X, y = make_cross(100, random_state=0)
    >>> model = SparseBayesClassifierCV(kernel="rbf", gammas=[0.5, 2.0], one_standard_error=True)
    >>> model.fit(X, y).score(X, y) > 0.85
    True
    >>> sorted(model.best_params_)
    ['gamma', 'prior__q', 'prior__scale']

    References
    ----------
    .. [GGIG] G. Liu, J. Wu, S. Zhou, Probit classifiers with a generalized Gaussian scale mixture
       prior, IJCAI 2013.
    """

    _estimator = SparseBayesClassifier

    def __init__(
        self,
        shapes: Any = (0.1, 0.5, 1.0, 1.5, 2.0),
        *,
        scales: Any = "evidence",
        kernel: Any = None,
        gammas: Any = "auto",
        degree: int = 3,
        coef0: float = 1.0,
        expansion: int = 1,
        likelihood: Any = "probit",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-8,
        rank_tol: float | Literal["auto"] = "auto",
        max_rank: int = 1000,
        class_weight: Any = None,
        cv: Any = None,
        scoring: Any = None,
        criterion: Literal["cv", "evidence"] = "cv",
        one_standard_error: bool = False,
        race: bool = True,
        n_jobs: int | None = None,
        callbacks: Any = None,
    ) -> None:
        self.shapes = shapes
        self.scales = scales
        self.kernel = kernel
        self.gammas = gammas
        self.degree = degree
        self.coef0 = coef0
        self.expansion = expansion
        self.likelihood = likelihood
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.rank_tol = rank_tol
        self.max_rank = max_rank
        self.class_weight = class_weight
        self.cv = cv
        self.scoring = scoring
        self.criterion = criterion
        self.one_standard_error = one_standard_error
        self.race = race
        self.n_jobs = n_jobs
        self.callbacks = callbacks


class SparseBayesRegressorCV(RegressorMixin, RegressorSearch, SparseBayesSearch):  # type: ignore[misc]
    r"""Sparse regressor that chooses its degree of sparsity and its kernel width.

    The regression counterpart of :class:`SparseBayesClassifierCV`; every candidate is a
    :class:`~laconism.SparseBayesRegressor`.

    Parameters
    ----------
    shapes, scales, kernel, gammas, cv, criterion, one_standard_error, race, n_jobs, callbacks
        As in :class:`SparseBayesClassifierCV`; ``cv=None`` is 5 folds.
    degree, coef0, expansion, likelihood, fit_intercept, penalize_intercept, max_iter, tol
        As in :class:`~laconism.SparseBayesRegressor`.
    rank_tol, max_rank
        As in :class:`~laconism.SparseBayesRegressor`.
    scoring : None, str or callable, default=None
        None is the mean log density of the target under the predictive distribution, rows weighted.

    Attributes
    ----------
    best_estimator_ : SparseBayesRegressor
    best_params_, best_score_, best_index_, cv_results_, n_splits_, refit_time_, n_iter_
        As in :class:`SparseBayesClassifierCV`.

    Examples
    --------
    >>> from laconism import SparseBayesRegressorCV
    >>> from laconism.datasets import make_sparse_regression
    >>> X, y, coef = make_sparse_regression(100, 20, n_relevant=3, random_state=0)
    >>> model = SparseBayesRegressorCV(one_standard_error=True).fit(X, y)
    >>> model.best_params_["prior__q"], set(coef.nonzero()[0]) <= set(model.best_estimator_.relevance_)
    (0.1, True)
    """

    _estimator = SparseBayesRegressor

    def __init__(
        self,
        shapes: Any = (0.1, 0.5, 1.0, 1.5, 2.0),
        *,
        scales: Any = "evidence",
        kernel: Any = None,
        gammas: Any = "auto",
        degree: int = 3,
        coef0: float = 1.0,
        expansion: int = 1,
        likelihood: Any = "gaussian",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-8,
        rank_tol: float | Literal["auto"] = "auto",
        max_rank: int = 1000,
        cv: Any = None,
        scoring: Any = None,
        criterion: Literal["cv", "evidence"] = "cv",
        one_standard_error: bool = False,
        race: bool = True,
        n_jobs: int | None = None,
        callbacks: Any = None,
    ) -> None:
        self.shapes = shapes
        self.scales = scales
        self.kernel = kernel
        self.gammas = gammas
        self.degree = degree
        self.coef0 = coef0
        self.expansion = expansion
        self.likelihood = likelihood
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.rank_tol = rank_tol
        self.max_rank = max_rank
        self.cv = cv
        self.scoring = scoring
        self.criterion = criterion
        self.one_standard_error = one_standard_error
        self.race = race
        self.n_jobs = n_jobs
        self.callbacks = callbacks
