"""How well references of one width, one precision and one prior predict, and where the best one is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from .._protocols import Array, Index, Likelihood
from ..design import DenseDesign
from ..judging.calibrate import fit_coupling
from ..judging.left_out import leave_one_out
from ..laplace.mode import Mode
from ..laplace.shared_precision import fit_shared, row_products
from ..model.multiclass import answers, couple, log_proba_of
from ..priors import Jeffreys
from ..solvers import Problem
from .kernel_family import ReferenceFeatures
from .reference import CLEAR

# A step has to gain so many nats a row to be taken, or a flat hill would be walked to its end.
_GAIN = 1e-4
# What the evidence counts beside rows left out, and what is too flat for a parabola.
_EVIDENCE, _FLAT = 0.5, 1e-6
# Modes that are only compared need not be exact beyond this many nats.
_NEAR = 1e-3

# Powers of two of the width, and powers of the square root of ten of the precision: where they are
# searched, where the search begins, and the widths at which it looks, since there may be several hills.
Point = tuple[int, int]
_FROM, _TO = (-8, -12), (8, 6)
START, LOOK = (-1, -1), (3, -4)


def multiple(point: tuple[float, float]) -> float:
    """Return the precision at a point, in the units of :func:`~laconism.laplace.shared_precision.fit_shared`."""
    return float(10.0 ** (point[1] / 2))


class Found(NamedTuple):
    """What is remembered of a mode: weights, latent, evidence, and what it says of rows left out."""

    w: Array
    b: float
    f: Array
    evidence: float
    likelihood: Likelihood
    left: tuple[Array, Array]  # mean and variance of the latent of each row as if it had not been seen
    left_out: Array  # and the log probability of its target

    @classmethod
    def of(cls, mode: Mode) -> Self:
        """Return it of a mode."""
        left = leave_one_out(mode)
        left_out = mode.likelihood.predictive(mode.problem.y, *left)
        return cls(mode.w, mode.b, mode.f, mode.objective, mode.likelihood, left, left_out)


class ScoreGrid:
    """A score at every width and precision, and the way up."""

    widths: bool  # whether there is a width to be searched

    @property
    def least(self) -> float:
        """What a step has to gain."""
        raise NotImplementedError

    def score(self, point: Point) -> float:
        """Return how well rows are predicted at a point, in nats."""
        raise NotImplementedError

    def coordinate_ascent(self, start: Point, look: Iterable[int] = ()) -> Point:
        """Return the best width, each with its best precision, from a point or from a look around."""
        tops: dict[int, Point] = {}

        def top(width: int, precision: int) -> Point:
            if width not in tops:
                tops[width] = self.best_precision((width, precision))
            return tops[width]

        def widths(point: Point) -> list[Point]:
            near = (point[0] - 1, point[0] + 1) if self.widths else ()
            return [top(width, point[1]) for width in near if _FROM[0] <= width <= _TO[0]]

        best = top(*start)
        for width in look if self.widths else ():
            best = max(best, top(width, start[1]), key=self.score)
        return self._ascend(best, widths)

    def refine(self, point: Point) -> Point:
        """Return the best of the points beside each other from one that is not far from it.

        A climb finds the best precision of every width that it looks at. This one takes a step in
        either: a third of the points, where each has the price of many outputs.
        """

        def around(at: Point) -> list[Point]:
            beside = [(at[0] + i, at[1] + j) for i, j in ((1, 0), (-1, 0), (0, 1), (0, -1))]
            return [p for p in beside if _inside(p) and (self.widths or p[0] == at[0])]

        return self._ascend(point, around)

    def best_precision(self, point: Point) -> Point:
        """Return the best point of the same width, from this one."""

        def around(at: Point) -> list[Point]:
            return [(at[0], j) for j in (at[1] - 1, at[1] + 1) if _FROM[1] <= j <= _TO[1]]

        return self._ascend(point, around)

    def _ascend(self, point: Point, around: Callable[[Point], list[Point]]) -> Point:
        """Return the point around which none gains enough; the way up is not looked back on."""
        while True:
            enough = self.score(point) + self.least
            ahead = next((p for p in around(point) if self.score(p) > enough), None)
            if ahead is None:
                return point
            point = ahead

    def parabolic_refine(self, point: Point) -> tuple[float, float]:
        """Return the top between the best point and those beside it, that of a parabola each way.

        In quarters of a step: rounding in the scores does not move it.
        """

        def aside(before: Point, after: Point) -> float:
            if not (_inside(before) and _inside(after)):
                return 0.0
            left, right = (self.score(at) - self.score(point) for at in (before, after))
            top = 0.5 * (left - right) / min(left + right, -_FLAT)
            return round(4 * float(np.clip(top, -0.5, 0.5))) / 4

        i, j = point
        width = aside((i - 1, j), (i + 1, j)) if self.widths else 0.0
        return i + width, j + aside((i, j - 1), (i, j + 1))


@dataclass(frozen=True)
class Search(ScoreGrid):
    """The references of some rows under kernels of every width and for every precision.

    What was found is remembered.
    """

    coordinates: ReferenceFeatures
    widths: bool  # whether there is a width to be searched
    X: Any
    targets: Sequence[Array]
    weight: Array
    likelihood: Likelihood
    intercept: bool
    theta: Array  # weights of the features
    smooth: bool = False  # whether the prior is that of weights on all kernels
    coupled: bool = False  # whether the answers of several outputs are judged when put together
    begin: Sequence[Array] = ()  # a latent of each output to begin near
    leave_whole_rows: bool = False  # see Problem
    evidence_weights: bool = False  # whether weights of features are the most probable ones
    moments: bool = False  # whether labels are matched in their moments
    _problems: dict[int, list[Problem]] = field(default_factory=dict)
    _products: dict[int, Array | None] = field(default_factory=dict)
    _found: dict[Point, list[Found]] = field(default_factory=dict)

    def on(self, rows: Index) -> Self:
        """Return the search on some of the rows."""
        targets = [y[rows] for y in self.targets]
        begin = [f[rows] for f in self._latents()]
        part = {"X": self.X[rows], "targets": targets, "weight": self.weight[rows]}
        return self._anew(**part, begin=begin)

    def at_one_width(self) -> Self:
        """Return the search for a precision alone."""
        return self._anew(widths=False)

    def weighing(self, theta: Array) -> Self:
        """Return the search with other weights of the features."""
        return self._anew(theta=theta, begin=self._latents())

    def seeing(self, coordinates: ReferenceFeatures) -> Self:
        """Return the search with other kernels."""
        return self._anew(coordinates=coordinates, begin=self._latents())

    def smoothed(self) -> Self:
        """Return the search with the other prior."""
        return self._anew(smooth=True, begin=self._latents())

    def _latents(self) -> Sequence[Array]:
        """Return the latents that were found last: others are not far from them."""
        last = next(reversed(self._found.values()), None)
        return self.begin if last is None else [found.f for found in last]

    def _anew(self, **changes: Any) -> Self:
        return replace(self, **changes, _problems={}, _products={}, _found={})

    def found(self, point: Point) -> list[Found]:
        """Return what was found for each output at a point."""
        if point not in self._found:
            width = point[0]
            if width not in self._problems:
                design = DenseDesign(
                    self.coordinates.columns(self.X, self.weight, width, self.theta, self.smooth)
                )
                self._products[width] = row_products(design)
                weight, free, whole = self.weight, self.intercept, self.leave_whole_rows
                self._problems[width] = [
                    Problem(design, y, self.likelihood, Jeffreys(), weight, free, leave_whole_rows=whole)
                    for y in self.targets
                ]
            # The last one of the same width is a good start.
            near = [found for p, found in self._found.items() if p[0] == width][-1:]
            nothing: list[Any] = [None] * len(self.targets)
            starts, latents = near[0] if near else nothing, self._latents() or nothing
            fit = partial(fit_shared, products=self._products[width], moments=self.moments)
            self._found[point] = [
                Found.of(fit(problem, multiple(point), start, _NEAR, f))
                for problem, start, f in zip(self._problems[width], starts, latents, strict=True)
            ]
        return self._found[point]

    def everywhere(self, point: Point, rows: Index, n_rows: int) -> list[Array | None]:
        """Return the latent of each output at a point in the order of all rows, if these are all."""
        if rows.size < n_rows:
            return [None] * len(self.targets)
        back = np.argsort(rows)
        return [found.f[back] for found in self.found(point)]

    def together(self) -> Self:
        """Return the search by how well the answers of several outputs predict when put together."""
        return replace(self, coupled=len(self.targets) > 1)

    @property
    def least(self) -> float:
        """What a step has to gain: so many nats for each row and output."""
        return _GAIN * float(self.weight.sum()) * (1 if self.coupled else len(self.targets))

    def left_out(self, point: Point) -> Array:
        """Return the log probability of each row's targets, or class, as if it had not been seen."""
        found = self.found(point)
        if not self.coupled:
            return np.asarray(np.sum([answer.left_out for answer in found], axis=0))
        codes = np.stack(self.targets).argmax(axis=0)
        yes, no = answers(found[0].likelihood, [answer.left for answer in found])
        classes = couple(yes, no, fit_coupling(yes, no, codes, self.weight))
        return log_proba_of(codes, classes)

    def score(self, point: Point) -> float:
        """Return how well rows are predicted at a point, in nats.

        To those with which rows left out are predicted come those of the evidence, in which the rows are
        predicted one after the other: either alone errs more often, the first where rows are few, the
        second, which counts for less, because Laplace's approximation is too timid. The evidence knows
        nothing of how several answers are put together, which mends just that: then rows left out have
        the say.
        """
        evidence = 0.0 if self.coupled else sum(found.evidence for found in self.found(point))
        return _EVIDENCE * evidence + float(self.weight @ self.left_out(point))

    def gradient_energy(self, point: Point) -> Array:
        """Return the mean squared slope of the latents along each feature."""
        kernel_map: Any = self.coordinates.on(self.X, self.weight, point[0], self.theta, self.smooth)
        squares = np.zeros(self.X.shape[1])
        for found in self.found(point):
            slopes = kernel_map.kernel.slopes(self.X, kernel_map.rows, kernel_map.weights(found.w))
            squares += self.weight @ slopes**2
        return squares


@dataclass(frozen=True)
class CrossFit(ScoreGrid):
    """Two halves of the rows, each under the weights of features that the other one asks for."""

    halves: Sequence[Search]
    widths: bool

    @property
    def least(self) -> float:
        """What a step has to gain."""
        return sum(half.least for half in self.halves)

    def score(self, point: Point) -> float:
        """Return how well rows are predicted whose weights of features were not their own choice."""
        return sum(half.score(point) for half in self.halves)


def _inside(point: Point) -> bool:
    """Whether a point is where it is searched."""
    return all(low <= at <= high for low, at, high in zip(_FROM, point, _TO, strict=True))


def smoother(search: Search, point: Point) -> tuple[Search, Point]:
    """Return the search with the smooth prior and its best point if they are clearly better."""
    other, clear = search.smoothed(), CLEAR * len(search.targets)
    # The kernels of the same latent are narrower then, and their weights larger.
    near = other.best_precision((min(point[0] + 1, _TO[0]), max(point[1] - 1, _FROM[1])))
    if other.score(near) < search.score(point) - CLEAR:
        return search, point
    best = other.coordinate_ascent(near)
    return (other, best) if other.score(best) > search.score(point) + clear else (search, point)
