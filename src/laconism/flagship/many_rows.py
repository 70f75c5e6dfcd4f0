"""Many rows in memory: candidates are compared on a sample, and the posterior is that of all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..likelihoods import Binary, Gaussian
from ..partitions.local import sample_of

if TYPE_CHECKING:
    from ..model.tasks import FitData
    from ..partitions.start import PartitionedRows

# Of more than twice as many rows, this many are sampled: for the candidates, the inducing rows, the
# calibration and the projection.
SAMPLE_ROWS = 10_000
# Student's noise is a candidate up to this many rows. Its search sums over all rows at every step.
MAX_STUDENT_ROWS = SAMPLE_ROWS // 2


def sample_if_many(model: Any, data: FitData) -> tuple[FitData, PartitionedRows | None]:
    """Return a sample, and all rows in partitions; or the rows themselves, where they are few.

    Noise with heavy tails is not determined by sums, so there all rows are used.
    """
    summed = isinstance(data.likelihood, Binary | Gaussian)
    if data.weight.size <= 2 * SAMPLE_ROWS or not summed:
        return data, None
    data, everything, index = sample_of(data, SAMPLE_ROWS, model.n_jobs)
    model._rows = model._rows[index]
    return data, everything
