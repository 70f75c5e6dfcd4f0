"""Dense references on the features themselves, and their projections onto fewer features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from ..linalg import as_dense
from .kernel_family import ReferenceFeatures
from .references import FittedReferences, fit_references
from .score_grid import FIRST_POINT
from .search import HyperparameterSearch
from .wide import needs_moment_matching
from .wide_projection import left_out_by_size

if TYPE_CHECKING:
    from .._protocols import Array
    from .rows import TrainingRows
    from .settings import Settings


def fit_features(rows: TrainingRows, settings: Settings) -> FittedReferences:
    """Return dense references on all features, with the precision that the search finds best."""
    rows = replace(rows, X=as_dense(rows.X))
    moments = needs_moment_matching(rows.likelihood, *rows.X.shape)
    features = ReferenceFeatures(None, settings.max_rank, moments)
    search = HyperparameterSearch.of(features, rows)
    choice = search.choice(search.coordinate_ascent(FIRST_POINT))
    return fit_references(choice, rows, max_rank=settings.max_rank, n_jobs=settings.n_jobs)


@dataclass(frozen=True)
class SizedFeatures:
    """Dense references, and the cross-validated latents of their projections onto fewer features."""

    fitted: FittedReferences
    sizes: list[int]
    means: list[Array]  # of each output, one row for each size

    @classmethod
    def of(cls, rows: TrainingRows, settings: Settings, sizes: list[int]) -> Self:
        """Fit the references, and project them without each fold."""
        fitted = fit_features(rows, settings)
        pairs = zip(fitted.references, fitted.problems, strict=True)
        means = [left_out_by_size(*pair, fitted, sizes) for pair in pairs]
        return cls(fitted, sizes, means)

    def at(self, size: int) -> FittedReferences:
        """Return the references with the left-out latents of their projections of one size.

        The variance of a regression includes the squared left-out errors that nothing else explains.
        """
        rows, k = self.fitted.rows, self.sizes.index(size)
        latents = []
        for reference, means, y in zip(self.fitted.references, self.means, rows.targets, strict=True):
            excess = rows.task.excess_variance(reference, y, means[k], rows.share)
            latents.append((means[k], reference.left_out_v + excess))
        return self.fitted.with_left_out(latents)
