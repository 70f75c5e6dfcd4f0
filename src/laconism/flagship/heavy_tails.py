"""The candidate with Student's noise, for a regression whose residuals have heavy tails."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..likelihoods import Binary, Gaussian, Student
from .candidate import Fits, FittedCandidate
from .kernel_candidates import references_at
from .rules import FAMILY_RULE, NOISE_FLOOR_FRACTION
from .search import MODE_TOLERANCE_NATS


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
        # The leave-one-out formula keeps the precisions of the other rows, which depend on the row.
        fitted = fitted.left_out_by_parts(max_rank=fits.settings.max_rank, gain=MODE_TOLERANCE_NATS)
        return FittedCandidate.of(
            champion.candidate, fitted, champion.size, 1, champion.optimism, search=search, point=point
        )


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
