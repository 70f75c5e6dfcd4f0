"""The search over hyper-parameters: references on some rows at every width and precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from .._protocols import Array, Index, Likelihood
from ..design import DenseDesign
from ..judging.calibrate import fit_coupling
from ..judging.left_out import leave_one_out
from ..judging.rows import canonical_order, evenly_spaced
from ..laplace.shared_precision import fit_shared, row_products
from ..model.multiclass import answers, couple, log_proba_of
from ..priors import Jeffreys
from ..solvers import Problem
from .score_grid import GridPoint, ScoreGrid, precision_at

# More rows than this hardly change the best hyper-parameters.
_MAX_SEARCH_ROWS = 600
# With more outputs than this, each search uses fewer rows.
_MAX_OUTPUTS_AT_FULL_ROWS = 3
# The end of the search uses this many times as many rows, ...
_REFINEMENT_ROW_FACTOR = 4
# ... if there are at least this many times as many.
_MIN_REFINEMENT_ROW_FACTOR = 2
# The least gain of a step, so that a flat score is not followed to the edge of the grid.
_MIN_GAIN_NATS_PER_ROW = 1e-4
# The weight of the evidence in the score, beside the left-out log density.
_EVIDENCE_WEIGHT = 0.5
# Accuracy of modes that are only compared.
_MODE_TOLERANCE_NATS = 1e-3


class FittedMode(NamedTuple):
    """The part of a mode that the search keeps: weights, latent, evidence and left-out predictions."""

    w: Array
    b: float
    f: Array
    evidence: float
    likelihood: Likelihood
    left_out_latent: tuple[Array, Array]  # mean and variance of each row, predicted without that row
    left_out: Array  # the log probability of its target

    @classmethod
    def of(cls, mode: Any) -> Self:
        """Return the part of a mode that the search keeps."""
        latent = leave_one_out(mode)
        left_out = mode.likelihood.predictive(mode.problem.y, *latent)
        return cls(mode.w, mode.b, mode.f, mode.objective, mode.likelihood, latent, left_out)


@dataclass(frozen=True)
class HyperparameterSearch(ScoreGrid):
    """The references on some rows for every kernel width and precision.

    Fits are cached by grid point.
    """

    features: Any  # ReferenceFeatures
    widths: bool  # whether the width is searched
    X: Any
    targets: Sequence[Array]
    weight: Array
    likelihood: Likelihood
    intercept: bool
    theta: Array  # feature weights
    weight_space_prior: bool = False  # whether the prior is that of weights on all kernels
    coupled: bool = False  # whether the score is that of the coupled probabilities of several outputs
    start: Sequence[Array] = ()  # latent of each output from which the first fit starts
    leave_whole_rows: bool = False  # see Problem
    evidence_weights: bool = False  # whether feature weights maximise the evidence
    moments: bool = False  # whether labels are fitted by moment matching
    _problems: dict[int, list[Problem]] = field(default_factory=dict)
    _products: dict[int, Array | None] = field(default_factory=dict)
    _fitted: dict[GridPoint, list[FittedMode]] = field(default_factory=dict)

    def on_rows(self, rows: Index) -> Self:
        """Return the search on some of the rows."""
        return self._changed(
            X=self.X[rows],
            targets=[y[rows] for y in self.targets],
            weight=self.weight[rows],
            start=[f[rows] for f in self._last_latents()],
        )

    def at_fixed_width(self) -> Self:
        """Return the search over the precision alone."""
        return self._changed(widths=False)

    def with_feature_weights(self, theta: Array) -> Self:
        """Return the search with other feature weights."""
        return self._changed(theta=theta, start=self._last_latents())

    def with_kernels_of(self, features: Any) -> Self:
        """Return the search with another kernel family."""
        return self._changed(features=features, start=self._last_latents())

    def with_weight_space_prior(self) -> Self:
        """Return the search with the prior of weights on all kernels."""
        return self._changed(weight_space_prior=True, start=self._last_latents())

    def with_coupling(self) -> Self:
        """Return the search by the coupled probabilities of the outputs, if there are several."""
        return replace(self, coupled=len(self.targets) > 1)

    def _last_latents(self) -> Sequence[Array]:
        """Return the latents of the last fit, a good start of the next."""
        last = next(reversed(self._fitted.values()), None)
        return self.start if last is None else [mode.f for mode in last]

    def _changed(self, **changes: Any) -> Self:
        return replace(self, **changes, _problems={}, _products={}, _fitted={})

    def modes(self, point: GridPoint) -> list[FittedMode]:
        """Return the mode of each output at a point."""
        if point not in self._fitted:
            width = point[0]
            problems = self._problems_at(width)
            # The last mode of the same width is a good start.
            near = [modes for p, modes in self._fitted.items() if p[0] == width][-1:]
            unknown: list[Any] = [None] * len(self.targets)
            starts, latents = near[0] if near else unknown, self._last_latents() or unknown
            fit = partial(fit_shared, products=self._products[width], moments=self.moments)
            self._fitted[point] = [
                FittedMode.of(fit(problem, precision_at(point), start, _MODE_TOLERANCE_NATS, f))
                for problem, start, f in zip(problems, starts, latents, strict=True)
            ]
        return self._fitted[point]

    def _problems_at(self, width: int) -> list[Problem]:
        if width not in self._problems:
            design = DenseDesign(
                self.features.columns(self.X, self.weight, width, self.theta, self.weight_space_prior)
            )
            self._products[width] = row_products(design)
            weight, free, whole = self.weight, self.intercept, self.leave_whole_rows
            self._problems[width] = [
                Problem(design, y, self.likelihood, Jeffreys(), weight, free, leave_whole_rows=whole)
                for y in self.targets
            ]
        return self._problems[width]

    def latents_in_order(self, point: GridPoint, rows: Index, n_rows: int) -> list[Array | None]:
        """Return the latent of each output in the order of all rows, if the search is on all of them."""
        if rows.size < n_rows:
            return [None] * len(self.targets)
        back = np.argsort(rows)
        return [mode.f[back] for mode in self.modes(point)]

    @property
    def min_gain(self) -> float:
        """The gain below which a step is not taken."""
        n_scores = 1 if self.coupled else len(self.targets)
        return _MIN_GAIN_NATS_PER_ROW * float(self.weight.sum()) * n_scores

    def left_out_log_density(self, point: GridPoint) -> Array:
        """Return the log probability of each row's targets, or class, predicted without the row."""
        modes = self.modes(point)
        if not self.coupled:
            return np.asarray(np.sum([mode.left_out for mode in modes], axis=0))
        codes = np.stack(self.targets).argmax(axis=0)
        yes, no = answers(modes[0].likelihood, [mode.left_out_latent for mode in modes])
        classes = couple(yes, no, fit_coupling(yes, no, codes, self.weight))
        return log_proba_of(codes, classes)

    def score(self, point: GridPoint) -> float:
        """Return the left-out log density plus half the evidence, in nats.

        Either alone errs more often: the first if rows are few, the second because Laplace's
        approximation shrinks the latent. There is no evidence of coupled probabilities.
        """
        evidence = 0.0 if self.coupled else sum(mode.evidence for mode in self.modes(point))
        return _EVIDENCE_WEIGHT * evidence + float(self.weight @ self.left_out_log_density(point))

    def gradient_energy(self, point: GridPoint) -> Array:
        """Return the sum over rows of the squared slope of the latents along each feature."""
        kernel_map: Any = self.features.map_on(
            self.X, self.weight, point[0], self.theta, self.weight_space_prior
        )
        squares = np.zeros(self.X.shape[1])
        for mode in self.modes(point):
            slopes = kernel_map.kernel.slopes(self.X, kernel_map.rows, kernel_map.weights(mode.w))
            squares += self.weight @ slopes**2
        return squares


@dataclass(frozen=True)
class CrossFit(ScoreGrid):
    """Two halves of the rows, each under the feature weights learnt on the other half."""

    halves: Sequence[HyperparameterSearch]
    widths: bool

    @property
    def min_gain(self) -> float:
        """The gain below which a step is not taken."""
        return sum(half.min_gain for half in self.halves)

    def score(self, point: GridPoint) -> float:
        """Return the score of the rows under feature weights that were learnt without them."""
        return sum(half.score(point) for half in self.halves)


def search_rows(X: Any, n_outputs: int) -> tuple[Index, Index]:
    """Return the rows to search on and those to refine on; they do not depend on the order of rows."""
    enough = _MAX_SEARCH_ROWS * min(1.0, _MAX_OUTPUTS_AT_FULL_ROWS / n_outputs) ** (1 / 3)
    order = canonical_order(X)
    few = evenly_spaced(order, round(enough))
    if X.shape[0] < _MIN_REFINEMENT_ROW_FACTOR * few.size:
        return few, few
    return few, evenly_spaced(order, round(_REFINEMENT_ROW_FACTOR * enough))
