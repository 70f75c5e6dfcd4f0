"""Joint models that choose their rates."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin

from ..model.search import ClassifierSearch, RegressorSearch
from .estimators import JCFOClassifier, JCFORegressor
from .rate_search import JCFOSearch


class JCFOClassifierCV(ClassifierMixin, ClassifierSearch, JCFOSearch):  # type: ignore[misc]
    r"""Kernels and features found together, and their prices by cross-validation.

    Every candidate is a :class:`~laconism.JCFOClassifier`. Along a path of ascending ``selection_rate``
    the answer at one is the start of the next, the first has several starts; the features that it keeps
    are also exchanged and given kernels at the lower rates of ``weight_rates``, from the highest of them
    down. Screening, where it is asked for, happens inside the folds. The chosen one is reached along the
    same path on all rows.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear"}, default="rbf"
        As in :class:`~laconism.JCFOClassifier`.
    selection_rates : "auto" or sequence of float, default="auto"
        Prices of a weight at which features are selected. ``"auto"`` takes six or seven around the
        estimator's own ``selection_rate="auto"``.
    weight_rates : "auto" or sequence of float or None, default="auto"
        Prices of a weight for the features that were selected, where that is lower; None is the price at
        which they were. ``"auto"`` is None, 1, 0.3 and 0.1 for ``"rbf"``, None and 1 for the others.
    scale_rates : "auto" or sequence of float or "auto", default="auto"
        Prices of a feature scale.
    initial_scales : "auto", float or array-like of shape (n_features,), default="auto"
        Where each path begins, as in :class:`~laconism.JCFOClassifier`.
    degree, solver, screening, n_centres, standardize, share_features, likelihood
        As in :class:`~laconism.JCFOClassifier`.
    fit_intercept, penalize_intercept, max_iter, tol, class_weight, random_state
        As in :class:`~laconism.JCFOClassifier`.
    cv : int, splitter, iterable or None, default=None
        As in scikit-learn; None is 5 stratified folds, the same in whatever order the rows come, with
        copies of a row in one of them.
    scoring : None, str or callable, default=None
        None is the mean log probability of the label, rows weighted: minus the log-loss, of models as
        sure of themselves as the rows left out allow (``variance_factor_``). Any other takes the models
        as they are.
    one_standard_error : bool, default=True
        Take the candidate with the fewest features within one standard error of the best. False is the
        best, for predictions; of the ``"auto"`` rates of ``"rbf"`` the one that is best by more than
        two nats, over all rows, for each step from the lowest selection rate and to lower weights.
    race : bool, default=True
        Whether candidates that will not be chosen, as far as the folds so far tell row by row, are left
        out of the other folds, and prices of a weight below one that made the rows left out clearly
        less likely are not tried. In ``cv_results_`` their scores on those folds are NaN, and so is
        their mean. ``False`` tries every candidate on every fold, as ``scoring`` does.
    n_jobs : int or None, default=None
        Workers, one fold each (after the first two, where there is a race).
    callbacks : None, callable or list of callables, default=None
        Each is called with a :class:`~laconism.solvers.Record` after every fold: its number, the best
        score, its number of features and the seconds so far.

    Attributes
    ----------
    best_estimator_ : JCFOClassifier
    best_params_ : dict
        ``scale_rate``, ``selection_rate`` and ``weight_rate``.
    best_score_ : float
    best_index_ : int
    cv_results_ : dict
        As ``GridSearchCV`` lays it out, with ``mean_n_features`` besides. NaN where a candidate was not
        tried (``race``).
    variance_factor_ : float
        By which the variances of the chosen model's latents are multiplied, as the rows left out ask
        for: below 1 where Laplace's approximation is too timid, at most 2, and 1 with ``scoring``.
    feature_scales_ : ndarray
        Of the chosen model.
    classes_ : ndarray of shape (n_classes,)
    n_splits_ : int
    refit_time_ : float
    n_iter_ : int
        Of the chosen model.

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

    _estimator: Any = JCFOClassifier

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        selection_rates: Any = "auto",
        weight_rates: Any = "auto",
        scale_rates: Any = "auto",
        initial_scales: Any = "auto",
        degree: int = 2,
        solver: str = "varpro",
        screening: Any = None,
        n_centres: int | None = None,
        standardize: bool = True,
        share_features: bool = True,
        likelihood: Any = "probit",
        fit_intercept: bool = True,
        penalize_intercept: Any = "auto",
        max_iter: int = 200,
        tol: float = 1e-6,
        class_weight: Any = None,
        random_state: Any = 0,
        cv: Any = None,
        scoring: Any = None,
        one_standard_error: bool = True,
        race: bool = True,
        n_jobs: int | None = None,
        callbacks: Any = None,
    ) -> None:
        self.kernel = kernel
        self.selection_rates = selection_rates
        self.weight_rates = weight_rates
        self.scale_rates = scale_rates
        self.initial_scales = initial_scales
        self.degree = degree
        self.solver = solver
        self.screening = screening
        self.n_centres = n_centres
        self.standardize = standardize
        self.share_features = share_features
        self.likelihood = likelihood
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.random_state = random_state
        self.cv = cv
        self.scoring = scoring
        self.one_standard_error = one_standard_error
        self.race = race
        self.n_jobs = n_jobs
        self.callbacks = callbacks


class JCFORegressorCV(RegressorMixin, RegressorSearch, JCFOSearch):  # type: ignore[misc]
    r"""Joint regression whose prices come from cross-validation.

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
    cv : int, splitter, iterable or None, default=None
        As in scikit-learn; None is 5 folds, the same in whatever order the rows come, with copies of a
        row in one of them.
    scoring : None, str or callable, default=None
        None is the mean log density of the target under the predictive distribution, rows weighted.
    one_standard_error : bool, default=True
        Take the candidate with the fewest features within one standard error of the best; False is
        the best, for predictions.

    Attributes
    ----------
    best_estimator_ : JCFORegressor
    best_params_, best_score_, best_index_, cv_results_, feature_scales_, n_splits_, refit_time_, n_iter_
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

    _estimator: Any = JCFORegressor

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        selection_rates: Any = "auto",
        weight_rates: Any = "auto",
        scale_rates: Any = "auto",
        initial_scales: Any = "auto",
        degree: int = 2,
        solver: str = "varpro",
        screening: Any = None,
        n_centres: int | None = None,
        standardize: bool = True,
        likelihood: Any = "gaussian",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: Any = 0,
        cv: Any = None,
        scoring: Any = None,
        one_standard_error: bool = True,
        race: bool = True,
        n_jobs: int | None = None,
        callbacks: Any = None,
    ) -> None:
        self.kernel = kernel
        self.selection_rates = selection_rates
        self.weight_rates = weight_rates
        self.scale_rates = scale_rates
        self.initial_scales = initial_scales
        self.degree = degree
        self.solver = solver
        self.screening = screening
        self.n_centres = n_centres
        self.standardize = standardize
        self.likelihood = likelihood
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.cv = cv
        self.scoring = scoring
        self.one_standard_error = one_standard_error
        self.race = race
        self.n_jobs = n_jobs
        self.callbacks = callbacks
