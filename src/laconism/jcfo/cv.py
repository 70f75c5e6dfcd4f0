"""Joint selection of kernels and features, with rates chosen by cross-validation."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin

from ..model.search import ClassifierSearch, RegressorSearch
from .estimators import JCFOClassifier, JCFORegressor
from .rate_search import JCFOSearch


class JCFOClassifierCV(ClassifierMixin, ClassifierSearch, JCFOSearch):  # type: ignore[misc]
    r"""Joint selection of kernels and features, with rates chosen by cross-validation.

    Every candidate is a :class:`~laconism.JCFOClassifier`. The candidates form a path of ascending
    ``selection_rate``: the first has several starts, and each later one starts from the solution before
    it. The features selected at a rate are also exchanged and refitted at the lower rates of
    ``weight_rates``, in descending order. Screening is done inside the folds. The chosen candidate is
    refitted on all rows along the same path.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear"}, default="rbf"
        As in :class:`~laconism.JCFOClassifier`.
    selection_rates : "auto" or sequence of float, default="auto"
        Rates of the weights at which features are selected. ``"auto"`` is six or seven rates around
        that of ``JCFOClassifier(selection_rate="auto")``.
    weight_rates : "auto" or sequence of float or None, default="auto"
        Rates of the weights at which the model is fitted to the selected features, as far as they are
        lower than the selection rate; ``None`` is the selection rate itself. ``"auto"`` is None, 1, 0.3
        and 0.1 for ``"rbf"``, None and 1 for the others.
    scale_rates : "auto" or sequence of float or "auto", default="auto"
        Rates of the feature scales; ``"auto"`` is that of :class:`~laconism.JCFOClassifier`.
    initial_scales : "auto", float or array-like of shape (n_features,), default="auto"
        Feature scales at which each path starts, as in :class:`~laconism.JCFOClassifier`.
    degree, solver, screening, n_centres, standardize, share_features, likelihood
        As in :class:`~laconism.JCFOClassifier`.
    fit_intercept, penalize_intercept, max_iter, tol, class_weight, random_state
        As in :class:`~laconism.JCFOClassifier`.
    cv : int, splitter, iterable or None, default=None
        As in scikit-learn. ``None`` is 5 stratified folds, which do not depend on the order of the rows
        and keep duplicates of a row together.
    scoring : None, str or callable, default=None
        ``None`` is the weighted mean log probability of the label (minus the log-loss), calibrated by
        ``variance_factor_``. Other scores use the models without this calibration.
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
    best_score_ : float
    best_index_ : int
    cv_results_ : dict
        As in ``GridSearchCV``, with ``mean_n_features`` in addition. NaN where a candidate was not
        tried (``race``).
    candidates_ : list of Trial
        The comparisons in their order: name, score, size, gain over the champion before it with its
        standard error, in nats a row, and which one won.
    variance_factor_ : float
        Factor of the latent variances of the chosen model. It maximises the cross-validated log density:
        it is below 1 if Laplace's approximation is underconfident, and at most 2. It is 1 with
        ``scoring``.
    feature_scales_ : ndarray
        Feature scales of the chosen model.
    classes_ : ndarray of shape (n_classes,)
    n_splits_ : int
    refit_time_ : float
    n_iter_ : int
        Number of iterations of the chosen model.

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
    cv : int, splitter, iterable or None, default=None
        As in scikit-learn. ``None`` is 5 folds, which do not depend on the order of the rows and keep
        duplicates of a row together.
    scoring : None, str or callable, default=None
        ``None`` is the weighted mean log density of the target under the predictive distribution.
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
