"""Minimisation over numbers that are not negative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .._protocols import Array


def minimize_nonnegative(
    value_and_gradient: Callable[[Array], tuple[float, Array]],
    start: Array,
    options: dict[str, Any],
    callback: Callable[[Any], None] | None = None,
) -> tuple[Array, bool]:
    """Return the minimiser and whether L-BFGS-B has converged; zeros are exact.

    L-BFGS-B may miss its bounds by a rounding, and a scale of -5e-32 has no root.
    """
    untyped: Any = minimize  # its overloads do not know a function that returns value and gradient
    found = untyped(
        lambda x: value_and_gradient(np.maximum(x, 0.0)),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * start.size,
        callback=callback,
        options=options,
    )
    # A line search that finds no lower point has reached rounding.
    return np.maximum(found.x, 0.0), bool(found.success) or "ABNORMAL" in str(found.message)
