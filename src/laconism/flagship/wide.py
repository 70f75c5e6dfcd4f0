"""Wide data, with few rows for their features: the definition, and the shrinkage of covariances."""

from __future__ import annotations

import numpy as np

from .._protocols import Array
from ..judging.ablate import is_on
from ..judging.folds import N_FOLDS
from ..likelihoods import Binary, Likelihood
from .rows import MAX_SEARCHED_LABELS

# With more rows per feature than this a dense reference determines all weights well.
_MAX_ROWS_PER_FEATURE = 4
# Folds are refitted, and factors of all columns kept, up to this many entries of a matrix.
MAX_ENTRIES = 20_000_000
# The largest shrinkage of a covariance, so that the rows always have an effect.
_MAX_SHRINKAGE = 0.99
# Up to this many columns a path has a model of every size. It is the first number of features that is
# compared; the others grow by a factor.
FEW_COLUMNS = 64
_SIZE_FACTOR = 4


def is_wide(n_rows: int, n_features: int) -> bool:
    """Whether rows are few enough for their features that a sparse reference may be better."""
    return n_features * _MAX_ROWS_PER_FEATURE > n_rows >= N_FOLDS


def can_refit_folds(n_rows: int, n_features: int) -> bool:
    """Whether data are wide, and small enough to refit without each fold."""
    small = n_rows <= MAX_SEARCHED_LABELS and n_rows * n_features <= MAX_ENTRIES
    return is_wide(n_rows, n_features) and small


def feature_sizes(n_features: int) -> list[int]:
    """Return the numbers of features that are compared: few, four times as many, ..., and all.

    More than half of the features differ little from all.
    """
    sizes = [min(FEW_COLUMNS, n_features)]
    while 2 * _SIZE_FACTOR * sizes[-1] <= n_features:
        sizes.append(_SIZE_FACTOR * sizes[-1])
    return sorted({*sizes, n_features})


def needs_moment_matching(likelihood: Likelihood, n_rows: int, n_features: int) -> bool:
    """Whether labels are too few for their features for Laplace's approximation."""
    wide = n_features > n_rows and can_refit_folds(n_rows, n_features)
    return isinstance(likelihood, Binary) and wide and is_on("moment_matching")


def shrinkage(Z: Array, share: Array, n_rows: float) -> float:
    r"""Return the shrinkage of the covariance of standardised features towards the diagonal.

    It is the :math:`\lambda` for which :math:`(1 - \lambda)S + \lambda I` has the smallest expected
    squared error, after Ledoit and Wolf [LW04]_.

    References
    ----------
    .. [LW04] O. Ledoit, M. Wolf, A well-conditioned estimator for large-dimensional covariance matrices,
       Journal of Multivariate Analysis 88 (2004).
    """
    half = np.sqrt(share)[:, None] * Z
    lengths = np.einsum("ij,ij->i", Z, Z)
    trace = float(share @ lengths)
    square = float(((half @ half.T) ** 2).sum())
    distance = square - trace
    noise = (float(share @ lengths**2) - square) / n_rows
    if distance <= np.finfo(float).eps * square:  # uncorrelated, up to rounding
        return _MAX_SHRINKAGE
    return float(np.clip(noise / distance, 0.0, _MAX_SHRINKAGE))
