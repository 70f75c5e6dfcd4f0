"""The candidates of a fit, in the order in which they are compared."""

from __future__ import annotations

from ..judging.ablate import is_on
from ..likelihoods import Binary
from .candidate import Candidate, Fits
from .feature_candidates import feature_candidates
from .heavy_tails import HeavyTails
from .kernel_candidates import MATERN, SQUASHED, Kernel
from .learnt_candidates import MAX_ORDER, AdditiveKernel, FeatureWeights


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


def kernel_candidates(fits: Fits) -> list[Candidate]:
    """Return the kernels: the first one, other families, additive kernels and feature weights."""
    settings, (n, p) = fits.settings, fits.rows.X.shape
    found: list[Candidate] = [Kernel(settings.first_kernel)]
    if isinstance(fits.rows.likelihood, Binary):
        found += [SQUASHED] if p <= n and is_on("squashed") else []
    elif settings.any_kernel and n <= settings.max_rank:  # Matern kernel matrices have full rank
        found += [MATERN] if is_on("matern") else []
    if not settings.weigh_features or p > n:
        return found
    weighed: list[Candidate] = [FeatureWeights(each) for each in found]
    if settings.any_kernel and is_on("additive"):
        found += [AdditiveKernel(order) for order in range(1, MAX_ORDER + 1)]
    return [*found, *weighed] if is_on("feature_weights") else found
