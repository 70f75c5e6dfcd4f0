"""Student's noise instead of Gaussian noise, if that is clearly better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._protocols import Array, Likelihood
from ..likelihoods import Binary, Gaussian, Student
from ..model.tasks import FitData
from .reference import Reference
from .rules import HEAVY_TAILS, OUTLIER_NATS_PER_ROW
from .tasks import NOISE_FLOOR_FRACTION, ProjectionTask

_TRY_STUDENT = " A few targets have much larger errors than the others: try likelihood='student'."


def heavy_tail_gain(reference: Reference, y: Array, weight: Array) -> float:
    """Return the gain in nats of Student's noise over Gaussian noise on leave-one-out residuals.

    Residuals are in units of their predicted standard deviations, so that only their tails matter.
    """
    noise: Any = reference.likelihood
    zero = np.zeros_like(y)
    u = (y - reference.left_out_m) / np.sqrt(reference.left_out_v + noise.variance)
    heavy, light = (kind().refit(u, zero, weight, 0).log_prob(u, zero) for kind in (Student, Gaussian))
    return float(weight @ (heavy - light))


def try_heavy_tails(
    winner: Any,
    fit: Callable[[Likelihood], Any],
    data: FitData,
    task: ProjectionTask,
    *,
    any_noise: bool,
) -> Any:
    """Return the candidate under Student's noise if that is clearly better, or the winner.

    Parameters
    ----------
    winner : FittedCandidate
        The best candidate under the given noise.
    fit : callable
        Returns the best candidate under another noise.
    data : FitData
    task : ProjectionTask
    any_noise : bool
        Whether the fit chooses the noise; otherwise ``status_`` reports outliers.
    """
    if isinstance(data.likelihood, Binary | Student):
        return winner
    targets, weight = data.targets, data.weight
    gain = heavy_tail_gain(winner.references[0], targets[0], weight)
    if not HEAVY_TAILS.prefers_total(gain):
        return winner
    if not any_noise:
        outliers = gain > OUTLIER_NATS_PER_ROW * float(weight.sum())
        return winner.with_note(_TRY_STUDENT) if outliers else winner
    other = fit(Student(floor=NOISE_FLOOR_FRACTION))
    before, after = (
        task.left_out_log_density(each.references, targets, 0.0) for each in (winner, other)
    )
    return other if HEAVY_TAILS.prefers(after - before, weight) else winner
