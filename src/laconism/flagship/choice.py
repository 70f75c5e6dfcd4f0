"""The hyper-parameters of a reference, as the search leaves them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .._protocols import Array, Index


class Choice(NamedTuple):
    """Kernel family, width, precision, prior and feature weights."""

    width: float  # a power of two
    theta: Array  # feature weights
    relative_precision: float  # in the units of fit_shared
    weight_space_prior: bool  # whether the prior is that of weights on all kernels
    latents: list[Array | None]  # start of the fit of each output, if all rows were searched
    features: Any  # ReferenceFeatures, with or without squashing
    # The feature weights learnt on some of the rows, if cross-validation has to learn them again.
    theta_of: Callable[[Index], Array] | None = None
    moments: bool = False  # whether labels are fitted by moment matching
