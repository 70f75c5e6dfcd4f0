"""Candidates of the sparse searches: priors and kernel widths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from .._component import is_name, is_positive
from ..basis.rows import distinct_rows
from ..judging.compare import Rule
from ..judging.race import Candidate
from ..model.validation import check_gamma, check_values
from ..priors import GeneralizedGaussian

# Its shape and its scale are searched.
ANY_PRIOR = GeneralizedGaussian()
# A classifier with more kernels must make the left-out labels five times as likely: record 040.
MORE_KERNELS = Rule(nats=math.log(5))
# Few features have no advantage over many: how many matter is a property of the data.
MORE_FEATURES = Rule()
# Number of rows whose distances are computed, enough for quantiles.
_MAX_ROWS_FOR_DISTANCES = 500
# The narrowest width, in lower deciles of the distances, resolves neighbouring rows.
_NARROWEST_WIDTH = 0.25
# The widest, in upper deciles, makes an RBF kernel nearly constant.
_WIDEST_WIDTH = 2.0
# Kernels whose gamma is a width.
_KERNELS_WITH_WIDTH = ("rbf", "matern")
# Multiples of the scale that the evidence finds for a dense model, the largest first.
_SCALE_MULTIPLES = (30.0, 10.0, 3.0)


@dataclass(eq=False)
class SparseCandidate(Candidate):
    """A prior at a width."""

    prior: GeneralizedGaussian
    gamma: float | None

    @property
    def first_scales(self) -> Sequence[float]:
        """Scales of the last fold, where the next fold starts."""
        return self.tried[-1].scales if self.tried else ()

    @property
    def starts_others(self) -> bool:
        """Whether sparser candidates need it as a start, on which absorbing priors depend."""
        return self.prior.q <= 1

    @property
    def params(self) -> dict[str, Any]:
        """The candidate as parameters of the estimator."""
        params: dict[str, Any] = {"prior__q": self.prior.q, "prior__scale": self.prior.scale}
        return params if self.gamma is None else {**params, "gamma": self.gamma}


def candidate_paths(search: Any, X: Any) -> list[list[SparseCandidate]]:
    """Return the candidates of a search: for each width, a path of priors."""
    priors = prior_path(check_values(search, "shapes"), check_values(search, "scales"))
    return [[SparseCandidate(prior, gamma) for prior in priors] for gamma in _widths(search, X)]


def _widths(search: Any, X: Any) -> list[float | None]:
    """Return the values of gamma to try; None if the kernel has no gamma."""
    automatic = is_name(search.gammas, "auto")
    gammas = [] if automatic else check_values(search, "gammas")
    for gamma in gammas:
        check_gamma(gamma)
    if not isinstance(search.kernel, str) or search.kernel in ("linear", "precomputed"):
        return [None]
    if automatic:
        return [*width_grid(X)] if search.kernel in _KERNELS_WITH_WIDTH else [None]
    return gammas


def larger_scales(chosen: SparseCandidate, model: Any) -> list[SparseCandidate]:
    """Return the chosen candidate with larger scales, if the evidence may have found one too small.

    If classes are nearly separable, Laplace's evidence of a dense model favours too small a scale. With
    several outputs, each of which has a scale, no larger scales are tried.
    """
    prior = chosen.prior
    if not (prior.learns and prior.q > 1 and len(model.priors_) == 1):
        return []
    scale = float(model.prior_.scale)
    larger = [GeneralizedGaussian(prior.q, multiple * scale) for multiple in _SCALE_MULTIPLES]
    return [SparseCandidate(each, chosen.gamma) for each in larger]


def width_grid(X: Any, n_widths: int = 6) -> list[float]:
    """Return values of a kernel's ``gamma = 1 / (2 h**2)`` from the distances between distinct rows.

    Six widths differ by a factor of about two from one to the next.
    """
    rows = X[distinct_rows(X)[0]]
    rows = rows[:: max(1, rows.shape[0] // _MAX_ROWS_FOR_DISTANCES)]
    distances = euclidean_distances(rows)[np.triu_indices(rows.shape[0], 1)]
    distances = distances[distances > 0]
    if not distances.size:
        return [1.0]
    low, high = np.quantile(distances, [0.1, 0.9])
    widths = np.geomspace(_NARROWEST_WIDTH * low, _WIDEST_WIDTH * high, n_widths)
    return [float(1 / (2 * h**2)) for h in widths]


def prior_path(shapes: Sequence[float], scales: Sequence[Any]) -> list[GeneralizedGaussian]:
    """Return the priors, dense ones first, so that each is a good start of the next."""
    priors = [GeneralizedGaussian(q, scale) for q in shapes for scale in scales]
    for prior in priors:
        prior.check()
    return sorted(priors, key=lambda prior: (-prior.q, -prior.level if is_positive(prior.scale) else 0))
