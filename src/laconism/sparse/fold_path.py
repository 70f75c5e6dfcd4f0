"""A path of priors at one width, on one fold or on all rows: they share one design."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._protocols import Index
from ..judging.row_scores import ScoreRows
from ..judging.trials import Data, Trial, Tried
from ..linalg import ridge
from ..model.tasks import FitData
from ..priors import GeneralizedGaussian
from ..solvers import Proximal
from ..solvers.problem import floor_curvature
from .base import SparseBayesBase
from .candidates import SparseCandidate
from .design import PreparedDesign, has_free_intercept, prepare_design

# Precision of a candidate's fit, far below the differences between folds.
_TOL_NATS_PER_ROW = 1e-4
# Part of a kernel matrix that its factors may miss: fine enough for the dense priors of the path.
_RANK_TOLERANCE = 1e-8
# The lasso without the certificate of its exact solver, which candidates do not need.
_LASSO = Proximal(certify=False)


@dataclass(frozen=True)
class TryPath:
    """Fit the candidates of one width on one fold, and score them on the rows left out."""

    template: SparseBayesBase
    data: Data
    score: ScoreRows

    def __call__(self, path: Sequence[SparseCandidate], fold: tuple[Index, Index]) -> list[Tried | None]:
        """Return the results of those that run; the solution of one is the start of the next."""
        began = time.perf_counter()
        template: Any = clone(self.template)
        if path[0].gamma is not None:
            template.set_params(gamma=path[0].gamma)
        held_in, held_out = _split(template, self.data, *fold)
        model, fit_data, prepared = _prepare(template, held_in)
        found: list[Tried | None] = [None] * len(path)
        last = max(place for place, candidate in enumerate(path) if candidate.runs)
        for place, candidate in enumerate(path[: last + 1]):
            if not (candidate.runs or candidate.starts_others):
                continue
            _solve(model, fit_data, prepared, candidate.prior, candidate.first_scales)
            if not candidate.runs:
                continue
            scales = [each.scale for each in model.priors_] if candidate.prior.learns else []
            fitted = time.perf_counter()
            scores = self.score(model, held_out.X, held_out.y, held_out.weight)
            now = time.perf_counter()
            trial = Trial(math.nan, model.n_relevant_, fitted - began, now - fitted)
            found[place] = Tried(scores, trial, scales)
            began = now
        return found


def try_by_evidence(
    template: SparseBayesBase, data: Data, priors: Sequence[GeneralizedGaussian]
) -> list[list[Trial]]:
    """Return a trial for each prior on all rows, scored by its evidence."""
    began = time.perf_counter()
    model, fit_data, prepared = _prepare(template, data)
    trials = []
    for prior in priors:
        _solve(model, fit_data, prepared, prior, [])
        fitted = time.perf_counter()
        value = log_evidence(model, fit_data, prepared) / float(fit_data.weight.sum())
        now = time.perf_counter()
        trials.append([Trial(value, model.n_relevant_, fitted - began, now - fitted)])
        began = now
    return trials


def log_evidence(model: Any, fit_data: FitData, prepared: PreparedDesign) -> float:
    r"""Return Laplace's log evidence of the kept columns, less the price of having chosen them.

    :math:`\log p(y \mid w) + \sum_j\log p(w_j) + \tfrac k2\log 2\pi - \tfrac12\log|H| -
    \log\binom pk`, with :math:`H = \Phi^T R\Phi + V^{-1}` of the touching Gaussians. A flat intercept
    is the same for all and left out.
    """
    total, built = 0.0, prepared.built
    outputs = zip(
        fit_data.targets,
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
        r = fit_data.weight * floor_curvature(curvature)
        variance = prior.variance(w**2)
        answer = ridge(design, r, f, variance, intercept=has_free_intercept(model))
        p, k = prepared.n_columns, w.size
        ways = gammaln(p + 1) - gammaln(k + 1) - gammaln(p - k + 1) if k <= p else 0.0
        volume = 0.5 * (k * np.log(2 * np.pi) + np.sum(np.log(variance)) - answer.log_det)
        total += float(fit_data.weight @ log_p + prior.log_density(w) + volume - ways)
    return total


def _prepare(template: SparseBayesBase, data: Data) -> tuple[Any, FitData, PreparedDesign]:
    """Return a model that starts from its last solution, the validated rows and the design."""
    model: Any = clone(template).set_params(warm_start=True, tol=max(template.tol, _TOL_NATS_PER_ROW))
    fit_data = model._fit_data(*data)
    return model, fit_data, prepare_design(model, fit_data, tol=_RANK_TOLERANCE)


def _solve(
    model: Any,
    fit_data: FitData,
    prepared: PreparedDesign,
    prior: GeneralizedGaussian,
    scales: list[float],
) -> None:
    model.prior = prior
    model.solver = _LASSO if prior.is_l1 else "auto"
    with warnings.catch_warnings():  # a candidate need not converge to be scored
        warnings.simplefilter("ignore", ConvergenceWarning)
        model._fit_rows(fit_data, prepared, scales)


def _split(template: SparseBayesBase, data: Data, train: Index, test: Index) -> tuple[Data, Data]:
    """Return the rows to fit and those to predict; of a precomputed kernel the columns too."""
    held_in, held_out = data.rows(train), data.rows(test)
    if template._precomputed:
        held_in = held_in._replace(X=held_in.X[:, train])
        held_out = held_out._replace(X=held_out.X[:, train])
    return held_in, held_out
