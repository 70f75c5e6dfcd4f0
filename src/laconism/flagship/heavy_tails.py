"""The candidate with Student's noise, for a regression whose residuals have heavy tails."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._protocols import Array, Index
from ..judging.left_out import cross_validated
from ..likelihoods import Binary, Gaussian, Student
from .candidate import Fits, FittedCandidate
from .kernel_candidates import references_at
from .reference import Latent
from .references import fit_references
from .rules import FAMILY_RULE, NOISE_FLOOR_FRACTION
from .search import MODE_TOLERANCE_NATS

if TYPE_CHECKING:
    from .search import Choice


@dataclass(frozen=True)
class HeavyTails:
    """The best candidate so far under Student's noise."""

    name: str = "student noise"

    def fit(self, fits: Fits, champion: FittedCandidate | None) -> FittedCandidate | None:
        """Fit the champion again, if its leave-one-out residuals have heavy tails.

        A kernel keeps the parameters that were learnt with Gaussian noise, and their optimism. Width and
        precision are searched again, and the degrees of freedom are one more parameter.
        """
        if champion is None or not has_heavy_tails(champion):
            return None
        noise = Student(floor=NOISE_FLOOR_FRACTION)
        under = replace(fits, rows=replace(fits.rows, likelihood=noise), _known={})
        if champion.search is None:
            return champion.candidate.fit(under, None)
        search = champion.search.with_likelihood(noise)
        point = search.coordinate_ascent(champion.point)
        fitted = references_at(under, search, point)
        fitted = fitted.with_left_out(cross_fitted_references(under, fitted.choice))
        return FittedCandidate.of(
            champion.candidate, fitted, champion.size, 1, champion.optimism, search=search, point=point
        )


def cross_fitted_references(fits: Fits, choice: Choice) -> Array:
    """Return left-out latents, mean and variance of each output, of references without each part.

    With Student's noise the leave-one-out formula is too optimistic: it keeps the precisions of the
    other rows, which depend on the row.
    """
    rows, latents = fits.rows, choice.latents

    def predict_without(stay: Index, out: Index) -> list[Latent]:
        start = choice._replace(latents=[None if f is None else f[stay] for f in latents])
        part = fit_references(
            start,
            rows.on(stay),
            max_rank=fits.settings.max_rank,
            n_jobs=None,
            gain=MODE_TOLERANCE_NATS,
        )
        return [reference.latent(rows.X[out]) for reference in part.references]

    shape = (len(rows.targets), 2)
    return cross_validated(rows.parts(), rows.weight.size, predict_without, shape)


def has_heavy_tails(champion: FittedCandidate) -> bool:
    """Whether Student's noise explains the left-out residuals of a regression clearly better.

    Residuals are in units of their predicted standard deviations, so that only their tails matter.
    """
    reference, rows = champion.fitted.references[0], champion.fitted.rows
    noise: Any = reference.likelihood
    if isinstance(noise, Binary | Student):
        return False
    y, zero = rows.targets[0], np.zeros_like(rows.weight)
    u = (y - reference.left_out_m) / np.sqrt(reference.left_out_v + noise.variance)
    heavy, light = (
        kind().refit(u, zero, rows.weight, 0).log_prob(u, zero) for kind in (Student, Gaussian)
    )
    return FAMILY_RULE.prefers(heavy - light, rows.weight)
