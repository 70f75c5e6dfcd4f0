"""The rules by which a flagship chooses: one for candidates, one for sizes."""

from __future__ import annotations

import math

# A candidate that is not the first choice must predict left-out rows clearly better.
import os

from ..judging.compare import Rule

FAMILY_RULE = Rule(
    nats=math.log(float(os.environ.get("RN", "20"))), errors=float(os.environ.get("RE", "1"))
)
# The reference is preferred to a smaller model if it gains more than this over all rows: a smaller
# difference of two models cannot be told from the data.
SIZE_RULE = Rule(nats=0.5)
