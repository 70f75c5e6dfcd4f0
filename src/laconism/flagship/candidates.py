"""The candidates of a fit, in the order in which they are compared."""

from __future__ import annotations

from ..judging.ablate import is_on
from .candidate import Candidate, Fits
from .feature_candidates import feature_candidates
from .heavy_tails import HeavyTails
from .kernel_candidates import kernel_candidates


def candidates_for(fits: Fits) -> list[Candidate]:
    """Return the candidates for rows of this shape; an earlier one stays unless a later one wins.

    If features outnumber rows, they come first: few kernels that agree with their reference at the rows
    may differ from it between them.
    """
    settings, (n, p) = fits.settings, fits.rows.X.shape
    kernels = kernel_candidates(fits) if settings.kernel is not None else []
    features = feature_candidates(fits) if settings.kernel is None or settings.any_kernel else []
    ordered = [*features, *kernels] if p > n else [*kernels, *features]
    return [*ordered, HeavyTails()] if settings.any_noise and is_on("heavy_tails") else ordered
