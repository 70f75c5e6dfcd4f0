"""The relevance vector machine, from validated rows to the published model."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from .._component import is_name, unknown
from ..design import Built
from ..laplace.mode import own_precision
from ..model.far_variance import Augmentation
from ..model.kernel_model import KernelModel
from ..model.predictions import BinaryPredictions, GaussianPredictions
from ..model.tasks import FitData, Labels, Values
from .evidence import Sequential, TopDownEvidence
from .fit import fit_outputs
from .variational import Variational


@dataclass(eq=False, repr=False)
class RVMBase(KernelModel):
    """Shared by classifier and regressor; they add the task, the likelihood and the predictions."""

    kernel: Any = "rbf"
    _: KW_ONLY
    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 1.0
    inference: str = "sequential"
    solver: str = "fast"
    fit_intercept: bool = True
    shape: float = 1e-12
    rate: float = 1e-12
    max_iter: int = 1000
    tol: float = 1e-5
    rank_tol: Any = "auto"
    max_rank: int = 1000
    n_jobs: int | None = None
    callbacks: Any = None

    def _fit_rows(self, data: FitData, *, calibrated: bool = True) -> None:
        """Learn the precisions of every output and publish the weights; labels are calibrated.

        A regression also has a noise variance and, with a kernel, the variance far from its rows.
        """
        X, weight, targets = data.X, data.weight, data.targets
        solver, basis = self._make_solver(), self._make_basis(X, weight)
        rank = {"rank_tol": self.rank_tol, "max_rank": int(self.max_rank)}
        built, fits = fit_outputs(self, solver, basis, data, kernels=self.kernel is not None, **rank)
        self.solver_ = solver
        if calibrated and getattr(self, "calibrate", False):
            fits = self._calibrated(data, fits)
        fits = self._publish(fits, built.basis, built.centre, built.note)
        del self._rows  # one number per training row, which no prediction needs
        if not self._task.classifies:
            self.noise_variance_ = self._noise_variance(X, targets[0], weight, built.basis)
            self._far_variance = self._augmentation(data, built, fits[0].variance)

    def _make_solver(self) -> Any:
        """Return what learns a precision for each weight; unused settings are checked too."""
        update: Any = self.solver
        variational = Variational(None, "product", update, self.shape, self.rate)
        solvers = {"evidence": TopDownEvidence(), "sequential": Sequential(), "variational": variational}
        if not is_name(self.inference, *solvers):
            raise unknown("inference", str(self.inference), list(solvers))
        variational.check()
        return solvers[self.inference]

    def _augmentation(self, data: FitData, built: Built, variance: Any) -> Augmentation | None:
        """Return one more kernel at each new row, where the kernel matrix was factored."""
        if built.pivots is None:
            return None
        X, (y,) = data.X, data.targets
        m = self._latents_at(X, far=False)[0][:, 0]
        slope, curvature = self.likelihoods_[0].derivatives(y, m)
        r = own_precision(slope, curvature)
        pivots: Any = built.basis.keep(built.pivots)
        kept = self.basis_.keep(self._columns[0])
        surrogate = (X, m + slope / r, data.weight * r)
        kernel, centres, posterior = pivots.kernel, pivots.centres, self.posteriors_[0]
        return Augmentation.learn(kernel, centres, kept, posterior, variance, *surrogate)


@dataclass(eq=False, repr=False, kw_only=True)
class RVMClassifier(BinaryPredictions, RVMBase):
    r"""Relevance vector machine for classification [T01]_.

    Each weight has its own precision, :math:`w_k \sim \mathcal N(0, \alpha_k^{-1})`, and the precisions
    maximise the evidence. Most of them become infinite; the columns with finite precisions are the
    relevance vectors. Probabilities are integrated over the posterior of their weights.

    The relevance vectors must raise the evidence by at least one nat each (Akaike's criterion).
    Otherwise none is kept, and ``status_`` reports it; ``"variational"`` has no such test.

    Parameters
    ----------
    kernel : None, str, Kernel or callable, default="rbf"
        As in :class:`SparseBayesClassifier`; a kernel gives one column for each distinct training row.
    gamma, degree, coef0, max_iter, max_rank, class_weight, n_jobs, callbacks
        As in :class:`SparseBayesClassifier`.
    inference : {"sequential", "evidence", "variational"}, default="sequential"
        ``"sequential"`` starts without columns and adds, re-estimates and deletes them [TF03]_; it is
        fast on many rows too. ``"evidence"`` starts with all columns and prunes them [T01]_, for at most
        5,000 columns. Up to 300 columns both search in both directions and reach the same maximum.
        ``"variational"`` also has posteriors of the precisions, and a lower bound on the evidence in
        ``history_`` that never decreases [BT00]_.
    solver : {"fast", "vb"}, default="fast"
        Update of ``"variational"``. ``"vb"`` is that of the paper; ``"fast"`` has the same solutions and
        needs far fewer iterations.
    likelihood : {"logistic", "probit"} or Binary, default="logistic"
        Distribution of the label. ``"variational"`` uses a quadratic bound on it (Jaakkola and Jordan's
        for the logistic), the others Laplace's approximation.
    calibrate : bool, default=True
        Whether the latent is scaled and shifted so that left-out labels are most probable, by fits
        without each of five parts of the rows, up to 5,000 rows. Where columns are many the evidence is
        overconfident. ``False`` is the model of [T01]_, in a sixth of the time.
    fit_intercept : bool, default=True
        Whether there may be an intercept, with a flat prior. With a kernel it is dropped if the kernels
        do not need it, since a latent of zero means even odds.
    shape, rate : float, default=1e-12
        Shape and rate of the gamma hyper-prior of ``"variational"``; the unit of ``rate`` is set by the
        data.
    tol : float, default=1e-5
        The fit stops after an iteration that gains less than this many nats per observation.
    rank_tol : float or "auto", default="auto"
        The kernel matrix is not formed but factored, until no diagonal element of the residual exceeds
        this fraction of the largest. ``"auto"`` is 1e-6 for ``"sequential"``, where the factors only
        choose columns, and 1e-8 otherwise; up to 300 rows it is 1e-10, except for ``"variational"``.

    Attributes
    ----------
    classes_, coef_, dual_coef_, intercept_, relevance_, relevance_vectors_, n_relevant_, posteriors_
        As in :class:`SparseBayesClassifier`; the columns that are kept are the relevance vectors.
    history_ : list of Record
        ``iteration, objective, active, seconds, output``; the objective is the log evidence (by
        Laplace's approximation), or the lower bound on it.
    status_, n_iter_
        As in :class:`SparseBayesClassifier`.

    Examples
    --------
    >>> from laconism import RVMClassifier
    >>> from laconism.datasets import make_ripley
    >>> X, y = make_ripley(250, random_state=0)
    >>> model = RVMClassifier(gamma=2.0).fit(X, y)
    >>> bool(model.n_relevant_ < 10), bool(model.score(X, y) > 0.85)
    (True, True)

    References
    ----------
    .. [T01] M. Tipping, Sparse Bayesian learning and the relevance vector machine, JMLR 1, 2001.
    .. [TF03] M. Tipping, A. Faul, Fast marginal likelihood maximisation for sparse Bayesian models,
       AISTATS 2003.
    .. [BT00] C. Bishop, M. Tipping, Variational relevance vector machines, UAI 2000.
    """

    _task = Labels()

    likelihood: Any = "logistic"
    calibrate: bool = True
    class_weight: Any = None


@dataclass(eq=False, repr=False, kw_only=True)
class RVMRegressor(GaussianPredictions, RVMBase):
    r"""Relevance vector machine for regression.

    The model of :class:`RVMClassifier` with Gaussian noise, whose variance maximises the evidence too.
    A kernel on each row can interpolate the targets and leave no noise. So evidence maximisation stops
    when the kernels have half as many effective parameters as there are observations.

    Parameters
    ----------
    kernel, gamma, degree, coef0, inference, solver, shape, rate, max_iter, tol, rank_tol, max_rank
        As in :class:`RVMClassifier`.
    fit_intercept : bool, default=True
        Whether there is an intercept; its prior is flat.
    likelihood, n_jobs, callbacks
        As in :class:`SparseBayesRegressor`.

    Attributes
    ----------
    coef_, dual_coef_ : ndarray
        Weights of the features, or of the relevance vectors.
    intercept_ : float
    noise_variance_ : float
        Variance of the noise. If rows are few for the parameters, it is at least the leave-one-out
        estimate.
    relevance_, relevance_vectors_, n_relevant_, posteriors_, history_, status_, n_iter_
        As in :class:`RVMClassifier`.

    Examples
    --------
    >>> from laconism import RVMRegressor
    >>> from laconism.datasets import make_sinc
    >>> X, y = make_sinc(100, random_state=0)
    >>> model = RVMRegressor(gamma=1 / 18).fit(X, y)
    >>> mean, std = model.predict_dist([[0.0], [40.0]])
    >>> bool(std[1] > 2 * std[0])
    True
    """

    _task = Values()

    likelihood: Any = "gaussian"
