"""Laplace's evidence of a fitted sparse model."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..judging.row_scores import RowScores
from ..linalg import ridge
from ..model.tasks import FitData
from ..solvers.problem import floor_curvature
from ..solvers.wide_labels import log_subsets


def evidence_as_score(model: Any, fit_data: FitData, prepared: Any) -> RowScores:
    r"""Return Laplace's log evidence per observation, as if it were the score of one row.

    With the logarithm of the number of sets of that size subtracted, it is
    :math:`\log p(y \mid w) + \sum_j\log p(w_j) + \tfrac k2\log 2\pi - \tfrac12\log|H| -
    \log\binom pk`, with :math:`H = \Phi^T R\Phi + V^{-1}` and the variances :math:`V` of the Gaussians
    that touch the prior at the weights. The constant of a flat intercept is omitted.
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
        free = bool(model.fit_intercept and not model.penalize_intercept)
        variance = prior.variance(w**2)
        solution = ridge(design, r, f, variance, intercept=free)
        p, k = prepared.n_columns, w.size
        n_subsets = log_subsets(p, k) if k <= p else 0.0
        volume = 0.5 * (k * np.log(2 * np.pi) + np.sum(np.log(variance)) - solution.log_det)
        total += float(fit_data.weight @ log_p + prior.log_density(w) + volume - n_subsets)
    return RowScores(np.array([[total / float(fit_data.weight.sum())]]), np.ones(1))
