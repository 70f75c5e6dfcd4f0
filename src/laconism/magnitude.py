"""Checks that numbers can be squared and summed without overflow."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._protocols import Array
from .linalg import is_sparse

# The product of four such entries and a prior's variance does not overflow.
LARGEST = 1e64


def check_largest(
    values: Any,
    what: str = "columns of the model",
    remedy: str = "the features first, for example with StandardScaler",
) -> None:
    """Raise if these values cannot be squared and summed without overflow."""
    if squares_safely(values):
        return
    entries = _entries(values)
    largest = max(float(entries.max(initial=0.0)), -float(entries.min(initial=0.0)))
    if not largest <= LARGEST:
        raise ValueError(
            f"The {what} reach {largest:.1e}, too large to square safely; rescale {remedy}."
        )


def in_double(values: Any, what: str) -> Any:
    """Return values whose squares overflow in single precision in double, or raise as above."""
    check_largest(values, what)
    return values.astype(np.float64, copy=False)


def squares_safely(values: Any) -> bool:
    """Whether a quick pass shows that these values are finite and can be squared safely.

    No entry is larger than the root of all squares. ``False`` is inconclusive.
    """
    entries = _entries(values)
    if not entries.flags.forc:
        return False
    flat = entries.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.sqrt(np.dot(flat, flat))) <= LARGEST  # in float32 infinity would be equal


def _entries(values: Any) -> Array:
    return values.data if is_sparse(values) else np.asarray(values)
