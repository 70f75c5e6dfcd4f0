"""The rules by which one candidate of the flagship is clearly better than another.

Gains are in nats over all rows: in left-out log density, or in the score of a search, which adds half
the evidence.
"""

from __future__ import annotations

import math

from ..judging.compare import Rule

# A candidate that is not the first choice must be a thousand times as likely.
_CLEAR_NATS = math.log(1000)

# Another kernel family (squashed features, Matern), per output.
OTHER_FAMILY = Rule(nats=_CLEAR_NATS)
# The weight-space prior, per output.
WEIGHT_SPACE_PRIOR = Rule(nats=_CLEAR_NATS)
# Feature weights, learnt on one half of the rows and judged on the other.
FEATURE_WEIGHTS = Rule(errors=2.0)
# The first half alone, if both halves are judged together in the end.
FEATURE_WEIGHTS_FIRST_HALF = Rule()
# A sparse reference instead of the dense one.
SPARSE_PRIOR = Rule(errors=1.0)
# Many features instead of few; the best of several sizes is compared, hence two errors.
MORE_FEATURES = Rule(errors=2.0)
# Features instead of kernels, or kernels instead of features, whichever comes second.
KERNEL_OR_FEATURES = Rule(nats=_CLEAR_NATS, errors=1.0)
# Student's noise instead of Gaussian noise.
HEAVY_TAILS = Rule(nats=_CLEAR_NATS)
# The gain of heavy tails at which status_ recommends them.
OUTLIER_NATS_PER_ROW = 0.1
