"""Joint classifier and feature optimisation."""

from __future__ import annotations

from typing import Any

from ..likelihoods import Gaussian
from ..model.predictions import BinaryPredictions, GaussianPredictions
from ..model.tasks import Labels, Values
from .base import JCFOBase


class JCFOClassifier(BinaryPredictions, JCFOBase):
    r"""A kernel classifier that finds its features while it finds its kernels [JCFO]_.

    Minimises :math:`-\sum_i\log p(y_i \mid f_i) + \mathrm{weight\_rate}\,\|w\|_1 +
    \mathrm{scale\_rate}\sum_k\theta_k` over weights :math:`w` and feature scales
    :math:`\theta \ge 0`, with :math:`f = \sum_j w_j K_\theta(x, x_j) + b` and for instance
    :math:`K_\theta(x, c) = \exp(-\sum_k\theta_k(x_k - c_k)^2)`. Both become exactly zero where they are
    not needed: few kernels, few features, also where features matter only together.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear"}, default="rbf"
        :math:`\exp(-\sum\theta_k(x_k-c_k)^2)`, :math:`(1 + \sum\theta_k x_k c_k)^{\mathrm{degree}}` or
        :math:`\sum\theta_k x_k c_k`.
    degree : int, default=2
        Of ``"poly"``.
    weight_rate : float or "auto", default="auto"
        Price of a weight. ``"auto"`` is 1, and less for ``"rbf"`` where rows are few: 0.04 times the
        root of n log p, a tenth of the price that leaves out what noise alone would bring. (With a
        ``selection_rate`` p is taken to be 3, since few features are left.)
    scale_rate : float or "auto", default="auto"
        Price of a feature scale; ``"auto"`` is 2. (With the linear kernel only the product of the two
        rates matters.)
    initial_scales : "auto", float or array-like of shape (n_features,), default="auto"
        Scales at which the search begins, those of features in their own units: the kernel
        :math:`\exp(-\sum\theta_k(x_k-c_k)^2)` before anything is standardised, so that a Gaussian of
        width h is ``1 / (2 * h**2)``. ``"auto"`` tries several and goes on from the best; what is given
        is taken as it is, without other starts or restarts, as the paper does.
    selection_rate : float, "auto" or None, default=None
        A larger price of a weight at which the features are selected, before those that were are given
        kernels at ``weight_rate``. A high price selects sharply but shrinks; this has the one without
        the other. Then features are exchanged: out are those worth less than log p + log(n) / 2 nats to
        the model, the price of the extended Bayesian information criterion, and in come those worth
        more. (Unless the kernel is linear this happens from the features at ``weight_rate``, too, and
        the better end counts.) ``"auto"`` leaves out what noise alone would bring: 0.4 times the root
        of n log p for ``"rbf"``, 0.4 n log p for the others (times 2 / ``scale_rate``), and less where
        that leaves nothing. None is one search for both, the paper's model; it is no match for p >> n.
    solver : {"varpro", "em"}, default="varpro"
        Variable projection, or the paper's EM.
    screening : None, int or "auto", default=None
        Features that sparse linear models choose beforehand, section 3.1 of [JCFO]_; ``"auto"`` leaves
        as many as there are rows, to save time. It happens inside ``fit``, so no cross-validation can
        leak. A feature that matters only together with others is invisible to a linear model.
    n_centres : int or None, default=None
        Rows that may carry a kernel; ``None`` is all of up to 1000, and 300 drawn ones of more.
    standardize : bool, default=True
        Whether features are first brought to mean zero and standard deviation one.
    share_features : bool, default=True
        Whether all classes share one set of scales; ``False`` gives each class, against the rest, scales
        and kernels of its own. Two classes have one set anyway.
    likelihood : {"probit", "logistic"} or Binary, default="probit"
        Distribution of the label.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    penalize_intercept : bool or "auto", default="auto"
        ``True`` puts the prior on the intercept as on any weight, which is the paper's model. ``"auto"``
        does so for two classes with ``"rbf"``: a latent of zero is even odds, so kernels that tell two
        classes apart need an intercept only where it is worth its price.
    max_iter : int, default=200
        Most iterations.
    tol : float, default=1e-6
        Violation of the conditions of optimality, in units of the rates, at which the fit has converged;
        Newton's method ends far below. For ``solver="em"`` the relative gain at which it stops.
    class_weight : None, dict or "balanced", default=None
        Weights of the classes, multiplied with ``sample_weight``.
    random_state : int, RandomState or None, default=0
        Draws the centres where there are too many rows, and those through which the search begins.
    callbacks : None, callable or list of callables, default=None
        Each is called with a :class:`~laconism.solvers.Record` after every iteration; returning
        ``True`` stops the fit.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    feature_scales_ : ndarray of shape (n_features,), or (n_classes, n_features)
        The scales, of standardised features where ``standardize``; exactly zero where a feature is out.
        A row for each of more than two classes without ``share_features``.
    objective_ : float
        The minimum that was found.
    kernel_ : Kernel, or a list of one for each class
        The kernel with its scales, for features as they come.
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

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        degree: int = 2,
        weight_rate: Any = "auto",
        scale_rate: Any = "auto",
        initial_scales: Any = "auto",
        selection_rate: Any = None,
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
        callbacks: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.weight_rate = weight_rate
        self.scale_rate = scale_rate
        self.initial_scales = initial_scales
        self.selection_rate = selection_rate
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
        self.callbacks = callbacks


class JCFORegressor(GaussianPredictions, JCFOBase):
    r"""Kernel regression that finds its features while it finds its kernels.

    The model of :class:`JCFOClassifier` with Gaussian noise, whose variance is estimated too: weights
    cost in units of the noise, so it is found together with them, and no model that passes through the
    data ends without any.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear"}, default="rbf"
    degree : int, default=2
        Of ``"poly"``.
    weight_rate : float, default=1.0
        Price of a weight as large as the standard deviation of the noise.
    scale_rate : float or "auto", default="auto"
        Price of a feature scale; ``"auto"`` is 2.
    initial_scales : "auto", float or array-like of shape (n_features,), default="auto"
        As in :class:`JCFOClassifier`.
    selection_rate : float, "auto" or None, default=None
        As in :class:`JCFOClassifier`.
    solver : {"varpro", "em"}, default="varpro"
        Variable projection, or the paper's EM.
    screening : None, int or "auto", default=None
        As in :class:`JCFOClassifier`.
    n_centres : int or None, default=None
        As in :class:`JCFOClassifier`.
    standardize : bool, default=True
        Whether features are first brought to mean zero and standard deviation one.
    likelihood : "gaussian" or Gaussian, default="gaussian"
        ``Gaussian(noise=0.1, estimate=False)`` of :mod:`laconism.likelihoods` fixes the noise variance.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    penalize_intercept : bool, default=False
        ``True`` puts the prior on the intercept as on any weight.
    max_iter : int, default=200
        Most iterations.
    tol : float, default=1e-6
        Violation of the conditions of optimality, in units of the rates, at which the fit has converged;
        Newton's method ends far below. For ``solver="em"`` the relative gain at which it stops.
    random_state : int, RandomState or None, default=0
        Draws the centres where there are too many rows, and those through which the search begins.
    callbacks : None, callable or list of callables, default=None
        As in :class:`JCFOClassifier`.

    Attributes
    ----------
    feature_scales_, objective_, kernel_
        As in :class:`JCFOClassifier`.
    noise_variance_ : float
        Variance of the noise, corrected for the weights and scales that the data determine.
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

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        degree: int = 2,
        weight_rate: float = 1.0,
        scale_rate: Any = "auto",
        initial_scales: Any = "auto",
        selection_rate: Any = None,
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
        callbacks: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.weight_rate = weight_rate
        self.scale_rate = scale_rate
        self.initial_scales = initial_scales
        self.selection_rate = selection_rate
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
        self.callbacks = callbacks
