"""Before the joint search: standardised features, and fewer of them where there are too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._protocols import Array, Index, Likelihood
from ..basis.rows import distinct_rows
from ..design import DenseDesign
from ..likelihoods import Gaussian
from ..priors import Laplace
from ..solvers import Problem, Proximal, solve

# Rates of the linear models that rank features, as parts of the smallest rate at which none is left.
_PATH_RATE_SHARES = (0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08)
# The order of the features counts, not the last digits of their weights.
_LASSO = Proximal(certify=False)
_MAX_LASSO_ITERATIONS = 100
_LASSO_TOLERANCE = 1e-4
# Decimal digits to which two standardised columns must agree to be duplicates.
_DUPLICATE_DIGITS = 12
# A feature is constant if its deviation is below this many roundings of its mean.
_CONSTANT_ROUNDINGS = 8
# The same for a mean near zero: the square of a smaller deviation underflows.
_MIN_DEVIATION = 1e-150
# The least noise variance of the linear model, so that it can be divided by.
_MIN_NOISE_VARIANCE = 1e-300


def standardise(X: Array, weight: Array, *, units: bool) -> tuple[Array, Array]:
    """Return the mean of every feature and one over its deviation; zero for a constant.

    Without ``units`` features keep their origin and their unit.
    """
    share = weight / weight.sum()
    # Not a product of BLAS, which may round equal columns differently.
    mean = np.einsum("i,ij->j", share, X)
    deviation = np.sqrt(np.einsum("i,ij->j", share, (X - mean) ** 2))
    rounding = _CONSTANT_ROUNDINGS * np.finfo(float).eps * np.abs(mean)
    varies = deviation > rounding + _MIN_DEVIATION
    if not units:
        return np.zeros_like(mean), varies.astype(float)
    return mean, np.where(varies, 1 / np.where(varies, deviation, 1.0), 0.0)


def screen_features(
    Z: Array, targets: Sequence[Array], weight: Array, likelihood: Likelihood, screening: Any
) -> Index:
    """Return the features that take part: no constants, no duplicates, and what screening leaves.

    Duplicates have a common scale that could be split between them in any way; the first one has it all.
    """
    varying = np.flatnonzero(Z.any(axis=0))
    if not varying.size:
        return np.arange(1)  # a problem needs one
    first = Z[np.argmax(Z[:, varying] != 0, axis=0), varying]
    source, _ = distinct_rows(np.round(Z[:, varying] * np.sign(first), _DUPLICATE_DIGITS).T)
    distinct = varying[np.sort(source)]
    if screening is None:
        return distinct
    n_wanted = Z.shape[0] if screening == "auto" else int(screening)
    if n_wanted >= distinct.size:
        return distinct
    ranking = _lasso_ranking(Z[:, distinct], targets, weight, likelihood, n_wanted)
    return np.sort(distinct[ranking[:n_wanted]])


def _lasso_ranking(
    Z: Array, targets: Sequence[Array], weight: Array, likelihood: Likelihood, n_wanted: int
) -> Index:
    """Return features in the order in which they enter a sparse linear model, section 3.1 of [JCFO].

    The rates of the model descend; features that never enter follow in the order of their gradients.
    """
    n_rates = len(_PATH_RATE_SHARES)
    design, entry, size = DenseDesign(Z), np.full(Z.shape[1], n_rates), np.zeros(Z.shape[1])
    for y in targets:
        if isinstance(likelihood, Gaussian):
            noise = max(float(np.var(y)), _MIN_NOISE_VARIANCE)
            likelihood = Gaussian(noise=noise, estimate=False)
        problem = Problem(design, y, likelihood, Laplace(rate=1.0), weight, intercept=True)
        state = problem.empty()
        highest = float(np.abs(problem.gradient(state)).max())
        for level, share in enumerate(_PATH_RATE_SHARES if highest > 0 else ()):
            problem = replace(problem, prior=Laplace(rate=share * highest))
            start, max_iter = problem.with_objective(state), _MAX_LASSO_ITERATIONS
            state = solve(problem, _LASSO, start=start, max_iter=max_iter, tol=_LASSO_TOLERANCE).state
            new = (state.w != 0) & (entry > level)
            entry[new], size[new] = level, np.maximum(size, np.abs(state.w))[new]
            if np.count_nonzero(entry < n_rates) >= n_wanted:
                break
        late = entry == n_rates
        size[late] = np.maximum(size, np.abs(problem.gradient(state)))[late]
    return np.lexsort((-size, entry))
