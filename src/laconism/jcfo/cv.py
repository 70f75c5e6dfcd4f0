"""Joint selection of kernels and features, with rates chosen by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin

from ..model.search import ClassifierSearch, RegressorSearch
from .estimators import JCFOClassifier, JCFORegressor
from .rate_search import JCFOSearch


@dataclass(eq=False, repr=False, kw_only=True)
class JCFOClassifierCV(ClassifierMixin, ClassifierSearch, JCFOSearch):  # type: ignore[misc]
    r"""Joint selection of kernels and features, with rates chosen by cross-validation.

    Every candidate is a :class:`~laconism.JCFOClassifier`. The candidates form a path of ascending
    ``selection_rate``: the first has several starts, and each later one starts from the solution before
    it. The features selected at a rate are also exchanged and refitted at the lower rates of
    ``weight_rates``, in descending order. Screening is done inside the folds. The chosen candidate is
    refitted on all rows along the same path.

    Parameters
    ----------
    selection_rates : "auto" or sequence of float, default="auto"
        Rates of the weights at which features are selected. ``"auto"`` is six or seven rates around
        that of ``JCFOClassifier(selection_rate="auto")``.
    weight_rates : "auto" or sequence of float or None, default="auto"
        Rates of the weights at which the model is fitted to the selected features, as far as they are
        lower than the selection rate; ``None`` is the selection rate itself. ``"auto"`` is None, 1, 0.3
        and 0.1 for ``"rbf"``, None and 1 for the others.
    scale_rates : "auto" or sequence of float or "auto", default="auto"
        Rates of the feature scales; ``"auto"`` is that of :class:`~laconism.JCFOClassifier`.
    kernel, initial_scales, degree, solver, screening, n_centres, standardize, share_features, likelihood
        As in :class:`~laconism.JCFOClassifier`; each path starts at ``initial_scales``.
    fit_intercept, penalize_intercept, max_iter, tol, class_weight, random_state
        As in :class:`~laconism.JCFOClassifier`.
    cv, scoring
        As in :class:`~laconism.SparseBayesClassifierCV`.
    one_standard_error : bool, default=True
        ``True`` takes the candidate with the fewest features, unless a larger one is better by more than
        one standard error of the paired differences of the rows.
        ``False`` takes the best, for predictions. Without ``scoring`` a candidate must then gain two
        nats over all rows for each step to a higher selection rate or a lower weight rate, since the
        best of many candidates may be best by chance.
    race : bool, default=True
        Whether candidates that are unlikely to be chosen, judged row by row on the folds so far, skip
        the other folds; nor are weight rates tried below one that was clearly worse. Their scores on
        those folds, and their mean score, are NaN in ``cv_results_``. ``False`` tries every candidate on
        every fold; so does any search with ``scoring``.
    n_jobs : int or None, default=None
        Number of workers, one fold each; in a race, from the third fold on.
    callbacks : None, callable or list of callables, default=None
        Each is called with a :class:`~laconism.solvers.Record` after every fold: number of the fold,
        best score, number of features of that candidate, and seconds so far.

    Attributes
    ----------
    best_estimator_ : JCFOClassifier
    best_params_ : dict
        ``scale_rate``, ``selection_rate`` and ``weight_rate``.
    cv_results_ : dict
        As in ``GridSearchCV``, with ``mean_n_features`` in addition. NaN where a candidate was not
        tried (``race``).
    feature_scales_ : ndarray
        Feature scales of the chosen model.
    best_score_, best_index_, candidates_, variance_factor_, classes_, n_splits_, refit_time_, n_iter_
        As in :class:`~laconism.SparseBayesClassifierCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from laconism import JCFOClassifierCV
    >>> X = np.random.default_rng(0).normal(size=(100, 6))
    >>> y = X[:, 1] * X[:, 3] > 0
    >>> model = JCFOClassifierCV(selection_rates=[2.0, 8.0], cv=3).fit(X, y)
    >>> model.get_support(indices=True)
    array([1, 3])
    """

    _estimator = JCFOClassifier

    share_features: bool = True
    likelihood: Any = "probit"
    penalize_intercept: Any = "auto"
    class_weight: Any = None


@dataclass(eq=False, repr=False, kw_only=True)
class JCFORegressorCV(RegressorMixin, RegressorSearch, JCFOSearch):  # type: ignore[misc]
    r"""Regression with joint selection of kernels and features, with rates chosen by cross-validation.

    The regression counterpart of :class:`JCFOClassifierCV`; every candidate is a
    :class:`~laconism.JCFORegressor`.

    Parameters
    ----------
    kernel, selection_rates, weight_rates, scale_rates, race, n_jobs, callbacks
        As in :class:`JCFOClassifierCV`.
    initial_scales, degree, solver, screening, n_centres, standardize, likelihood
        As in :class:`~laconism.JCFORegressor`.
    fit_intercept, penalize_intercept, max_iter, tol, random_state
        As in :class:`~laconism.JCFORegressor`.
    cv, scoring
        As in :class:`~laconism.SparseBayesRegressorCV`.
    one_standard_error : bool, default=True
        ``True`` takes the candidate with the fewest features, unless a larger one is better by more than
        one standard error of the paired differences of the rows.
        ``False`` takes the best, for predictions.

    Attributes
    ----------
    best_estimator_ : JCFORegressor
    best_params_, best_score_, best_index_, cv_results_, candidates_, feature_scales_
        As in :class:`JCFOClassifierCV`.
    n_splits_, refit_time_, n_iter_
        As in :class:`JCFOClassifierCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from laconism import JCFORegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> y = np.sin(2 * X[:, 3]) + 0.1 * rng.normal(size=60)
    >>> JCFORegressorCV(selection_rates=[1.0, 5.0], cv=3).fit(X, y).get_support(indices=True)
    array([3])
    """

    _estimator = JCFORegressor

    likelihood: Any = "gaussian"
    penalize_intercept: bool = False
