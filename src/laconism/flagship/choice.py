"""The hyper-parameters of a reference, as the search leaves them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .._protocols import Array, Index


class Choice(NamedTuple):
    """Kernel family, width, precision, prior and weights of the features."""

    width: float  # a power of two
    theta: Array  # weights of the features
    relative_precision: float  # in the units of fit_shared
    weight_space_prior: bool  # whether the prior is that of weights on all kernels
    latents: list[Array | None]  # where the fit of each output starts, if all rows were searched
    features: Any  # ReferenceFeatures, of features as they are or squashed
    # The weights of features that other rows would have led to, if rows must be left out with them.
    theta_of: Callable[[Index], Array] | None = None
    moments: bool = False  # whether labels are matched in their moments
