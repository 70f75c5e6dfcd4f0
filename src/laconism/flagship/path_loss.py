"""The loss of the models on a path, and the matching of their variances to those of the references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from .._protocols import Array, Index
from ..judging.ablate import is_on
from ..posterior import GaussianPosterior
from .tasks import ProjectionTask
from .wide_projection import LossWeights

if TYPE_CHECKING:
    from .reference import Latent, Reference


@dataclass(frozen=True)
class PathLoss:
    """The loss of replacing references by projections, at some of the training rows."""

    task: ProjectionTask
    references: list[Reference]  # at these rows
    rows: Index
    share: Array
    total: float  # weight of all training rows
    weights: LossWeights
    lost_by: Callable[[list[Latent]], Array]

    @classmethod
    def of(
        cls,
        task: ProjectionTask,
        references: Sequence[Reference],
        rows: Index,
        weight: Array,
        weights: LossWeights,
        coupling: float,
    ) -> Self:
        """Return the loss at some rows; ``weight`` has the weights of all."""
        there = [reference.at_rows(rows) for reference in references]
        share = weight[rows] / weight[rows].sum()
        lost_by = task.loss(there, share, coupling)
        return cls(task, there, rows, share, float(weight.sum()), weights, lost_by)

    def match(
        self,
        index: Index,
        projected: Sequence[GaussianPosterior],
        Phi: Array,
        left_out: Array | None = None,
    ) -> tuple[list[GaussianPosterior], float]:
        """Return projected posteriors with matched variances, and their loss.

        ``Phi`` has the values of the columns ``index`` at the rows. The loss is that of the errors
        ``left_out`` of each output's mean, if they are given.
        """
        posteriors, latents = [], []
        precisions = self.weights.precisions
        for k, (reference, posterior) in enumerate(zip(self.references, projected, strict=True)):
            m, v = posterior.latent(Phi)
            if is_on("target_variance"):
                target = reference.target_variance(self.share)
                posterior, v = posterior.as_wide_as(target, v, precisions[k][self.rows])
            posteriors.append(self.task.add_projection_error(reference, self.share, posterior, m))
            latents.append((m if left_out is None else reference.m + left_out[k], v))
        lost = (1 - self.weights.part) * float(self.share @ self.lost_by(latents))
        if self.weights.penalty is not None:
            lost += self.weights.penalty.loss(index, posteriors[0].mean) / self.total
        return posteriors, max(lost, 0.0)
