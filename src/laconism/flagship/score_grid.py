"""A score at every width and precision of a grid, and the search for its maximum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

import numpy as np

# Powers of two of the width, and powers of the square root of ten of the precision.
GridPoint = tuple[int, int]
# The corners of the grid.
LOWEST = (-8, -12)
HIGHEST = (8, 6)
# The first point of a search.
FIRST_POINT = (-1, -1)
# Widths at which a search starts again, since the score may have several maxima.
RESTART_WIDTHS = (3, -4)


def precision_at(point: tuple[float, float]) -> float:
    """Return the precision at a point, relative to that of ``fit_shared``."""
    return float(10.0 ** (point[1] / 2))


class ScoreGrid(ABC):
    """A score at every width and precision, and coordinate ascent on it."""

    @property
    @abstractmethod
    def widths(self) -> bool:
        """Whether the width is searched."""

    @property
    @abstractmethod
    def min_gain(self) -> float:
        """The gain below which a step is not taken."""

    @abstractmethod
    def score(self, point: GridPoint) -> float:
        """Return the score at a point, in nats."""

    def coordinate_ascent(self, start: GridPoint, restarts: Iterable[int] = ()) -> GridPoint:
        """Return the best width, each with its best precision, from the best of several starts."""
        best_of: dict[int, GridPoint] = {}

        def at_width(width: int, precision: int) -> GridPoint:
            if width not in best_of:
                best_of[width] = self.best_precision((width, precision))
            return best_of[width]

        def neighbours(point: GridPoint) -> list[GridPoint]:
            near = (point[0] - 1, point[0] + 1) if self.widths else ()
            return [at_width(width, point[1]) for width in near if LOWEST[0] <= width <= HIGHEST[0]]

        best = at_width(*start)
        for width in restarts if self.widths else ():
            best = max(best, at_width(width, start[1]), key=self.score)
        return self._ascend(best, neighbours)

    def refine(self, point: GridPoint) -> GridPoint:
        """Return a local maximum by single steps of width or precision.

        Coordinate ascent finds the best precision of every width that it tries. Single steps need fewer
        points, which matters if each of them fits many outputs.
        """

        def neighbours(at: GridPoint) -> list[GridPoint]:
            beside = [(at[0] + i, at[1] + j) for i, j in ((1, 0), (-1, 0), (0, 1), (0, -1))]
            return [p for p in beside if _inside(p) and (self.widths or p[0] == at[0])]

        return self._ascend(point, neighbours)

    def best_precision(self, point: GridPoint) -> GridPoint:
        """Return the best point of the same width, from this one."""

        def neighbours(at: GridPoint) -> list[GridPoint]:
            return [(at[0], j) for j in (at[1] - 1, at[1] + 1) if LOWEST[1] <= j <= HIGHEST[1]]

        return self._ascend(point, neighbours)

    def _ascend(self, point: GridPoint, neighbours: Callable[[GridPoint], list[GridPoint]]) -> GridPoint:
        """Move to the first neighbour that gains enough until none does."""
        while True:
            needed = self.score(point) + self.min_gain
            better = next((p for p in neighbours(point) if self.score(p) > needed), None)
            if better is None:
                return point
            point = better

    def parabolic_refine(
        self, point: GridPoint, min_curvature: float = 1e-6, parts: int = 4
    ) -> tuple[float, float]:
        """Return the maximum near the best point, by a parabola in each coordinate.

        A flat parabola has at least this curvature, in nats. The maximum is rounded to one of as many
        parts of a step, so that rounding errors do not move it.
        """

        def offset(before: GridPoint, after: GridPoint) -> float:
            if not (_inside(before) and _inside(after)):
                return 0.0
            left, right = (self.score(at) - self.score(point) for at in (before, after))
            top = 0.5 * (left - right) / min(left + right, -min_curvature)
            return round(parts * float(np.clip(top, -0.5, 0.5))) / parts

        i, j = point
        width = offset((i - 1, j), (i + 1, j)) if self.widths else 0.0
        return i + width, j + offset((i, j - 1), (i, j + 1))


def _inside(point: GridPoint) -> bool:
    """Whether a point is on the grid."""
    return all(low <= at <= high for low, at, high in zip(LOWEST, point, HIGHEST, strict=True))
