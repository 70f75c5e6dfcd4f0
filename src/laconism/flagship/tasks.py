"""What differs between projections of labels and of values, as two tasks that are passed in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._protocols import Array
from ..judging.ablate import is_on
from ..judging.calibrate import fit_coupling, fit_scale_and_shift
from ..likelihoods import Binary
from ..model.multiclass import answers, couple, log_proba_of
from ..model.tasks import NOISES, FitData
from ..posterior import GaussianPosterior
from ..solvers import Problem
from .reference_features import KernelMap
from .rules import NOISE_FLOOR_FRACTION

if TYPE_CHECKING:
    from .reference import Latent, Reference

# Every noise of a reference has that floor; "auto" starts with the Gaussian.
REFERENCE_NOISES = {name: partial(kind, floor=NOISE_FLOOR_FRACTION) for name, kind in NOISES.items()}
REFERENCE_NOISES["auto"] = REFERENCE_NOISES["gaussian"]

# Step of the central difference that gives the slope of a moderated latent.
_MODERATION_STEP = 1e-4
# The least residual degrees of freedom of a projection, as a fraction of the rows.
MIN_FREE_FRACTION = 0.1


@dataclass(frozen=True)
class LabelProjection:
    """Labels of two classes on one latent, or of more, one against the rest."""

    n_outputs: int

    @property
    def n_calibrated(self) -> int:
        """The number of parameters that calibrate left-out rows: scale and shift, or the coupling."""
        return 2 if self.n_outputs == 1 else 1

    def calibrate(self, reference: Reference, problem: Problem) -> Reference:
        """Return the reference with the mean scale (and shift) that fit left-out rows best."""
        if self.n_outputs > 1 or not is_on("calibrate"):  # one coupling calibrates several classes
            return reference
        scale, shift = fit_scale_and_shift(
            problem.y,
            reference.left_out_m,
            reference.left_out_v,
            problem.weight,
            reference.likelihood,
            reference.posterior.intercept,
            free_intercept=problem.intercept,
        )
        return reference.with_mean_scale(scale, shift)

    def couple(self, references: Sequence[Reference], targets: Sequence[Array], weight: Array) -> float:
        """Return the coupling of several classes that fits left-out rows best."""
        if len(references) == 1:
            return 0.0
        codes = np.stack(targets).argmax(axis=0)
        return fit_coupling(*_left_out_answers(references), codes, weight)

    def left_out_log_density(
        self, references: Sequence[Reference], targets: Sequence[Array], coupling: float
    ) -> Array:
        """Return the log probability of each row's class, predicted without the row."""
        if len(references) == 1:
            return references[0].left_out_log_density(targets[0])
        classes = couple(*_left_out_answers(references), coupling)
        return log_proba_of(np.stack(targets).argmax(axis=0), classes)

    def row_precision(self, reference: Reference, share: Array) -> Array:
        """Return the information of a label about the mean of the latent, its variance integrated out.

        If features outnumber rows, the latent at the training rows is nearly certain, so the left-out
        latent is used.
        """
        binary: Any = reference.likelihood
        m = reference.left_out_m if reference.underdetermined else reference.m
        v = reference.predictive_variance
        t = binary.moderate(m, v)
        ahead, behind = (binary.moderate(m + h, v) for h in (_MODERATION_STEP, -_MODERATION_STEP))
        information = sum(
            np.exp(binary.log_link(y * t)) * binary.evaluate(np.full_like(t, y), t)[1] ** 2
            for y in (-1.0, 1.0)
        )
        return np.asarray(information * ((ahead - behind) / (2 * _MODERATION_STEP)) ** 2)

    def loss(
        self, references: Sequence[Reference], share: Array, coupling: float
    ) -> Callable[[list[Latent]], Array]:
        """Return a function of latents: the divergence from the references' probabilities, per row."""

        def log_proba(latents: list[Latent]) -> Array:
            yes, no = answers(references[0].likelihood, latents)
            if len(latents) == 1:  # of two classes, or of a class and the rest
                return np.column_stack([no, yes])
            return couple(yes, no, coupling)

        log_p = log_proba([(reference.m, reference.predictive_variance) for reference in references])
        p = np.exp(log_p)
        return lambda latents: np.asarray((p * (log_p - log_proba(latents))).sum(axis=1))

    def add_projection_error(
        self, reference: Reference, share: Array, posterior: GaussianPosterior, m: Array
    ) -> GaussianPosterior:
        """Return the projected posterior unchanged: the divergence includes its error."""
        return posterior

    def excess_variance(self, reference: Reference, y: Array, m: Array, share: Array) -> float:
        """Return zero: labels have no variance beyond that of their latent."""
        return 0.0


@dataclass(frozen=True)
class ValueProjection:
    """Values with noise, on one latent."""

    n_calibrated = 1  # the noise, which was fitted to all rows

    def calibrate(self, reference: Reference, problem: Problem) -> Reference:
        """Return the reference with the noise that fits left-out rows best.

        Gaussian noise is calibrated by the evidence. The residuals of Student's noise are too small.
        """
        calibrated = getattr(reference.likelihood, "calibrated", None)
        if calibrated is None:
            return reference
        noise = calibrated(problem.y, reference.left_out_m, reference.left_out_v, problem.weight)
        return replace(reference, likelihood=noise)

    def couple(self, references: Sequence[Reference], targets: Sequence[Array], weight: Array) -> float:
        """Return zero: there is one output."""
        return 0.0

    def left_out_log_density(
        self, references: Sequence[Reference], targets: Sequence[Array], coupling: float
    ) -> Array:
        """Return the log density of each row's value, predicted without the row."""
        return references[0].left_out_log_density(targets[0])

    def row_precision(self, reference: Reference, share: Array) -> Array:
        """Return one over the mean predictive variance, the same for all rows."""
        noise: Any = reference.likelihood
        variance = float(1 / noise.information + share @ reference.predictive_variance)
        return np.full_like(reference.m, 1 / variance)

    def loss(
        self, references: Sequence[Reference], share: Array, coupling: float
    ) -> Callable[[list[Latent]], Array]:
        """Return a function of latents: squared errors of means over twice the variance, per row.

        The variance is that of the target of a row that has not been seen.
        """
        noise: Any = references[0].likelihood
        half = 0.5 / (1 / noise.information + references[0].left_out_v)
        m = references[0].m
        return lambda latents: half * (latents[0][0] - m) ** 2

    def add_projection_error(
        self, reference: Reference, share: Array, posterior: GaussianPosterior, m: Array
    ) -> GaussianPosterior:
        """Return the posterior with the squared error of its mean added to its variance."""
        if not is_on("projection_error"):
            return posterior
        error = float(share @ (m - reference.m) ** 2)
        if isinstance(reference.feature_map, KernelMap):
            # k weights were fitted to the mean at these rows, so the error at new rows is larger (as in
            # generalised cross-validation). For many features ShrinkagePenalty accounts for new rows.
            free = max(1 - (posterior.mean.size + 1) / share.size, MIN_FREE_FRACTION)
            error /= free**2
        return replace(posterior, spread=posterior.spread + error)

    def excess_variance(self, reference: Reference, y: Array, m: Array, share: Array) -> float:
        """Return the excess of the squared cross-validated errors over their expectation."""
        noise: Any = reference.likelihood
        return max(float(share @ ((y - m) ** 2 - reference.left_out_v)) - float(noise.variance), 0.0)


ProjectionTask: TypeAlias = LabelProjection | ValueProjection


def projection_task(data: FitData) -> ProjectionTask:
    """Return the task of data with labels, or with values."""
    if isinstance(data.likelihood, Binary):
        return LabelProjection(len(data.targets))
    return ValueProjection()


def _left_out_answers(references: Sequence[Reference]) -> tuple[Array, Array]:
    """Return the log probabilities of each class and of the rest, predicted without each row."""
    latents = [(reference.left_out_m, reference.left_out_v) for reference in references]
    return answers(references[0].likelihood, latents)
