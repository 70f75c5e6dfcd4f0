"""The flagship: a dense model, said in fewer words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._protocols import Array, Likelihood
from ..judging.calibrate import fit_coupling
from ..likelihoods import Student
from ..model.multiclass import answers, couple, log_proba_of
from ..model.predictions import BinaryPredictions, GaussianPredictions
from ..model.tasks import NOISES, Labels, Values
from ..posterior import GaussianPosterior
from ..solvers import Problem
from .base import LaconicBase
from .path import Answer, Path
from .projected import Latent
from .reference import CLEAR, KernelMap, Reference, heavy_tails
from .wide import calibrated

# The least noise of a reference, as a part of the target's variance. One that passes through its data
# without any would ask its few kernels to do the same, to the last digit.
_LEAST_NOISE = 1e-8
# Nats a row that heavy tails explain better, beyond which a few targets are not noise like the others.
_OUTLIERS = 0.1
_TRY_STUDENT = " A few targets are far from what the others say: try likelihood='student'."
# The least part of the rows that is left where nearly as many weights are fitted to them.
_LEAST_LEFT = 0.1
# Nats that a new row may lose by the largest model before it may be twice as large.
_MUCH = 0.1
# Half the distance at which the slope of a moderated latent is taken.
_STEP = 1e-4


# Every noise of a reference has that floor; ``"auto"`` begins with the Gaussian.
_NOISES = {name: partial(kind, floor=_LEAST_NOISE) for name, kind in NOISES.items()}
_NOISES["auto"] = _NOISES["gaussian"]


def _answers_left_out(references: Sequence[Reference]) -> tuple[Array, Array]:
    """Return the logarithms of yes and no of each row as if it had not been seen."""
    left = [(reference.left_m, reference.left_v) for reference in references]
    return answers(references[0].likelihood, left)


class LaconicClassifier(BinaryPredictions, LaconicBase):
    r"""A classifier without decisions to make: as good as a Gaussian process, with a handful of kernels.

    First a dense *reference* is fitted: a Gaussian process, or a kernel on every row with one precision
    for all weights where that is clearly better. The precision, the width of the kernel and what each
    feature counts in it are chosen by how well rows are predicted that were left out; probabilities are
    integrated over the posterior. Then it is *projected*: the fewest kernels whose probabilities stay
    within ``tolerance`` nats per observation of the reference's. Features are standardised inside; the
    rbf and Matern kernels see them squashed, ``asinh((x - median) / spread)``, if some have long tails
    and rows left out clearly ask for it (``kernel_.spread``).

    Parameters
    ----------
    kernel : "auto", "rbf", "matern", "linear", "poly", None, Kernel or callable, default="auto"
        ``None`` projects onto the features themselves. ``"auto"`` is the rbf kernel; on at most 600 rows
        that are fewer than four for each feature it is ``None`` if that predicts rows left out clearly
        better; with more features than rows, unless the kernel does.
    gamma : float or "auto", default="auto"
        Of the named kernels, on standardised features; ``"auto"`` finds it.
    tolerance : float or "auto", default="auto"
        What the sparse model may lose: the mean Kullback-Leibler divergence between its probabilities
        and the reference's, in nats per observation; the fewest kernels within it are taken. ``"auto"``
        is 0.004, and beyond that as many kernels as win another 0.0002 each; of features, 0.002.
    weigh_features : bool, default=True
        Whether a feature may count for more than another in the distance between rows. It does if the
        weights that one half of the rows asks for clearly help to predict the other half.
    max_kernels : int or None, default=None
        Most kernels (or features for each output); ``None`` is 64, for more than two classes 200, or
        one for 30 rows up to 200; of more features than rows, all that rows left out clearly ask for.
    likelihood : {"probit", "logistic"} or Binary, default="probit"
        Distribution of the label.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    max_rank : int, default=1000
        Rank at which the factorisation of the kernel matrix stops; ``status_`` says so.
    class_weight : None, dict or "balanced", default=None
        Weights of the classes, multiplied with ``sample_weight``.
    n_jobs : int or None, default=None
        Workers for the one-against-rest problems of more than two classes.
    callbacks : None, callable or list of callables, default=None
        Each is called with a :class:`~laconism.solvers.Record` after every size of the path; the
        objective is minus the nats lost. Returning ``True`` ends the path there.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    path_ : list of Point
        ``kernels, nats, output``: what the model of each size loses. Classes share their kernels, and
        so one path, of output 0; features are chosen for each class by itself.
    reference_ : list of Reference
        The dense model of each output (a sparse one where ``kernel=None``, features are many for their
        rows, and that predicts better); ``reference_[0].latent(X)`` is its latent's mean and variance,
        ``stretch`` the factor by which rows left out ask for more (or less) confidence.
    coupling_ : float
        Of more than two classes: from the probabilities p of each against the rest come those of all,
        in proportion to ``p / (1 - p) ** coupling_``. Rows left out choose it.
    tolerance_ : float
        The most that the model may lose.
    gamma_ : float
    kernel_ : Kernel
    feature_scales_ : ndarray of shape (n_features,)
        What each feature counts in the distance between rows, on average one.
    dual_coef_, coef_, intercept_, relevance_, relevance_vectors_, n_relevant_, status_, history_
        As in :class:`SparseBayesClassifier`.

    Examples
    --------
    >>> from laconism import LaconicClassifier
    >>> from laconism.datasets import make_ripley
    >>> X, y = make_ripley(250, random_state=0)
    >>> model = LaconicClassifier().fit(X, y)
    >>> bool(model.n_relevant_ < 20), bool(model.score(X, y) > 0.85)
    (True, True)
    >>> model.with_kernels(2).n_relevant_
    2
    """

    _task = Labels()

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        gamma: Any = "auto",
        tolerance: Any = "auto",
        weigh_features: bool = True,
        max_kernels: int | None = None,
        likelihood: Any = "probit",
        fit_intercept: bool = True,
        max_rank: int = 1000,
        class_weight: Any = None,
        n_jobs: int | None = None,
        callbacks: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.tolerance = tolerance
        self.weigh_features = weigh_features
        self.max_kernels = max_kernels
        self.likelihood = likelihood
        self.fit_intercept = fit_intercept
        self.max_rank = max_rank
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.callbacks = callbacks

    def _fit_coupling(
        self, references: Sequence[Reference], targets: Sequence[Array], weight: Array
    ) -> None:
        self.coupling_ = 0.0
        if len(references) > 1:
            codes = np.stack(targets).argmax(axis=0)
            self.coupling_ = fit_coupling(*_answers_left_out(references), codes, weight)

    def _left_out(self, references: Sequence[Reference], targets: Sequence[Array]) -> Array:
        if len(references) == 1:
            return super()._left_out(references, targets)
        classes = couple(*_answers_left_out(references), self.coupling_)
        return log_proba_of(np.stack(targets).argmax(axis=0), classes)

    def _calibrate(self, reference: Reference, dense: Problem) -> Reference:
        return calibrated(reference, dense, self.n_features_in_, alone=self.classes_.size == 2)

    def _precision(self, reference: Reference, share: Array) -> Array:
        """Return the information of a label about the latent, its variance integrated out.

        Where new rows are strange the latent at the model's own, of which it is sure, says nothing of
        how much that is.
        """
        binary: Any = reference.likelihood
        m, v = (
            (reference.left_m if reference.underdetermined else reference.m),
            reference.predictive_variance,
        )
        t = binary.moderate(m, v)
        ahead, behind = (binary.moderate(m + h, v) for h in (_STEP, -_STEP))
        information = sum(
            np.exp(binary.log_link(y * t)) * binary.evaluate(np.full_like(t, y), t)[1] ** 2
            for y in (-1.0, 1.0)
        )
        return np.asarray(information * ((ahead - behind) / (2 * _STEP)) ** 2)

    def _loss(self, references: Sequence[Reference], share: Array) -> Callable[[list[Latent]], Array]:
        """Return the divergence between the probabilities that references have and others."""

        def log_proba(latents: list[Latent]) -> Array:
            yes, no = answers(references[0].likelihood, latents)
            if len(latents) == 1:  # of two classes, or of a class and all others
                return np.column_stack([no, yes])
            return couple(yes, no, self.coupling_)

        log_p = log_proba([(reference.m, reference.predictive_variance) for reference in references])
        p = np.exp(log_p)
        return lambda latents: np.asarray((p * (log_p - log_proba(latents))).sum(axis=1))


class LaconicRegressor(GaussianPredictions, LaconicBase):
    r"""A regressor without decisions to make: as good as a Gaussian process, with a handful of kernels.

    The regression twin of :class:`LaconicClassifier`: a dense reference with noise and precision by the
    evidence, projected onto the fewest kernels whose predictions stay within ``tolerance`` nats per
    observation of the reference's. The posterior of the weights is the reference's, projected too; to
    the variance of the latent comes what the process has under its prior where those kernels do not
    reach, so that error bars grow away from the data.

    Parameters
    ----------
    kernel : "auto", "rbf", "matern", "linear", "poly", None, Kernel or callable, default="auto"
        ``None`` projects onto the features themselves. ``"auto"`` is the rbf kernel, or the Matern one
        where steps and corners make it clearly more likely (up to ``max_rank`` rows). On at most 600
        rows that are fewer than four for each feature it is ``None`` if that predicts rows left out
        clearly better; with more features than rows, unless the kernel does.
    gamma : float or "auto", default="auto"
        Of the named kernels, on standardised features; ``"auto"`` finds it.
    tolerance : float or "auto", default="auto"
        What the sparse model may lose: the mean squared difference from the reference's mean over twice
        its predictive variance, in nats per observation. ``"auto"`` as in :class:`LaconicClassifier`.
    weigh_features : bool, default=True
        Whether a feature may count for more than another in the distance between rows. It does if the
        weights that one half of the rows asks for (with Gaussian noise and four rows for each feature
        the most probable ones) clearly help to predict the other half.
    max_kernels : int or None, default=None
        Most kernels (or features); ``None`` is 64, or one for 30 rows up to 200; twice as
        many where new rows would lose a tenth of a nat by so few, as they do where there is next to no
        noise; of more features than rows as in :class:`LaconicClassifier`.
    likelihood : {"gaussian", "student", "auto"} or Noise, default="gaussian"
        ``"student"`` has heavy tails for a few wild targets: :class:`~laconism.likelihoods.Student`.
        ``"auto"`` takes it where rows left out clearly ask for it: without outliers it costs nothing,
        with them a few times the time of a fit. ``status_`` says where it should be tried.
        ``Gaussian(noise=0.1, estimate=False)`` of :mod:`laconism.likelihoods` fixes the noise variance.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    max_rank : int, default=1000
        Rank at which the factorisation of the kernel matrix stops; ``status_`` says so.
    n_jobs : int or None, default=None
        Unused by a single output; here so that all estimators share it.
    callbacks : None, callable or list of callables, default=None
        As in :class:`LaconicClassifier`.

    Attributes
    ----------
    noise_variance_ : float
        Variance of the noise; with heavy tails, of the Gaussian that has as much within two deviations.
    path_, reference_, tolerance_, gamma_, kernel_, feature_scales_
        As in :class:`LaconicClassifier`.
    dual_coef_, coef_, intercept_, relevance_, relevance_vectors_, n_relevant_, status_, history_
        As in :class:`SparseBayesRegressor`.

    Examples
    --------
    >>> from laconism import LaconicRegressor
    >>> from laconism.datasets import make_sinc
    >>> X, y = make_sinc(100, random_state=0)
    >>> model = LaconicRegressor().fit(X, y)
    >>> bool(model.n_relevant_ < 20), bool(model.score(X, y) > 0.85)
    (True, True)
    """

    _task = Values(_NOISES)

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        gamma: Any = "auto",
        tolerance: Any = "auto",
        weigh_features: bool = True,
        max_kernels: int | None = None,
        likelihood: Any = "gaussian",
        fit_intercept: bool = True,
        max_rank: int = 1000,
        n_jobs: int | None = None,
        callbacks: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.tolerance = tolerance
        self.weigh_features = weigh_features
        self.max_kernels = max_kernels
        self.likelihood = likelihood
        self.fit_intercept = fit_intercept
        self.max_rank = max_rank
        self.n_jobs = n_jobs
        self.callbacks = callbacks

    def _counted(self, X: Array, weight: Array) -> Array:
        """Return what rows count for: copies, all with one value, are no more evidence of little noise.

        They count for more than other rows, and all together for as many as there are different ones.
        """
        if not self._leaves_whole_rows(X):
            return weight
        return np.asarray(weight * min(1.0, weight.size / float(weight.sum())))

    def _best_answer(
        self, X: Array, weight: Array, targets: Sequence[Array], likelihood: Likelihood
    ) -> Answer:
        """Return the answer under this noise or, if rows left out clearly ask for it, heavier tails."""
        answer = super()._best_answer(X, weight, targets, likelihood)
        if isinstance(likelihood, Student):
            return answer
        tails = heavy_tails(answer.references[0], targets[0], weight)
        if tails <= CLEAR or not self._automatic("likelihood"):
            outliers = tails > max(CLEAR, _OUTLIERS * float(weight.sum()))
            return answer.noting(_TRY_STUDENT) if outliers else answer
        other = super()._best_answer(X, weight, targets, Student(floor=_LEAST_NOISE))
        gained = self._left_out(other.references, targets) - self._left_out(answer.references, targets)
        return other if float(weight @ gained) > CLEAR else answer

    def _precision(self, reference: Reference, share: Array) -> Array:
        """Return one over the predictive variance, the same for all rows."""
        noise: Any = reference.likelihood
        return np.full_like(
            reference.m, 1 / float(1 / noise.information + share @ reference.predictive_variance)
        )

    def _loss(self, references: Sequence[Reference], share: Array) -> Callable[[list[Latent]], Array]:
        """Return the squared difference of the means over twice the predictive variance."""
        half, m = 0.5 * self._precision(references[0], share), references[0].m
        return lambda latents: half * (latents[0][0] - m) ** 2

    def _is_poor(self, path: Path, share: Array) -> bool:
        reference = path.references[0]
        noise: Any = reference.likelihood
        seen = 1 / float(self._precision(reference, share)[0])
        unseen = noise.noise + np.exp(share @ np.log(np.maximum(reference.left_v, np.finfo(float).tiny)))
        return bool(path.nats[-1] * seen > _MUCH * unseen)

    def _excess_variance(self, reference: Reference, y: Array, m: Array, share: Array) -> float:
        noise: Any = reference.likelihood
        return max(float(share @ ((y - m) ** 2 - reference.left_v)) - float(noise.variance), 0.0)

    def _add_projection_error(
        self, reference: Reference, share: Array, posterior: GaussianPosterior, m: Array
    ) -> GaussianPosterior:
        """Return the posterior with the squares that its mean misses: without noise they are all."""
        missed = float(share @ (m - reference.m) ** 2)
        if isinstance(reference.coordinates, KernelMap):
            # At these rows k weights were fitted to that mean: others miss it by more (as in GCV). Those
            # of many features answer for other rows as well (Elsewhere).
            left = max(1 - (posterior.mean.size + 1) / share.size, _LEAST_LEFT)
            missed /= left**2
        return replace(posterior, spread=posterior.spread + missed)
