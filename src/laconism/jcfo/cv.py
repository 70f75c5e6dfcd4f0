"""Joint selection of kernels and features, with rates chosen by cross-validation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.feature_selection import SelectorMixin

from .._protocols import Array
from ..judging.compare import Rule
from ..judging.folds import draw_folds
from ..judging.race import Race, choose_candidate
from ..judging.trials import Data
from ..model.callbacks import candidate_reporter
from ..model.search import ClassifierSearch, CVSearch, RegressorSearch, Winner
from ..model.threads import one_blas_thread
from .estimators import JCFOClassifier, JCFORegressor
from .rate_path import MIN_ERROR_NATS, JCFOCandidate, fit_candidates, make_grid, try_fold

# For predictions each step away from the gentlest selection must gain this much: record 032.
_NATS_PER_STEP = 2.0
# The first folds are rounds of their own, after each of which candidates may be dropped; the other folds
# are one round, shared by the workers.
_N_SINGLE_ROUNDS = 2


@dataclass(eq=False, repr=False)
class JCFOSearch(SelectorMixin, CVSearch):  # type: ignore[misc]
    """The search for rates that classifier and regressor share."""

    kernel: str = "rbf"
    _: KW_ONLY
    selection_rates: Any = "auto"
    weight_rates: Any = "auto"
    scale_rates: Any = "auto"
    initial_scales: Any = "auto"
    degree: int = 2
    solver: str = "varpro"
    screening: Any = None
    n_centres: int | None = None
    standardize: bool = True
    fit_intercept: bool = True
    max_iter: int = 200
    tol: float = 1e-6
    random_state: Any = 0
    cv: Any = None
    scoring: Any = None
    one_standard_error: bool = True
    race: bool = True
    n_jobs: int | None = None
    callbacks: Any = None

    _size_name = "features"

    def _search(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Make the candidates, try them, choose, refit and publish."""
        data, template = self._validate(X, y, sample_weight), self._template()
        prepared = template._prepare(template._fit_data(*data))  # validates all settings but the grid
        candidates = make_grid(self, prepared)
        if self._classifies and self.scoring is None and not self.one_standard_error:
            for candidate in candidates:
                candidate.charge = _NATS_PER_STEP * candidate.n_steps / float(data.weight.sum())
        race = self._race(template, data, groups)
        with one_blas_thread():
            race.run([candidates])
        best, trials = choose_candidate(candidates, race.factors, race.rule, race.order)
        began = time.perf_counter()
        with one_blas_thread():
            model = self._refit(template, X, data, candidates, best)
        winner = Winner(model, time.perf_counter() - began)
        self._publish_search(candidates, race.factors, best, trials, winner)

    def _race(self, template: Any, data: Data, groups: Any) -> Race[JCFOCandidate]:
        """Return the race over the folds."""
        scoring = self._resolve_scoring(template)
        folds = draw_folds(self.cv, data, groups, self._classifies)
        drops = self.race and scoring.by_rows
        return Race(
            partial(try_fold, template, data, scoring, drops),
            rounds=_rounds(folds) if drops else [folds],
            weight=sum(float(data.weight[test].sum()) for _, test in folds),
            factors=scoring.factors,
            drops=drops,
            rule=self._rule(Rule()),
            n_jobs=self.n_jobs,
            min_error_nats=MIN_ERROR_NATS,
            # For predictions the gentlest selection comes first: record 032.
            order=attrgetter("size" if self.one_standard_error else "n_steps"),
            on_fold=candidate_reporter(self.callbacks),
        )

    def _refit(
        self, template: Any, X: Any, data: Data, candidates: Sequence[JCFOCandidate], best: JCFOCandidate
    ) -> Any:
        """Return the chosen model on all rows, reached along the path that the folds took."""
        model = clone(template).set_params(**best.params)
        prepared = model._prepare(model._fit_data(X, data.y, data.weight))
        alone = [replace(each, runs=each is best) for each in candidates]
        ((_, fits),) = fit_candidates(model, prepared, alone)
        model._publish_fits(prepared, fits)
        return model

    @property
    def feature_scales_(self) -> Array:
        """The scales of the chosen model."""
        return np.asarray(self._chosen.feature_scales_)

    def _get_support_mask(self) -> Array:
        return np.asarray(self._chosen.get_support())


def _rounds(folds: Sequence[Any]) -> list[Sequence[Any]]:
    """Return the folds in rounds; candidates may be dropped after each."""
    rounds = [*([fold] for fold in folds[:_N_SINGLE_ROUNDS]), folds[_N_SINGLE_ROUNDS:]]
    return [each for each in rounds if len(each)]


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
        As in :class:`~laconism.SparseBayesClassifierCV`; nor are weight rates tried below one that was
        clearly worse.
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
    kernel, selection_rates, weight_rates, scale_rates, one_standard_error, race, n_jobs, callbacks
        As in :class:`JCFOClassifierCV`, but ``one_standard_error=False`` just takes the best.
    initial_scales, degree, solver, screening, n_centres, standardize, likelihood
        As in :class:`~laconism.JCFORegressor`.
    fit_intercept, penalize_intercept, max_iter, tol, random_state
        As in :class:`~laconism.JCFORegressor`.
    cv, scoring
        As in :class:`~laconism.SparseBayesRegressorCV`.

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
