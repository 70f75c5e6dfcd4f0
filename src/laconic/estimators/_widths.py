"""The width of a kernel, by how well the reference predicts rows that were left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._protocols import Array, Kernel, Likelihood
from ..basis import KernelBasis
from ._reference import KernelMap, Reference

# More rows than this do not change by much which width is best: so many at even steps are taken.
_ROWS = 600
# gamma is searched on powers of two of one over the mean squared distance, between these; first at the
# ones of a coarse look, since there may be more than one hill.
_FROM, _TO, _LOOK = -6, 8, (-5, -2, 1, 4)


def best_gamma(
    kernel: Callable[[float], Kernel],
    distance: float,
    X: Any,
    targets: Sequence[Array],
    weight: Array,
    likelihood: Likelihood,
    *,
    intercept: bool,
    rank_tol: float,
    max_rank: int,
) -> float:
    """Return the ``gamma`` under which the references of all outputs predict best.

    After a coarse look the best hill is climbed, by factors of two, until both neighbours are worse.

    Parameters
    ----------
    kernel : callable
        The kernel of a ``gamma``.
    distance : float
        Mean squared distance between rows, which makes ``gamma`` a number without units.
    X, targets, weight, likelihood, intercept
        What the references are fitted to.
    rank_tol, max_rank : float, int
        Of the factorisation of a kernel matrix.
    """
    if X.shape[0] > _ROWS:
        # At even steps along a direction, so that the order of the rows does not matter.
        direction = np.random.default_rng(0).normal(size=X.shape[1])
        order = np.argsort(X @ direction, kind="stable")
        rows = order[np.linspace(0, X.shape[0] - 1, _ROWS).astype(np.intp)]
        X, weight, targets = X[rows], weight[rows], [y[rows] for y in targets]
    known: dict[int, float] = {}
    starts = [1.0] * len(targets)  # each width begins at the precisions of the last

    def score(power: int) -> float:
        if not _FROM <= power <= _TO:
            return -np.inf
        if power not in known:
            basis = KernelBasis.on_rows(kernel(2.0**power / distance), X)
            coordinates = KernelMap.on(basis, rank_tol=rank_tol, max_rank=max_rank)
            known[power] = 0.0
            for k, y in enumerate(targets):
                fitted = Reference.fit(coordinates, X, y, weight, likelihood, intercept, starts[k])
                known[power] += fitted.left_out
                starts[k] = fitted.multiple
        return known[power]

    best = max(_LOOK, key=score)
    while True:
        ahead = max((best - 1, best + 1), key=score)
        if score(ahead) <= score(best):
            break
        best = ahead
    return float(2.0**best / distance)
