"""The search over width and precision: references on some rows at every point of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from .._protocols import Array
from ..design import DenseDesign
from ..judging.ablate import is_on
from ..judging.left_out import leave_one_out
from ..laplace.shared_precision import fit_shared, row_products
from ..likelihoods import Likelihood
from ..solvers import Problem
from .score_grid import GridPoint, ScoreGrid, precision_at

if TYPE_CHECKING:
    from .kernel_family import ReferenceFeatures
    from .rows import TrainingRows

# The least gain of a step, so that a flat score is not followed to the edge of the grid.
_MIN_GAIN_NATS_PER_ROW = 1e-4
# The weight of the evidence in the score, beside the left-out log density.
_EVIDENCE_WEIGHT = 0.5
# Accuracy of modes that are only compared.
MODE_TOLERANCE_NATS = 1e-3


class FittedMode(NamedTuple):
    """The part of a mode that the search keeps."""

    w: Array
    b: float
    f: Array
    likelihood: Likelihood
    left_out: tuple[Array, Array]  # mean and variance of each row's latent, predicted without the row
    score: float


class Choice(NamedTuple):
    """The hyper-parameters of a reference, as a search leaves them."""

    features: ReferenceFeatures
    width: float  # a power of two
    theta: Array  # feature weights
    relative_precision: float  # in the units of fit_shared
    latents: Sequence[Array | None]  # of the searched rows, from which the fit of each output starts


@dataclass(frozen=True)
class HyperparameterSearch(ScoreGrid):
    """The references on some rows for every kernel width and precision.

    Fits are cached by grid point.
    """

    features: ReferenceFeatures
    rows: TrainingRows
    theta: Array  # feature weights
    start: Sequence[Array | None]  # latent of each output from which the first fit starts
    _problems: dict[int, list[Problem]] = field(default_factory=dict)
    _products: dict[int, Array | None] = field(default_factory=dict)
    _fitted: dict[GridPoint, list[FittedMode]] = field(default_factory=dict)

    @classmethod
    def of(cls, features: ReferenceFeatures, rows: TrainingRows) -> Self:
        """Return the search with equal feature weights."""
        return cls(features, rows, np.ones(rows.X.shape[1]), [None] * len(rows.targets))

    def with_feature_weights(self, theta: Array) -> Self:
        """Return the search with other feature weights, which starts at the last latents."""
        return self._anew(theta=theta)

    def with_likelihood(self, likelihood: Likelihood) -> Self:
        """Return the search under another distribution of the targets, from the last latents."""
        return self._anew(rows=replace(self.rows, likelihood=likelihood))

    def _anew(self, **changes: Any) -> Self:
        return replace(
            self, **changes, start=self._last_latents(), _problems={}, _products={}, _fitted={}
        )

    @property
    def widths(self) -> bool:
        """Whether the width is searched."""
        family = self.features.family
        return family is not None and family.gamma is None

    @property
    def min_gain(self) -> float:
        """The gain below which a step is not taken."""
        return _MIN_GAIN_NATS_PER_ROW * float(self.rows.weight.sum()) * len(self.rows.targets)

    def score(self, point: GridPoint) -> float:
        """Return the leave-one-out log density plus half the evidence, in nats, of all outputs.

        Either alone errs more often: the first if rows are few, the second because Laplace's
        approximation shrinks the latent.
        """
        return sum(mode.score for mode in self.modes(point))

    def choice(self, point: GridPoint) -> Choice:
        """Return the hyper-parameters near the best point, between the points of the grid."""
        at = self.parabolic_refine(point) if is_on("parabola") else point
        latents = [mode.f for mode in self.modes(point)]
        return Choice(self.features, at[0], self.theta, precision_at(at), latents)

    def _last_latents(self) -> Sequence[Array | None]:
        """Return the latents of the last fit, a good start of the next."""
        last = next(reversed(self._fitted.values()), None)
        return self.start if last is None else [mode.f for mode in last]

    def modes(self, point: GridPoint) -> list[FittedMode]:
        """Return the mode of each output at a point."""
        if point not in self._fitted:
            width = point[0]
            problems = self._problems_at(width)
            # The last mode of the same width is a good start.
            near = [modes for p, modes in self._fitted.items() if p[0] == width][-1:]
            starts: Sequence[Any] = near[0] if near else [None] * len(problems)
            self._fitted[point] = [
                self._mode(problem, width, precision_at(point), start, latent)
                for problem, start, latent in zip(problems, starts, self._last_latents(), strict=True)
            ]
        return self._fitted[point]

    def _mode(
        self, problem: Problem, width: int, precision: float, near: Any, latent: Array | None
    ) -> FittedMode:
        fit = partial(fit_shared, products=self._products[width], moments=self.features.moments)
        mode = fit(problem, precision, near, MODE_TOLERANCE_NATS, latent)
        left_out = leave_one_out(mode)
        evidence = _EVIDENCE_WEIGHT * mode.objective if is_on("half_evidence") else 0.0
        density = mode.likelihood.predictive(problem.y, *left_out)
        score = evidence + float(problem.weight @ density)
        return FittedMode(mode.w, mode.b, mode.f, mode.likelihood, left_out, score)

    @cached_property
    def _coordinates(self) -> tuple[ReferenceFeatures, Any, Array]:
        """Features, rows and feature weights; with equal weights in fewer coordinates where possible."""
        family, X = self.features.family, self.rows.X
        rotated = None
        if family is not None and (self.theta == 1).all():
            rotated = family.rotated(X, self.rows.weight)
        if rotated is None:
            return self.features, X, self.theta
        family, X = rotated
        return replace(self.features, family=family), X, np.ones(X.shape[1])

    def _problems_at(self, width: int) -> list[Problem]:
        if width not in self._problems:
            features, X, theta = self._coordinates
            design = DenseDesign(features.columns(X, self.rows.weight, width, theta))
            self._products[width] = row_products(design, intercept=self.rows.intercept)
            self._problems[width] = self.rows.problems(design)
        return self._problems[width]

    def gradient_energy(self, point: GridPoint) -> Array:
        """Return the sum over rows of the squared slope of the latents along each feature."""
        X, weight = self.rows.X, self.rows.weight
        kernel_map: Any = self.features.map_on(X, weight, point[0], self.theta)
        squares = np.zeros(X.shape[1])
        for mode in self.modes(point):
            slopes = kernel_map.kernel.slopes(X, kernel_map.rows, kernel_map.weights(mode.w))
            squares += weight @ slopes**2
        return squares
