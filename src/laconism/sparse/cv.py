"""Sparse Bayesian estimators whose prior and kernel width are chosen by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin

from ..model.search import ClassifierSearch, RegressorSearch
from .classifier import SparseBayesClassifier
from .regressor import SparseBayesRegressor
from .search import SparseBayesSearch


@dataclass(eq=False, repr=False, kw_only=True)
class SparseBayesClassifierCV(ClassifierMixin, ClassifierSearch, SparseBayesSearch):  # type: ignore[misc]
    r"""Sparse classifier with prior and kernel width chosen by cross-validation.

    Every candidate is a :class:`~laconism.SparseBayesClassifier` with the prior
    :class:`~laconism.priors.GeneralizedGaussian`. Its shape ``q`` ranges from best subset (near
    0) over the lasso (1) to ridge (2); its scale is learnt by the evidence. Without a kernel the
    candidate with the best score is chosen. With a kernel they are compared from the sparsest on, and a
    denser one must raise the cross-validated log likelihood, summed over the rows, by log 5. The chosen
    candidate is refitted on all rows.

    Candidates share their work: the kernel matrix is factored once for each fold and width, each prior
    starts from the solution of the one before it, and each fold from the scales of the last.

    Parameters
    ----------
    shapes : sequence of float, default=(0.1, 0.5, 1.0, 1.5, 2.0)
        Values of ``q`` to choose from.
    scales : "evidence", float or sequence of those, default="evidence"
        Scales of the prior to choose from; ``"evidence"`` learns it. With a kernel and two classes, if
        the chosen prior is dense (``q`` above 1) and its scale was learnt, 3, 10 and 30 times that scale
        are tried too. They must raise the cross-validated log likelihood by log 5.
    kernel : None, str, Kernel or callable, default=None
        As in :class:`~laconism.SparseBayesClassifier`.
    gammas : "auto" or sequence of float, default="auto"
        Values of ``gamma = 1 / (2 h**2)`` of a named kernel to choose from. ``"auto"`` is six widths
        ``h``, from a quarter of the lower decile of the distances between rows to twice the upper one.
    degree, coef0, expansion, likelihood, fit_intercept, penalize_intercept, class_weight
        As in :class:`~laconism.SparseBayesClassifier`.
    max_iter, tol, rank_tol, max_rank
        As in :class:`~laconism.SparseBayesClassifier`. Candidates are fitted to 1e-4 nats
        per observation, the chosen one to ``tol``.
    cv : int, splitter, iterable or None, default=None
        As in scikit-learn. ``None`` is 5 stratified folds, which do not depend on the order of the rows
        and keep duplicates of a row together.
    scoring : None, str or callable, default=None
        ``None`` is the weighted mean log probability of the label (minus the log-loss), calibrated by
        ``variance_factor_``. Other scores use the models without this calibration, as ``GridSearchCV``
        does.
    criterion : {"cv", "evidence"}, default="cv"
        ``"cv"`` is cross-validation. ``"evidence"`` fits each candidate once, on all rows, and takes
        the one with the largest Laplace evidence, less the logarithm of the number of subsets of its
        size. It needs ``kernel=None``: with kernels it keeps too few of them.
    one_standard_error : bool, default=False
        Whether a denser candidate must be better by more than one standard error of the paired
        differences of the rows, with features and with kernels.
    race : bool, default=True
        Whether candidates that are unlikely to be chosen, judged row by row on the folds so far, skip
        the other folds. Their scores on those folds, and their mean score, are NaN in ``cv_results_``.
        ``False`` tries every candidate on every fold; so does any search with ``scoring``.
    n_jobs : int or None, default=None
        Number of workers, one width each.
    callbacks : None, callable or list of callables, default=None
        Each is called with a :class:`~laconism.solvers.Record` after every candidate: its number, mean
        score, mean number of kept columns, and seconds so far.

    Attributes
    ----------
    best_estimator_ : SparseBayesClassifier
    best_params_ : dict
        ``prior__q``, ``prior__scale`` and, if it was searched, ``gamma``.
    best_score_ : float
    best_index_ : int
    cv_results_ : dict
        As in ``GridSearchCV``, with ``mean_n_relevant`` in addition. NaN where a candidate was not
        tried (``race``).
    candidates_ : list of Trial
        The comparisons in their order: name, score, size, gain over the champion before it with its
        standard error, in nats a row, and which one won.
    variance_factor_ : float
        Factor of the latent variances of the chosen model. It maximises the cross-validated log density:
        it is below 1 if Laplace's approximation is underconfident, and at most 2. It is 1 with
        ``scoring`` or ``criterion="evidence"``. The weights are those of a plain fit with
        ``best_params_``.
    classes_ : ndarray of shape (n_classes,)
    n_splits_ : int
    refit_time_ : float
    n_iter_ : int
        Number of iterations of the chosen model.

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
    """

    _estimator = SparseBayesClassifier

    likelihood: Any = "probit"
    class_weight: Any = None


@dataclass(eq=False, repr=False, kw_only=True)
class SparseBayesRegressorCV(RegressorMixin, RegressorSearch, SparseBayesSearch):  # type: ignore[misc]
    r"""Sparse regressor with prior and kernel width chosen by cross-validation.

    The regression counterpart of :class:`SparseBayesClassifierCV`. Every candidate is a
    :class:`~laconism.SparseBayesRegressor`, and the one with the best score is chosen.

    Parameters
    ----------
    shapes, scales, kernel, gammas, cv, criterion, one_standard_error, race, n_jobs, callbacks
        As in :class:`SparseBayesClassifierCV`; ``cv=None`` is 5 folds.
    degree, coef0, expansion, likelihood, fit_intercept, penalize_intercept, max_iter, tol
        As in :class:`~laconism.SparseBayesRegressor`.
    rank_tol, max_rank
        As in :class:`~laconism.SparseBayesRegressor`.
    scoring : None, str or callable, default=None
        ``None`` is the weighted mean log density of the target under the predictive distribution.

    Attributes
    ----------
    best_estimator_ : SparseBayesRegressor
    best_params_, best_score_, best_index_, cv_results_, candidates_, n_splits_, refit_time_, n_iter_
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

    likelihood: Any = "gaussian"
