"""The candidates without kernels: features under a sparse prior, and some of a dense reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..judging.ablate import is_on
from .candidate import Candidate, Fits, FittedCandidate
from .features import SizedFeatures, fit_features
from .sparse_features import fit_sparse_features
from .wide import can_refit_folds, feature_sizes, is_wide


@dataclass(frozen=True)
class DenseFeatures:
    """All features with weights of one variance, projected onto some of them."""

    size: int | None = None  # None for as many as the path needs

    @property
    def name(self) -> str:
        """What the candidate is called in tables and messages."""
        return "features" if self.size is None else f"{self.size} features"

    def fit(self, fits: Fits, champion: FittedCandidate | None) -> FittedCandidate:
        """Fit the dense reference; the features of each size are chosen again without each fold."""
        if self.size is None:
            fitted, size = fit_features(fits.rows, fits.settings), fits.rows.X.shape[1]
        else:
            fitted, size = fits.once(_sized_features).at(self.size), self.size
        return FittedCandidate.of(self, fitted, size, n_searched=1, max_columns=self.size)


@dataclass(frozen=True)
class SparseFeatures:
    """The features themselves under a sparse prior."""

    name: str = "sparse features"

    def fit(self, fits: Fits, champion: FittedCandidate | None) -> FittedCandidate:
        """Fit on all rows and without each fold."""
        fitted, kept = fit_sparse_features(fits.rows, fits.sparse_fit, fits.settings.max_rank)
        return FittedCandidate.of(self, fitted, np.unique(np.concatenate(kept)).size)


def feature_candidates(fits: Fits) -> list[Candidate]:
    """Return the features themselves: those of a sparse prior, then more of a dense reference."""
    settings, (n, p) = fits.settings, fits.rows.X.shape
    refit = can_refit_folds(n, p)
    if settings.any_kernel and (settings.gamma is not None or not refit or not is_on("features")):
        return []
    sparse = [SparseFeatures()] if is_wide(n, p) and is_on("sparse_features") else []
    if not refit:
        return [*sparse, DenseFeatures()]
    # A tolerance is the user's way to choose the size.
    sizes = fits.once(_sizes) if settings.tolerance is None else fits.once(_sizes)[-1:]
    return [*sparse, *(DenseFeatures(size) for size in sizes)]


def _sizes(fits: Fits) -> list[int]:
    """Return the numbers of features that are compared, up to the limit of the user."""
    p = fits.rows.X.shape[1]
    most = min(fits.settings.max_columns or p, p)
    return sorted({min(size, most) for size in feature_sizes(p)})


def _sized_features(fits: Fits) -> SizedFeatures:
    return SizedFeatures.of(fits.rows, fits.settings, fits.once(_sizes))
