"""Before the joint search: common units, and fewer features where there are too many."""

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

# Rates of the linear models that rank features, as parts of the one at which none is left.
_RATES = (0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08)
# A rough answer will do: it is the order that counts.
_LASSO, _STEPS, _TOL = Proximal(certify=False), 100, 1e-4
# Digits to which two standardised columns must agree to be one.
_DIGITS = 12


def standardise(X: Array, weight: Array, *, units: bool) -> tuple[Array, Array]:
    """Return the mean of every feature and one over its deviation; zero for a constant.

    Without ``units`` the origin stays where it is, and what varies keeps its unit.
    """
    share = weight / weight.sum()
    # Not a product of BLAS, which may round equal columns differently.
    mean = np.einsum("i,ij->j", share, X)
    deviation = np.sqrt(np.einsum("i,ij->j", share, (X - mean) ** 2))
    varies = deviation > 8 * np.finfo(float).eps * np.abs(mean) + 1e-150
    if not units:
        return np.zeros_like(mean), varies.astype(float)
    return mean, np.where(varies, 1 / np.where(varies, deviation, 1.0), 0.0)


def strongest(
    Z: Array, targets: Sequence[Array], weight: Array, likelihood: Likelihood, screening: Any
) -> Index:
    """Return the features that take part: constants and copies are out, and what screening leaves.

    Copies would share one scale among them in any way they like; the first speaks for all.
    """
    alive = np.flatnonzero(Z.any(axis=0))
    if not alive.size:
        return np.arange(1)  # a question needs one
    first = Z[np.argmax(Z[:, alive] != 0, axis=0), alive]
    source, _ = distinct_rows(np.round(Z[:, alive] * np.sign(first), _DIGITS).T)
    alive = alive[np.sort(source)]
    if screening is None:
        return alive
    wanted = Z.shape[0] if screening == "auto" else int(screening)
    if wanted >= alive.size:
        return alive
    return np.sort(alive[_ranking(Z[:, alive], targets, weight, likelihood, wanted)[:wanted]])


def _ranking(
    Z: Array, targets: Sequence[Array], weight: Array, likelihood: Likelihood, wanted: int
) -> Index:
    """Return features in the order in which a sparse linear model wants them, section 3.1 of [JCFO].

    A path of falling rates: who comes first is first; those that never come follow by their slope.
    """
    design, entry, size = DenseDesign(Z), np.full(Z.shape[1], len(_RATES)), np.zeros(Z.shape[1])
    for y in targets:
        if isinstance(likelihood, Gaussian):
            likelihood = Gaussian(noise=max(float(np.var(y)), 1e-300), estimate=False)
        problem = Problem(design, y, likelihood, Laplace(rate=1.0), weight, intercept=True)
        state = problem.empty()
        most = float(np.abs(problem.gradient(state)).max())
        for level, part in enumerate(_RATES if most > 0 else ()):
            problem = replace(problem, prior=Laplace(rate=part * most))
            start = problem.with_objective(state)
            state = solve(problem, _LASSO, start=start, max_iter=_STEPS, tol=_TOL).state
            new = (state.w != 0) & (entry > level)
            entry[new], size[new] = level, np.maximum(size, np.abs(state.w))[new]
            if np.count_nonzero(entry < len(_RATES)) >= wanted:
                break
        late = entry == len(_RATES)
        size[late] = np.maximum(size, np.abs(problem.gradient(state)))[late]
    return np.lexsort((-size, entry))
