"""The candidates of a fit, in the order in which they are compared."""

from __future__ import annotations

from collections.abc import Sequence

from .._component import is_name
from ..judging.ablate import is_on
from ..likelihoods import Binary
from .candidate import Candidate, Fits
from .feature_candidates import feature_candidates
from .heavy_tails import HeavyTails
from .kernel_candidates import MATERN, SQUASHED, Kernel
from .learnt_candidates import ORDERS, AdditiveKernel, FeatureWeights


def candidates_for(fits: Fits) -> list[Candidate]:
    """Return the candidates for rows of this shape; an earlier one stays unless a later one wins.

    Kernels that are learnt come after features, which are simpler. If features outnumber rows, they come
    first: few kernels that agree with their reference at the rows may differ from it between them.
    """
    settings, (n, p) = fits.settings, fits.rows.X.shape
    kernels = kernel_candidates(fits) if settings.kernel is not None else []
    features = feature_candidates(fits) if settings.kernel is None or settings.any_kernel else []
    learnt = learnt_candidates(fits, kernels) if settings.weigh_features and p <= n else []
    ordered = [*features, *kernels] if p > n else [*kernels, *features, *learnt]
    return [*ordered, HeavyTails()] if settings.any_noise and is_on("heavy_tails") else ordered


def kernel_candidates(fits: Fits) -> list[Candidate]:
    """Return the kernels of one width: the first one, and other families."""
    settings, (n, p) = fits.settings, fits.rows.X.shape
    found: list[Candidate] = [Kernel(settings.first_kernel)]
    if isinstance(fits.rows.likelihood, Binary):
        found += [SQUASHED] if p <= n and is_on("squashed") else []
    elif settings.any_kernel and n <= settings.max_rank:  # Matern kernel matrices have full rank
        found += [MATERN] if is_on("matern") else []
    return found


def learnt_candidates(fits: Fits, kernels: Sequence[Candidate]) -> list[Candidate]:
    """Return the kernels that are learnt: additive ones, and others with feature weights."""
    settings = fits.settings
    free = settings.gamma is None and (settings.any_kernel or is_name(settings.kernel, "additive"))
    orders = ORDERS if free and is_on("additive") else ()
    bases = kernels if is_on("feature_weights") else ()
    return [*map(AdditiveKernel, orders), *map(FeatureWeights, bases)]
