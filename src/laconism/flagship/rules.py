"""The rules by which a flagship chooses: one for candidates, one for sizes."""

from __future__ import annotations

import math

from ..judging.compare import Rule

# A later candidate must be twenty times as likely on left-out rows, by more than a standard error.
FAMILY_RULE = Rule(nats=math.log(20), errors=1.0)
# The reference is preferred to a smaller model if it gains more than this over all rows: a smaller
# difference of two models cannot be told from the data.
SIZE_RULE = Rule(nats=0.5)
# The largest loss of a smaller model, whatever the number of rows.
MAX_TOLERANCE_NATS_PER_ROW = 0.004
# Within the tolerance a kernel is added while it gains this much. A model of too few kernels may agree
# with its reference at the rows and differ from it elsewhere.
KERNEL_PRICE_NATS_PER_ROW = 0.0002


def default_tolerance(total_weight: float) -> float:
    """Return the loss, in nats per row, below which a smaller model is as good as its reference."""
    return min(SIZE_RULE.nats / total_weight, MAX_TOLERANCE_NATS_PER_ROW)
