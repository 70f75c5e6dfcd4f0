"""The one line search: shrink a step until it is accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Point = TypeVar("Point")


def backtrack(
    at: Callable[[float], Point],
    accepts: Callable[[Point, float], bool],
    *,
    most: float = 1.0,
    shrink: float = 0.5,
    max_trials: int = 30,
) -> tuple[Point, float] | None:
    """Return the first point that is accepted and the length of its step, or None.

    Parameters
    ----------
    at : callable
        The point after a step of this length.
    accepts : callable
        Whether a point after a step of this length is good enough, as by Armijo's condition.
    most : float, default=1.0
        The first length.
    shrink : float, default=0.5
        The factor by which the length shrinks.
    max_trials : int, default=30
        Points that are tried before giving up.
    """
    for trial in range(max_trials):
        step = most * shrink**trial
        point = at(step)
        if accepts(point, step):
            return point, step
    return None
