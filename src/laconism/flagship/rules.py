"""The rules by which a flagship chooses: one for candidates, one for sizes; and its least noise."""

from __future__ import annotations

import math

from ..judging.compare import Rule

# A later candidate must be twenty times as likely on left-out rows, by more than a standard error.
FAMILY_RULE = Rule(nats=math.log(20), errors=1.0)
# The loss of a smaller model at which the reference is not preferred to it.
TOLERANCE_NATS_PER_ROW = 0.003
# A larger model is preferred while each further kernel gains this much. The loss is an expectation under
# the reference, so it has no standard error.
KERNEL_PRICE_NATS_PER_ROW = 0.0002
# The least noise of a reference, as a fraction of the target's variance. Without it a reference that
# interpolates its data could only be projected onto kernels that interpolate them too.
NOISE_FLOOR_FRACTION = 1e-8
