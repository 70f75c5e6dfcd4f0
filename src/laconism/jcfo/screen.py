"""Before the joint search: standardised features, and fewer of them where there are too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._protocols import Array, Index
from ..basis.rows import distinct_rows
from ..design import DenseDesign
from ..likelihoods import Gaussian, Likelihood
from ..priors import Laplace
from ..solvers import Problem, Proximal, solve


def standardise(X: Array, weight: Array, *, units: bool) -> tuple[Array, Array]:
    """Return the mean of every feature and one over its deviation; zero for a constant.

    Without ``units`` features keep their origin and their unit.
    """
    share = weight / weight.sum()
    # Not a product of BLAS, which may round equal columns differently.
    mean = np.einsum("i,ij->j", share, X)
    deviation = np.sqrt(np.einsum("i,ij->j", share, (X - mean) ** 2))
    # A constant deviates by a few roundings of its mean; the square of less than the root underflows.
    number = np.finfo(float)
    varies = deviation > 8 * number.eps * np.abs(mean) + np.sqrt(number.tiny)
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
    # Standardising multiplies by a rounded deviation, so the last digits of duplicates may differ.
    source, _ = distinct_rows(np.round(Z[:, varying] * np.sign(first), decimals=12).T)
    distinct = varying[np.sort(source)]
    if screening is None:
        return distinct
    n_wanted = Z.shape[0] if screening == "auto" else int(screening)
    if n_wanted >= distinct.size:
        return distinct
    ranking = _lasso_ranking(Z[:, distinct], targets, weight, likelihood, n_wanted)
    return np.sort(distinct[ranking[:n_wanted]])


def _lasso_ranking(
    Z: Array,
    targets: Sequence[Array],
    weight: Array,
    likelihood: Likelihood,
    n_wanted: int,
    n_rates: int = 7,
) -> Index:
    """Return features in the order in which they enter a sparse linear model, section 3.1 of [JCFO].

    Its rates descend by a root of two; features that never enter follow in the order of their gradients.
    """
    design, entry, size = DenseDesign(Z), np.full(Z.shape[1], n_rates), np.zeros(Z.shape[1])
    for y in targets:
        if isinstance(likelihood, Gaussian):
            noise = max(float(np.var(y)), np.finfo(float).tiny)  # it is divided by
            likelihood = Gaussian(noise=noise, estimate=False)
        problem = Problem(design, y, likelihood, Laplace(rate=1.0), weight, intercept=True)
        state = problem.empty()
        highest = float(np.abs(problem.gradient(state)).max())
        for level in range(n_rates if highest > 0 else 0):
            problem = replace(problem, prior=Laplace(rate=highest / 2 ** ((level + 1) / 2)))
            # The order of the features counts, not the last digits of their weights.
            lasso, start = Proximal(certify=False), problem.with_objective(state)
            state = solve(problem, lasso, start=start, max_iter=100, tol=1e-4).state
            new = (state.w != 0) & (entry > level)
            entry[new], size[new] = level, np.maximum(size, np.abs(state.w))[new]
            if np.count_nonzero(entry < n_rates) >= n_wanted:
                break
        late = entry == n_rates
        size[late] = np.maximum(size, np.abs(problem.gradient(state)))[late]
    return np.lexsort((-size, entry))
