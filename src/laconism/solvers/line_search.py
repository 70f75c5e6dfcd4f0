"""The one line search: shrink a step until it is accepted, or lengthen it while that helps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Point = TypeVar("Point")


def backtrack(
    at: Callable[[float], Point],
    accepts: Callable[[Point, float], bool],
    *,
    first_step: float = 1.0,
    shrink: float = 0.5,
    max_trials: int = 30,
) -> tuple[Point, float] | None:
    """Return the first point that is accepted and the length of its step, or None.

    ``at(step)`` is the point after a step of this length, ``accepts(point, step)`` whether it is good
    enough, as by Armijo's condition.
    """
    for trial in range(max_trials):
        step = first_step * shrink**trial
        point = at(step)
        if accepts(point, step):
            return point, step
    return None


def lengthen(
    at: Callable[[float], Point],
    improves: Callable[[Point, Point], bool],
    point: Point,
    step: float,
    *,
    max_step: float,
) -> tuple[Point, float]:
    """Return the point after doubling a step while the next point improves on the last.

    ``point`` is the one after ``step``; no length is doubled that has reached ``max_step``.
    """
    while step < max_step:
        further = at(2 * step)
        if not improves(further, point):
            break
        point, step = further, 2 * step
    return point, step
