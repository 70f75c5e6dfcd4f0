"""The candidate with Student's noise, for a regression whose residuals have heavy tails."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..likelihoods import Binary, Gaussian, Student
from .candidate import Fits, FittedCandidate
from .rules import FAMILY_RULE, NOISE_FLOOR_FRACTION


@dataclass(frozen=True)
class HeavyTails:
    """The best candidate so far under Student's noise."""

    name: str = "student noise"

    def fit(self, fits: Fits, champion: FittedCandidate | None) -> FittedCandidate | None:
        """Fit the champion again, if its leave-one-out residuals have heavy tails."""
        if champion is None or not has_heavy_tails(champion):
            return None
        noise = Student(floor=NOISE_FLOOR_FRACTION)
        rows = replace(fits.rows, likelihood=noise)
        return champion.candidate.fit(Fits(rows, fits.settings, fits.sparse_fit), None)


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
