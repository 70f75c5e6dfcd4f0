"""Newton's method on the kept columns: each step needs one pass over the partitions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..judging.price import extended_bic, prior_price
from ..likelihoods import Gaussian
from ..linalg import LEAST_REMAINDER, dissimilar, solve_semidefinite
from ..solvers.moments import Moments
from .sums import Columns, Point, moments_of_part, slopes_of_part

if TYPE_CHECKING:
    from .._protocols import Array, Index
    from ..likelihoods import Likelihood
    from ..linalg import Triangle
    from ..priors import Prior
    from ..solvers import Problem
    from .describe import Encoding
    from .parts import Partitions

# Columns that join a model after one check; as many as it has if that is more.
_MIN_COLUMNS_ADDED = 32
# The quadratic that touches the log-likelihood of labels has this noise.
_UNIT_NOISE = Gaussian(1.0, estimate=False)


@dataclass(frozen=True)
class Setting:
    """What all passes of a fit share."""

    partitions: Partitions
    encoding: Encoding
    columns: Columns  # all candidates
    total: float  # sum of the weights of all rows
    intercept: bool
    kernels: bool
    tol: float  # nats per observation
    ascends: bool = True  # whether the steps raise the penalised likelihood, and not the evidence
    # L, if the weights of all columns are those of L^-1 times the columns, which need not be computed.
    root: Triangle | None = None

    def raw(self, w: Array) -> Array:
        """Return the weights of the columns themselves."""
        return w if self.root is None else self.root.solve_transposed(w)

    def rotated(self, matrix: Array) -> Array:
        """Return the sums of the rotated columns, given those of the columns."""
        if self.root is None:
            return matrix
        half = matrix.copy()
        half[1:-1] = self.root.solve(half[1:-1])
        half[:, 1:-1] = self.root.solve(np.ascontiguousarray(half[:, 1:-1].T)).T
        return half


A = TypeVar("A")


@dataclass(frozen=True)
class Weighed(Generic[A]):
    """The solution of one output: its columns among all candidates, and the last problem."""

    point: Point
    problem: Problem
    answer: A  # what the step returned


# Solves the problem of one output from a point: columns among those of the point, weights, intercept.
Step: TypeAlias = "Callable[[Problem, Point], tuple[Index, Array, float, A]]"


def weigh(
    setting: Setting,
    points: Sequence[Point],
    priors: Sequence[Prior],
    steps: Sequence[Step[A]],
    max_passes: int = 30,
) -> list[Weighed[A]]:
    """Return the solution of every output; all of them share each pass.

    A step solves the quadratic that touches the log-likelihood at the last point, under the prior. For
    values the quadratic is the log-likelihood, and one pass is enough. For labels a step whose objective
    is lower is halved; it ends when a step promises less than ``tol``.
    """
    found: dict[int, Weighed[A]] = {}
    ahead = dict(enumerate(points))
    reached: dict[int, tuple[Point, float]] = {}
    for _ in range(max_passes):
        for k, (fit, matrix) in zip(ahead, _moments(setting, list(ahead.values())), strict=True):
            point, prior = ahead[k], priors[k]
            objective = fit - _penalty(prior, point.w) if setting.ascends else fit
            if k in reached and _fell(setting, reached[k], point, objective):
                ahead[k] = _halfway(reached[k][0], point)
                found[k] = replace(found[k], point=ahead[k])
                continue
            setting.partitions.annotate(objective, point.index.size, point.output)
            reached[k] = (point, objective)
            problem = _problem(setting, matrix, point, prior)
            index, w, b, answer = steps[k](problem, point)
            new = replace(point, index=point.index[index], w=w, b=b)
            found[k] = Weighed(new, problem, answer)
            ahead[k] = new
        ahead = {k: point for k, point in ahead.items() if not _done(setting, reached[k][0], found[k])}
        if not ahead:
            break
    else:
        sentence = f"Newton's method did not converge within {max_passes} passes; raise tol."
        warnings.warn(sentence, ConvergenceWarning, stacklevel=2)
    return [found[k] for k in range(len(points))]


def _moments(setting: Setting, points: Sequence[Point]) -> list[tuple[float, Array]]:
    """Return log-likelihood and sums of every point."""
    union = np.unique(np.concatenate([point.index for point in points]))
    local = [
        replace(point, index=np.searchsorted(union, point.index), w=setting.raw(point.w))
        for point in points
    ]
    columns = setting.columns.keep(union)
    sums = setting.partitions.total("newton", moments_of_part, setting.encoding, columns, local)
    return [(float(fit), setting.rotated(matrix)) for fit, matrix in sums]


def _problem(setting: Setting, matrix: Array, point: Point, prior: Prior) -> Problem:
    """Return the problem of few rows that is equivalent to the quadratic at a point."""
    likelihood: Likelihood = point.likelihood
    if point.labels:
        inner, pull = matrix[:-1, :-1], matrix[:-1, -1]
        # The constant of the quadratic has no effect; with this one the matrix is positive definite.
        matrix[-1, -1] = pull @ solve_semidefinite(inner, pull[:, None])[:, 0] + matrix[0, 0]
        likelihood = _UNIT_NOISE
    intercept, kernels = setting.intercept, setting.kernels
    return Moments(matrix).problem(likelihood, prior, intercept=intercept, kernels=kernels)


def _penalty(prior: Prior, w: Array) -> float:
    return float(np.sum(prior.penalty(w[w != 0] ** 2)))


def _fell(setting: Setting, reached: tuple[Point, float], point: Point, objective: float) -> bool:
    """Whether a step has lowered the objective, beyond rounding.

    The evidence is not known, but a step towards its maximum does not cost a nat a column in likelihood.
    """
    last, before = reached
    if not setting.ascends:
        return objective < before - max(point.index.size, last.index.size, 1)
    return np.array_equal(last.index, point.index) and objective < before - 1e-12 * abs(before)


def _halfway(last: Point, point: Point) -> Point:
    """Return the point between two, on the columns of both."""
    index = np.union1d(last.index, point.index)
    w = np.zeros(index.size)
    for each in (last, point):
        w[np.searchsorted(index, each.index)] += each.w / 2
    return replace(point, index=index, w=w, b=(last.b + point.b) / 2)


def _done(setting: Setting, last: Point, found: Weighed[Any]) -> bool:
    """Whether the last step was too short for another pass: its square, in nats."""
    point, problem = found.point, found.problem
    if not point.labels:
        return True
    if not np.array_equal(last.index, point.index):
        return False
    moved = problem.design.matvec(point.w - last.w) + (point.b - last.b)
    return bool(0.5 * float(problem.weight @ moved**2) <= setting.tol * setting.total)


@dataclass(frozen=True)
class Gains:
    """What each candidate column would gain over all rows, its own weight and the others adapting."""

    slope: Array  # of the log-likelihood, along each candidate
    curvature: Array  # along each candidate, kept columns and intercept adapting

    @property
    def nats(self) -> Array:
        """The gain of each candidate without a prior."""
        return np.asarray(self.slope**2 / (2 * self.curvature))


def candidate_gains(
    setting: Setting, points: Sequence[Point], precisions: Sequence[Array] | None = None
) -> list[Gains]:
    """Return the gains of all candidates for each output, by one pass over the partitions.

    ``precisions`` are those of the Gaussian priors of the kept weights, if they have one.
    """
    union = np.unique(np.concatenate([point.index for point in points]))
    local = [replace(point, index=np.searchsorted(union, point.index)) for point in points]
    arguments = (setting.encoding, setting.columns.keep(union), local, setting.columns)
    found = []
    for k, sums in enumerate(setting.partitions.total("check", slopes_of_part, *arguments)):
        slope, cross, square, inner = sums
        first = 0 if setting.intercept else 1
        inner, cross = inner[first:, first:], cross[first:]
        if precisions is not None:
            inner = inner + np.diag(np.append(np.zeros(1 - first), precisions[k]))
        explained = np.sum(cross * solve_semidefinite(inner, cross), axis=0)
        curvature = np.maximum(square - explained, LEAST_REMAINDER * square)
        found.append(Gains(slope, np.maximum(curvature, np.finfo(float).tiny)))
    return found


def missing_columns(
    setting: Setting, point: Point, prior: Prior, gains: Gains, sample: Any, tol: float = 1e-6
) -> Index:
    """Return the candidates that should be in a model.

    Under the Laplace prior these violate its optimality conditions. Under a prior that absorbs zeros
    they are worth more than their price: that of the prior and, of features, of the extended BIC.
    """
    if np.isfinite(prior.kink):
        score = np.maximum(np.abs(gains.slope) - prior.kink * (1 + tol), 0.0)
    else:
        price = prior_price(prior)
        if not setting.kernels:
            price = max(price, extended_bic(setting.total, setting.columns.size))
        score = np.maximum(gains.nats - price, 0.0)
    score[point.index] = 0.0
    return pick_dissimilar(setting, point, score, sample)


def pick_dissimilar(
    setting: Setting, point: Point, score: Array, sample: Any, max_rows: int = 2_000
) -> Index:
    """Return the candidates of largest score, none of them similar to another one on the sample."""
    Z = setting.columns.at(sample[:max_rows])
    Z = Z - Z.mean(axis=0)
    Z = Z / np.maximum(np.sqrt((Z**2).sum(axis=0)), np.finfo(float).tiny)
    most = max(_MIN_COLUMNS_ADDED, point.index.size)
    return dissimilar(score, lambda k: np.abs(Z[:, k] @ Z), most, max_cosine=0.95)
