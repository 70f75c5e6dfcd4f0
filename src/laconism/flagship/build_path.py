"""The paths of a fitted candidate: columns, projected posteriors and loss of every size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed

from .._protocols import Array, Index
from ..judging.ablate import is_on
from ..posterior import GaussianPosterior
from .kernel_projection import PriorPenalty, choose_kernels, prior_penalties
from .path import Path, evaluation_rows, path_sizes
from .prior_variance import with_prior_variance
from .projection import Projection, choose_columns
from .tasks import ProjectionTask
from .wide import FEW_COLUMNS, feature_sizes
from .wide_projection import LossWeights, WideProjection

if TYPE_CHECKING:
    from ..solvers import Problem
    from .candidate import FittedCandidate
    from .projection import Penalty
    from .reference import Reference
    from .references import FittedReferences

# No column is added once the loss is below this fraction of the tolerance.
_STOP_TOLERANCE_FRACTION = 0.1
# This many columns are added in any case: one may fit the mean, but not yet the variance.
_MIN_FORWARD_COLUMNS = 10

# Matches the variances of projected posteriors on some columns to those of the references, given the
# values of the columns at the evaluation rows, and returns the posteriors and their loss.
Evaluate: TypeAlias = Callable[
    [Index, list[GaussianPosterior], Array], tuple[list[GaussianPosterior], float]
]


def build_paths(
    winner: FittedCandidate,
    coupling: float,
    tolerance: float,
    max_columns: int | None,
    n_jobs: int | None,
) -> list[Path]:
    """Return a path for each group of outputs that share their columns.

    Outputs share their kernels, since a kernel is evaluated once for all of them. Features are chosen
    for each output, since it matters which of them an output depends on.
    """
    fitted = winner.fitted
    outputs = range(len(fitted.references))
    groups = [[k] for k in outputs] if fitted.on_features else [list(outputs)]
    sized = winner.max_columns is not None  # then there are models of a few larger sizes
    most = max_columns or fitted.built.basis.n_columns

    def build(group: list[int]) -> Path:
        builder = PathBuilder.of(fitted, group, coupling, tolerance)
        path = builder.build(min(most, FEW_COLUMNS) if sized else most)
        if winner.max_columns is not None:
            path = builder.extend(path, winner.max_columns, most)
        return with_prior_variance(path, fitted)

    found: list[Path] = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(build)(each) for each in groups
    )
    return found


@dataclass(frozen=True)
class PathBuilder:
    """References of outputs that share their columns, and the loss of replacing them."""

    task: ProjectionTask
    references: list[Reference]
    dense: Problem  # on the features of the references
    fitted: FittedReferences
    loss: LossWeights
    coupling: float
    tolerance: float

    @classmethod
    def of(
        cls, fitted: FittedReferences, group: Sequence[int], coupling: float, tolerance: float
    ) -> PathBuilder:
        """Return the builder for some of the outputs."""
        references = [fitted.references[k] for k in group]
        dense, task = fitted.problems[group[0]], fitted.rows.task
        loss = LossWeights.of(task, references, dense, fitted.built.basis.n_columns)
        return cls(task, references, dense, fitted, loss, coupling, tolerance)

    def build(self, max_columns: int) -> Path:
        """Return the models of every size up to a limit.

        Shared columns are chosen with the mean precision of the outputs. The weights of each output are
        fitted with its own precision.
        """
        columns = self._columns(max_columns)
        sizes = path_sizes(len(columns) - 1)
        path = self.project([columns[size] for size in sizes])
        return replace(path, complete=len(columns) <= max_columns)

    def _columns(self, max_columns: int) -> list[Index]:
        """Return the columns of every size, chosen among all or among those of a sparse reference."""
        priors = self.priors()
        if priors:
            return self._kernels(priors, max_columns)
        design, penalty = self.fitted.built.design.share(), self.loss.penalty
        among = getattr(self.references[0].feature_map, "source", None)
        if among is not None:
            design = design.keep(among)
            penalty = None if penalty is None else penalty.on_columns(among)
        weight = self.dense.weight
        columns = choose_columns(
            design,
            np.mean(self.loss.seen, axis=0),
            np.column_stack([reference.m for reference in self.references]),
            intercept=self.dense.intercept,
            max_columns=max_columns,
            enough=_STOP_TOLERANCE_FRACTION * self.tolerance * float(weight.sum()),
            min_columns=_MIN_FORWARD_COLUMNS,
            penalty=penalty,
        )
        return columns if among is None else [among[index] for index in columns]

    def _kernels(self, priors: Sequence[PriorPenalty], max_columns: int) -> list[Index]:
        """Return the kernels of every size, chosen with the mean precision of the outputs."""
        weight = self.dense.weight
        return choose_kernels(
            self.dense.design.matvec(np.eye(self.dense.design.shape[1])),
            np.mean(self.loss.seen, axis=0),
            np.column_stack([each.weights for each in priors]),
            priors[0].coordinates,
            float(np.mean([each.precision for each in priors])),
            intercept=self.dense.intercept,
            max_columns=max_columns,
            enough=_STOP_TOLERANCE_FRACTION * self.tolerance * float(weight.sum()),
            min_columns=_MIN_FORWARD_COLUMNS,
        )

    @property
    def basis(self) -> Any:
        """The columns to choose from."""
        return self.fitted.built.basis

    def priors(self) -> list[PriorPenalty]:
        """Return the penalty of each output under its prior, if there are any."""
        return prior_penalties(self.references, self.basis)

    def project(self, columns: list[Index]) -> Path:
        """Return the path of the models on these sets of columns, with their losses."""
        used = np.unique(np.concatenate(columns))
        Phi = self.fitted.built.design.keep(used).matvec(np.eye(used.size))
        penalties: Sequence[Penalty | None] = self.priors()
        penalties = penalties or [self.loss.penalty] * len(self.references)
        projections = [
            Projection.of(
                Phi,
                r,
                reference.m,
                self.dense.design,
                reference.posterior,
                intercept=self.dense.intercept,
                penalty=None if penalty is None else penalty.on_columns(used),
            )
            for reference, r, penalty in zip(self.references, self.loss.seen, penalties, strict=True)
        ]
        at_rows = evaluation_rows(self.references[0].m)
        evaluate = self._evaluator(at_rows)
        Phi, models = Phi[at_rows], []
        for index in columns:
            at = np.searchsorted(used, index)
            models.append(evaluate(index, [each.onto(at) for each in projections], Phi[:, at]))
        likelihoods = [reference.likelihood for reference in self.references]
        posteriors, nats = (list(each) for each in zip(*models, strict=True))
        return Path(self.references, likelihoods, columns, posteriors, np.array(nats))

    def _evaluator(self, at_rows: Index) -> Evaluate:
        """Return the function that matches variances of projected posteriors and returns their loss."""
        there = [reference.at_rows(at_rows) for reference in self.references]
        weight, loss = self.dense.weight, self.loss
        share = weight[at_rows] / weight[at_rows].sum()
        lost_by, total = self.task.loss(there, share, self.coupling), float(weight.sum())

        def evaluate(
            index: Index, projected: list[GaussianPosterior], Phi: Array
        ) -> tuple[list[GaussianPosterior], float]:
            posteriors, latents = [], []
            for reference, posterior, r in zip(there, projected, loss.precisions, strict=True):
                m, v = posterior.latent(Phi)
                if is_on("target_variance"):
                    target = reference.target_variance(share)
                    posterior, v = posterior.as_wide_as(target, v, r[at_rows])
                posteriors.append(self.task.add_projection_error(reference, share, posterior, m))
                latents.append((m, v))
            lost = (1 - loss.part) * float(share @ lost_by(latents))
            if loss.penalty is not None:
                lost += loss.penalty.loss(index, posteriors[0].mean) / total
            return posteriors, max(lost, 0.0)

        return evaluate

    def extend(self, path: Path, selected: int, max_columns: int) -> Path:
        """Return the path of a dense reference on features with larger sets, up to a limit.

        ``selected`` is the size that cross-validation selects.
        """
        reference, dense, loss = self.references[0], self.dense, self.loss
        assert loss.penalty is not None
        design, r = self.fitted.built.design, loss.seen[0]
        wide = WideProjection.of(
            design, loss.precisions[0], reference.m, loss.penalty, loss.part, intercept=dense.intercept
        )
        few = path.columns[-1].size
        larger = [size for size in feature_sizes(wide.varying) if few < size <= max_columns]
        if path.nats.min() <= self.tolerance or not larger or few < 1:
            return replace(path, selected=path.largest_within(selected))
        evaluate = self._evaluator(np.arange(r.size))
        Phi, columns, models = wide.T / np.sqrt(r)[:, None] + wide.centre, [], []
        variance = float(dense.weight @ reference.left_out_v / dense.weight.sum())
        for index, w in wide.grow(path.columns[-1], larger):
            posterior = wide.onto(index, w, reference.posterior, dense.design, r, variance)
            columns.append(index)
            models.append(evaluate(index, [posterior], Phi[:, index]))
        posteriors, nats = (list(each) for each in zip(*models, strict=True))
        path = replace(
            path,
            columns=path.columns + columns,
            posteriors=path.posteriors + posteriors,
            nats=np.append(path.nats, nats),
            complete=True,
        )
        return replace(path, selected=path.largest_within(selected))
