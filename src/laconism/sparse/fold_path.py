"""One width, one fold, every prior: what they share is made once."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._protocols import Array, Index
from ..judging.row_scores import RowScores
from ..judging.trials import Data, Trial, Tried
from ..linalg import ridge
from ..model.tasks import FitData
from ..priors import GeneralizedGaussian
from ..solvers import Proximal
from ..solvers.problem import floor_curvature
from .base import PreparedDesign, SparseBayesBase

# Nats per observation to which a candidate is solved: far below what folds differ by.
_TOL = 1e-4
# Part of a kernel matrix that the factors may miss, for all priors alike: where dense models weigh all
# kernels through them, as Newton's method and the exact solver ask for.
_RANK_TOL = 1e-8
# The exact solver's certificate is far finer than that.
_LASSO = Proximal(certify=False)

ScoreRows = Callable[[Any, Any, Any, Array], RowScores]


class Entry(NamedTuple):
    """A prior on the path of a fold."""

    prior: GeneralizedGaussian
    scales: list[float]  # guesses of what will be learnt, one for each output
    judged: bool  # or only solved on the way to the next

    @property
    def passed(self) -> bool:
        """Whether sparser ones need its answer: what an absorbing prior finds hangs on its start."""
        return self.prior.q <= 1


def try_fold(
    template: SparseBayesBase,
    data: Data,
    fold: tuple[Index, Index],
    path: Sequence[Entry],
    hear: ScoreRows,
) -> list[Tried]:
    """Return what comes of each prior that is to be judged, on one fold.

    All of them share one design. Along the path the answer of one prior is the start of the next.
    """
    began, found = time.perf_counter(), []
    held_in, held_out = _split(template, data, *fold)
    model, question, prepared = _ready(template, held_in)
    last = max(place for place, entry in enumerate(path) if entry.judged)
    for entry in path[: last + 1]:
        if not (entry.judged or entry.passed):
            continue
        _solve(model, question, prepared, entry.prior, entry.scales)
        if not entry.judged:
            continue
        well_determined = [each.scale for each in model.priors_] if entry.prior.learns else []
        fitted = time.perf_counter()
        said = hear(model, held_out.X, held_out.y, held_out.weight)
        now = time.perf_counter()
        trial = Trial(math.nan, model.n_relevant_, fitted - began, now - fitted)
        found.append(Tried(said, trial, well_determined))
        began = now
    return found


def weigh(
    template: SparseBayesBase, data: Data, priors: Sequence[GeneralizedGaussian]
) -> list[list[Trial]]:
    """Return a trial for each prior on all rows, scored by its evidence."""
    began = time.perf_counter()
    model, question, prepared = _ready(template, data)
    trials = []
    for prior in priors:
        _solve(model, question, prepared, prior, [])
        fitted = time.perf_counter()
        value = log_evidence(model, question, prepared) / float(question.weight.sum())
        now = time.perf_counter()
        trials.append([Trial(value, model.n_relevant_, fitted - began, now - fitted)])
        began = now
    return trials


def log_evidence(model: Any, question: FitData, prepared: PreparedDesign) -> float:
    r"""Return Laplace's log evidence of the kept columns, less the price of having chosen them.

    :math:`\log p(y \mid w) + \sum_j\log p(w_j) + \tfrac k2\log 2\pi - \tfrac12\log|H| -
    \log\binom pk`, with :math:`H = \Phi^T R\Phi + V^{-1}` of the touching Gaussians. A flat intercept
    is the same for all and left out.
    """
    total, built = 0.0, prepared.built
    outputs = zip(
        question.targets,
        model.posteriors_,
        model._columns,
        model.likelihoods_,
        model.priors_,
        strict=True,
    )
    for y, posterior, columns, likelihood, prior in outputs:
        active = np.flatnonzero(np.isin(built.basis.source, model.basis_.source[columns]))
        design, w = built.design.keep(active), posterior.mean
        b = posterior.intercept + float(built.centre[active] @ w)
        f = design.matvec(w) + b
        log_p, _, curvature = likelihood.evaluate(y, f)
        r = question.weight * floor_curvature(curvature)
        free = model.fit_intercept and not model.penalize_intercept
        variance = prior.variance(w**2)
        answer = ridge(design, r, f, variance, intercept=free)
        p, k = prepared.n_columns, w.size
        ways = gammaln(p + 1) - gammaln(k + 1) - gammaln(p - k + 1) if k <= p else 0.0
        volume = 0.5 * (k * np.log(2 * np.pi) + np.sum(np.log(variance)) - answer.log_det)
        total += float(question.weight @ log_p + prior.log_density(w) + volume - ways)
    return total


def _ready(template: SparseBayesBase, data: Data) -> tuple[Any, FitData, PreparedDesign]:
    """Return a model that starts where it last ended, what it is asked, and the design."""
    model: Any = clone(template).set_params(warm_start=True, tol=max(template.tol, _TOL))
    question = model._fit_data(*data)
    return model, question, model._prepare(question, tol=_RANK_TOL)


def _solve(
    model: Any,
    question: FitData,
    prepared: PreparedDesign,
    prior: GeneralizedGaussian,
    scales: list[float],
) -> None:
    model.prior = prior
    model.solver = _LASSO if prior.is_l1 else "auto"
    with warnings.catch_warnings():  # a candidate need not converge to be judged
        warnings.simplefilter("ignore", ConvergenceWarning)
        model._fit_rows(question, prepared, scales)


def _split(template: SparseBayesBase, data: Data, train: Index, test: Index) -> tuple[Data, Data]:
    """Return the rows to fit and those to predict; of a precomputed kernel the columns too."""
    held_in, held_out = data.rows(train), data.rows(test)
    if template._precomputed:
        held_in = held_in._replace(X=held_in.X[:, train])
        held_out = held_out._replace(X=held_out.X[:, train])
    return held_in, held_out
