"""Joint classifier and feature optimisation, from validated rows to the published model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from .._component import is_count, is_name, is_number, is_positive, is_rate, unknown
from ..likelihoods import Gaussian
from ..model.callbacks import begin_reports
from ..model.kernel_model import KernelModel
from ..model.predictions import BinaryPredictions, GaussianPredictions
from ..model.tasks import FitData, Labels, Values
from .columns import joint_columns
from .posteriors import output_fits
from .prepare import PreparedData, prepare
from .search import SOLVERS, JointFit, SearchSettings, search


def _rules(model: Any, *, classifies: bool) -> dict[str, tuple[bool, str]]:
    """Return what each setting of a joint model must be, and whether it is."""
    rules: dict[str, tuple[bool, str]] = {}

    def rule(name: str, holds: Callable[[Any], bool], text: str, *others: str | None) -> None:
        value = getattr(model, name)
        known = any(value is None if each is None else is_name(value, each) for each in others)
        rules[name] = (known or holds(value), text)

    if classifies:
        rule("weight_rate", is_positive, "a positive number or 'auto'", "auto")
    else:
        rule("weight_rate", is_positive, "a positive number")
    scales = "a positive number or one number per feature, none negative, one positive (up to 1e100)"
    rule("scale_rate", is_rate, "a positive number or 'auto' (up to 1e100)", "auto")
    rule("selection_rate", is_positive, "None, 'auto' or a positive number", None, "auto")
    rule("initial_scales", _are_scales, f"'auto', {scales}", "auto")
    rule("n_centres", is_count, "None or a count", None)
    rule("screening", is_count, "None, 'auto' or a positive whole number", None, "auto")
    rules["kernel"] = (is_name(model.kernel, "linear", "poly", "rbf"), "'rbf', 'poly' or 'linear'")
    rule("degree", is_count, "a positive whole number")
    if classifies:
        penalized = isinstance(model.penalize_intercept, bool | np.bool_ | int)
        rule("penalize_intercept", lambda value: penalized, "True, False or 'auto'", "auto")
    return rules


def _are_scales(value: Any) -> bool:
    """Whether ``value`` is a positive number, or numbers of which one is and none is negative."""
    if is_number(value):
        return is_rate(value)
    values = list(value) if np.iterable(value) else []
    return all(is_rate(each) or (is_number(each) and each == 0) for each in values) and any(values)


@dataclass(eq=False, repr=False)
class JCFOBase(KernelModel):
    """Shared by classifier and regressor; they add the task and the parameters that differ."""

    kernel: str = "rbf"
    _: KW_ONLY
    degree: int = 2
    scale_rate: Any = "auto"
    initial_scales: Any = "auto"
    selection_rate: Any = None
    solver: str = "varpro"
    screening: Any = None
    n_centres: int | None = None
    standardize: bool = True
    fit_intercept: bool = True
    max_iter: int = 200
    tol: float = 1e-6
    random_state: Any = 0
    callbacks: Any = None

    _kernel_selects_features = True

    def _own_rules(self) -> dict[str, tuple[bool, str]]:
        return _rules(self, classifies=self._task.classifies)

    def _fit_rows(self, data: FitData) -> None:
        """Find weights and scales together and publish both."""
        prepared = self._prepare(data)
        settings = self._search_settings(prepared)
        rates, price = prepared.selection_rates(self.selection_rate), prepared.feature_price
        reports, end_reports = begin_reports(self, len(prepared.problems))
        fits = []
        for problem, report in zip(prepared.problems, reports, strict=True):
            report.begin()
            fits.append(search(problem, replace(settings, report=report), rates, price))
            report.end()
        end_reports()
        self._publish_fits(prepared, fits)
        if getattr(self, "calibrate", False):
            self._calibrate_noise(data)

    def _prepare(self, data: FitData) -> PreparedData:
        if str(self.solver) not in SOLVERS:
            raise unknown("solver", str(self.solver), sorted(SOLVERS))
        return prepare(self, data)

    def _search_settings(self, prepared: PreparedData) -> SearchSettings:
        max_iter, tol = int(self.max_iter), float(self.tol)
        return SearchSettings(self.solver, max_iter, tol, prepared.trial_order, prepared.start)

    def _publish_fits(self, prepared: PreparedData, fits: Sequence[JointFit]) -> None:
        """Publish the end of a search: one fit, or one for each output."""
        scales = np.array([prepared.scales(fit.state.theta) for fit in fits])
        kernels, bases, basis = joint_columns(self, prepared, scales)
        self.feature_scales_ = scales[0] if len(fits) == 1 else scales
        self.kernel_: Any = kernels[0] if len(fits) == 1 else kernels
        self._support: Any = (scales > 0).any(axis=0)
        self.objective_ = float(sum(fit.state.value for fit in fits))
        self._publish(output_fits(prepared.problems, fits), basis, np.zeros(basis.n_columns), "")
        if not self._task.classifies:
            problem, n_scales = prepared.problems[0], int(np.count_nonzero(scales))
            rows = (prepared.X, problem.targets[0], problem.weight)
            self.noise_variance_ = self._noise_variance(*rows, bases[0], n_scales)


@dataclass(eq=False, repr=False, kw_only=True)
class JCFOClassifier(BinaryPredictions, JCFOBase):
    r"""Kernel classifier that selects kernels and features jointly [JCFO]_.

    Minimises :math:`-\sum_i\log p(y_i \mid f_i) + \mathrm{weight\_rate}\,\|w\|_1 +
    \mathrm{scale\_rate}\sum_k\theta_k` over weights :math:`w` and feature scales
    :math:`\theta \ge 0`, with :math:`f = \sum_j w_j K_\theta(x, x_j) + b` and for instance
    :math:`K_\theta(x, c) = \exp(-\sum_k\theta_k(x_k - c_k)^2)`. Many of both become exactly zero, so
    few kernels and few features remain. Features that matter only jointly are found too.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear"}, default="rbf"
        :math:`\exp(-\sum\theta_k(x_k-c_k)^2)`, :math:`(1 + \sum\theta_k x_k c_k)^{\mathrm{degree}}` or
        :math:`\sum\theta_k x_k c_k`.
    degree : int, default=2
        Degree of the ``"poly"`` kernel.
    weight_rate : float or "auto", default="auto"
        Rate of the Laplace prior of the weights. ``"auto"`` is 1; for ``"rbf"`` it is the smaller of 1
        and 0.04 times the root of n log p, a tenth of the rate that keeps out features of pure noise.
        (With a ``selection_rate`` p is taken to be 3, since few features remain.)
    scale_rate : float or "auto", default="auto"
        Rate of the exponential prior of the feature scales; ``"auto"`` is 2. (With the linear kernel
        only the product of the two rates matters.)
    initial_scales : "auto", float or array-like of shape (n_features,), default="auto"
        Feature scales at which the search starts, for features in their original units, before they are
        standardised: a Gaussian of width h is ``1 / (2 * h**2)``. ``"auto"`` tries several and continues
        from the best. Given scales are the only start, as in the paper.
    selection_rate : float, "auto" or None, default=None
        A larger rate of the weights, at which features are selected; the model is then fitted to the
        selected features at ``weight_rate``. A high rate selects sharply but shrinks the weights, and
        the second step undoes the shrinkage. After it features are exchanged: those that gain less than
        log p + log(n) / 2 nats (the extended Bayesian information criterion) are removed, and those
        that gain more are added. (Unless the kernel is linear, features are also exchanged from those
        selected at ``weight_rate``, and the better result is taken.) ``"auto"`` is the rate that keeps
        out features of pure noise: 0.4 times the root of n log p for ``"rbf"``, 0.4 n log p times
        2 / ``scale_rate`` for the others; it is lowered if no feature remains. ``None`` has one rate for
        both, which is the paper's model; it is unsuitable for p >> n.
    solver : {"varpro", "em"}, default="varpro"
        Variable projection, or the paper's EM.
    screening : None, int or "auto", default=None
        Number of features that sparse linear models select beforehand, section 3.1 of [JCFO]_.
        ``"auto"`` is the number of rows, which saves time. ``None`` is no screening. Screening is part
        of ``fit``, so cross-validation is not biased by it. It misses features that matter only jointly.
    n_centres : int or None, default=None
        Number of rows that may carry a kernel. ``None`` is all rows up to 1000, and 300 rows drawn at
        random if there are more.
    standardize : bool, default=True
        Whether features are scaled to mean zero and standard deviation one.
    share_features : bool, default=True
        Whether all classes share one set of scales. ``False`` gives each class, against the rest,
        separate scales and kernels. No effect with two classes.
    likelihood : {"probit", "logistic"} or Binary, default="probit"
        Distribution of the label.
    penalize_intercept : bool or "auto", default="auto"
        Whether the intercept has the prior of the weights, as in the paper. ``"auto"`` is ``True`` for
        two classes with ``"rbf"``, where a latent of zero means even odds, and ``False`` otherwise.
    tol : float, default=1e-6
        The fit has converged if the conditions of optimality are violated by less than this, in units of
        the rates or, where those are larger, of the standard errors of the slopes. For
        ``solver="em"``, the relative gain below which it stops.
    random_state : int, RandomState or None, default=0
        Seed for drawing the centres if there are too many rows, and those at which the search starts.
    fit_intercept, max_iter, class_weight, callbacks
        As in :class:`SparseBayesClassifier`; an intercept is never dropped.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    feature_scales_ : ndarray of shape (n_features,), or (n_classes, n_features)
        The scales, of standardised features with ``standardize``; exactly zero for features that were
        not selected. With more than two classes and without ``share_features``, one row per class.
    objective_ : float
        The minimum that was found.
    kernel_ : Kernel, or a list of one for each class
        The kernel with its scales, for features in their original units.
    dual_coef_, intercept_, relevance_, relevance_vectors_, n_relevant_, posteriors_, history_, status_
        As in :class:`SparseBayesClassifier`.

    Examples
    --------
    Two features of twenty matter, and neither of them alone:

    >>> import numpy as np
    >>> from laconism import JCFOClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 20))
    >>> y = X[:, 3] * X[:, 7] > 0
    >>> JCFOClassifier().fit(X, y).get_support(indices=True)
    array([3, 7])

    References
    ----------
    .. [JCFO] B. Krishnapuram, A. Hartemink, L. Carin, M. Figueiredo, A Bayesian approach to joint
       feature selection and classifier design, IEEE TPAMI 26, 2004.
    """

    _task = Labels()

    weight_rate: Any = "auto"
    share_features: bool = True
    likelihood: Any = "probit"
    penalize_intercept: Any = "auto"
    class_weight: Any = None


@dataclass(eq=False, repr=False, kw_only=True)
class JCFORegressor(GaussianPredictions, JCFOBase):
    r"""Kernel regression that selects kernels and features jointly.

    The model of :class:`JCFOClassifier` with Gaussian noise. The noise variance is estimated together
    with the weights. Their prior is in units of the noise, so that it does not vanish when a model
    interpolates the data.

    Parameters
    ----------
    kernel, degree, scale_rate, initial_scales, selection_rate, solver, screening, n_centres, standardize
        As in :class:`JCFOClassifier`.
    weight_rate : float, default=1.0
        Rate of the Laplace prior of the weights, in units of the standard deviation of the noise.
    likelihood : "gaussian" or Gaussian, default="gaussian"
        Distribution of the noise. ``Gaussian(noise=0.1, estimate=False)`` of
        :mod:`laconism.likelihoods` fixes the noise variance.
    penalize_intercept : bool, default=False
        Whether the intercept has the prior of the weights.
    calibrate : bool, default=True
        Whether the noise variance is at least that of left-out residuals, by fits without each of five
        parts of the rows, up to 5,000 rows. Where features are selected from many, the residuals of the
        rows that selected them are too small. ``False`` takes a sixth of the time.
    fit_intercept, max_iter, tol, random_state, callbacks
        As in :class:`JCFOClassifier`.

    Attributes
    ----------
    feature_scales_, objective_, kernel_
        As in :class:`JCFOClassifier`.
    noise_variance_ : float
        Variance of the noise, corrected for the weights and scales that the data determine, and
        calibrated.
    dual_coef_, intercept_, relevance_, relevance_vectors_, n_relevant_, posteriors_, history_, status_
        As in :class:`SparseBayesRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from laconism import JCFORegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 10))
    >>> y = np.sin(2 * X[:, 3]) + 0.1 * rng.normal(size=200)
    >>> int(JCFORegressor().fit(X, y).feature_scales_.argmax())
    3
    """

    _task = Values({"gaussian": Gaussian}, Gaussian)

    weight_rate: float = 1.0
    likelihood: Any = "gaussian"
    penalize_intercept: bool = False
    calibrate: bool = True
