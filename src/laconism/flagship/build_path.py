"""The paths of a fitted candidate: columns, projected posteriors and loss of every size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed

from .._protocols import Array, Index
from ..judging.folds import balanced_folds, cross_validated
from .kernel_projection import PriorPenalty, choose_kernels, prior_penalties
from .path import MAX_EVALUATION_ROWS, Path, evaluation_rows, path_sizes
from .path_loss import PathLoss
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

# Rows, and the errors there: of each size, output and row.
LeftOut: TypeAlias = tuple[Index, Array]

# This many columns are added in any case: one may fit the mean, but not yet the variance.
_MIN_FORWARD_COLUMNS = 10


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
        path = self.project([columns[size] for size in sizes], self._left_out_errors(sizes))
        return replace(path, complete=len(columns) <= max_columns)

    def _columns(self, max_columns: int, stop_fraction: float = 0.1) -> list[Index]:
        """Return the columns of every size, chosen among all or among those of a sparse reference.

        No column is added once the loss is below a fraction of the tolerance.
        """
        r, priors, weight = np.mean(self.loss.seen, axis=0), self.priors(), self.dense.weight
        stop: Any = {
            "intercept": self.dense.intercept,
            "max_columns": max_columns,
            "enough": stop_fraction * self.tolerance * float(weight.sum()),
            "min_columns": _MIN_FORWARD_COLUMNS,
        }
        if priors:
            weights = np.column_stack([each.weights for each in priors])
            precision = float(np.mean([each.precision for each in priors]))
            return choose_kernels(self.features, r, weights, priors[0].coordinates, precision, **stop)
        design, penalty = self.fitted.built.design.share(), self.loss.penalty
        among = getattr(self.references[0].feature_map, "source", None)
        if among is not None:
            design = design.keep(among)
            penalty = None if penalty is None else penalty.on_columns(among)
        m = np.column_stack([reference.m for reference in self.references])
        columns = choose_columns(design, r, m, penalty=penalty, **stop)
        return columns if among is None else [among[index] for index in columns]

    def _left_out_errors(self, sizes: Sequence[int], n_folds: int = 5) -> LeftOut | None:
        """Return rows, and what projections onto kernels are off there, without the row.

        That is the mean of a projection less that of its reference, one for each size, output and row,
        where reference, kernels and weights are found without the row's fold. Of many rows some folds
        are enough. None of features, whose loss has a part at new rows already, of rows that are
        observed many times, so that new rows are among them, and of fewer rows than folds.
        """
        rows, n_outputs = self.fitted.rows, len(self.references)
        if self.fitted.on_features or not rows.leave_whole_rows or rows.weight.size < n_folds:
            return None

        def errors_without(stay: Index, out: Index) -> Array:
            part = PathBuilder.of(self.fitted.on(stay), range(n_outputs), self.coupling, self.tolerance)
            columns = part._columns(sizes[-1], stop_fraction=1e-6)  # less is rounding
            used = np.unique(np.concatenate(columns))
            Phi = self.fitted.built.design.keep(used).rows(out).matvec(np.eye(used.size))
            m = [each.posterior.latent(self.features[out])[0] for each in part.references]
            errors = np.empty((len(sizes), n_outputs, out.size))
            for k, projection in enumerate(part._projections(used)):
                for step, size in enumerate(sizes):
                    at = np.searchsorted(used, columns[min(size, len(columns) - 1)])
                    w, b = projection.weights(at)
                    errors[step, k] = Phi[:, at] @ w + b - m[k]
            return errors

        def leaves_classes(out: Index) -> bool:
            return all(np.ptp(np.delete(y, out)) > 0 for y in rows.targets)

        codes = np.unique(np.stack(rows.targets), axis=1, return_inverse=True)[1].astype(float)
        folds = balanced_folds(rows.X, codes, n_folds)
        folds = [out for out in folds[: 1 + MAX_EVALUATION_ROWS // folds[0].size] if leaves_classes(out)]
        if not folds:
            return None
        errors = cross_validated(folds, codes.size, errors_without, (len(sizes), n_outputs))
        at_rows = np.sort(np.concatenate(folds))
        return at_rows, errors[..., at_rows]

    @cached_property
    def features(self) -> Array:
        """The features of the references at the rows."""
        return self.dense.design.matvec(np.eye(self.dense.design.shape[1]))

    @property
    def basis(self) -> Any:
        """The columns to choose from."""
        return self.fitted.built.basis

    def priors(self) -> list[PriorPenalty]:
        """Return the penalty of each output under its prior, if there are any."""
        return prior_penalties(self.references, self.basis)

    def _projections(self, used: Index) -> list[Projection]:
        """Return the projection of each output onto subsets of some columns."""
        Phi = self.fitted.built.design.keep(used).matvec(np.eye(used.size))
        dense, intercept = self.dense.design, self.dense.intercept
        penalties: Sequence[Penalty | None] = self.priors()
        penalties = [
            None if each is None else each.on_columns(used)
            for each in penalties or [self.loss.penalty] * len(self.references)
        ]
        return [
            Projection.of(Phi, r, each.m, dense, each.posterior, intercept=intercept, penalty=penalty)
            for each, r, penalty in zip(self.references, self.loss.seen, penalties, strict=True)
        ]

    def project(self, columns: list[Index], left_out: LeftOut | None = None) -> Path:
        """Return the path of the models on these sets of columns, with their losses.

        ``left_out`` has rows, and the errors of each model, output and row without the row.
        """
        used = np.unique(np.concatenate(columns))
        projections = self._projections(used)
        at_rows, errors = left_out or (evaluation_rows(self.references[0].m), [None] * len(columns))
        Phi = self.fitted.built.design.keep(used).rows(at_rows).matvec(np.eye(used.size))
        match, models = self._loss_at(at_rows).match, []
        for index, error in zip(columns, errors, strict=True):
            at = np.searchsorted(used, index)
            models.append(match(index, [each.onto(at) for each in projections], Phi[:, at], error))
        likelihoods = [reference.likelihood for reference in self.references]
        posteriors, nats = (list(each) for each in zip(*models, strict=True))
        return Path(self.references, likelihoods, columns, posteriors, np.array(nats))

    def _loss_at(self, rows: Index) -> PathLoss:
        """Return the loss of projections at some of the training rows."""
        return PathLoss.of(self.task, self.references, rows, self.dense.weight, self.loss, self.coupling)

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
        match = self._loss_at(np.arange(r.size)).match
        Phi, columns, models = wide.T / np.sqrt(r)[:, None] + wide.centre, [], []
        variance = float(dense.weight @ reference.left_out_v / dense.weight.sum())
        for index, w in wide.grow(path.columns[-1], larger):
            posterior = wide.onto(index, w, reference.posterior, dense.design, r, variance)
            columns.append(index)
            models.append(match(index, [posterior], Phi[:, index]))
        posteriors, nats = (list(each) for each in zip(*models, strict=True))
        path = replace(
            path,
            columns=path.columns + columns,
            posteriors=path.posteriors + posteriors,
            nats=np.append(path.nats, nats),
            complete=True,
        )
        return replace(path, selected=path.largest_within(selected))
