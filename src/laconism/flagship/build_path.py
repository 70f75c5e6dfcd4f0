"""The path of a candidate: for every size the columns, the projected posteriors and their loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from .._protocols import Array, Index
from ..design import Built
from ..posterior import GaussianPosterior
from ..solvers import Problem
from .path import Path, default_max_columns, evaluation_rows
from .projection import Projection, ShrinkagePenalty, choose_columns
from .reference import Reference
from .tasks import LabelProjection, ProjectionTask
from .wide import can_refit_folds
from .wide_projection import WideProjection, left_out_by_size, shrinkage_penalty

# Forward selection adds this many times as many columns as may be kept.
_LOOKAHEAD_FACTOR = 2
# No column is added once the loss is below this fraction of the tolerance, ...
_STOP_TOLERANCE_FRACTION = 0.1
# ... and below this.
_STOP_NATS_PER_ROW = 2e-4
# This many columns are added in any case: one may fit the mean, but not yet the variance.
_MIN_FORWARD_COLUMNS = 10
# Growth factor of the sets beyond those of forward selection.
_LARGER_SET_FACTOR = 4
# The least precision of a row, as a fraction of the largest.
_MIN_PRECISION_FRACTION = 1e-10

# Matches the variances of projected posteriors on some columns to those of the references, given the
# values of the columns at the evaluation rows, and returns the posteriors and their loss.
Evaluate: TypeAlias = Callable[
    [Index, list[GaussianPosterior], Array], tuple[list[GaussianPosterior], float]
]


@dataclass(frozen=True)
class _Rows:
    """The precision of each output's latent at each row, and the penalty for the loss at new rows."""

    precisions: list[Array]
    penalty: ShrinkagePenalty | None
    part: float  # the fraction of the total precision that belongs to new rows

    @property
    def seen(self) -> list[Array]:
        """The precisions of the training rows, without the fraction of new rows."""
        return [(1 - self.part) * r for r in self.precisions]


@dataclass(frozen=True)
class PathBuilder:
    """What all paths of a candidate have in common."""

    task: ProjectionTask
    max_columns: int | None
    tolerance: float
    coupling: float
    intercept: bool

    def build(
        self,
        references: Sequence[Reference],
        dense: Problem,
        built: Built,
        among: Index | None = None,
    ) -> Path:
        """Return the models of every size that approximate the references.

        Shared columns are chosen with the mean precision of the outputs. The weights of each output are
        fitted with its own precision.

        Parameters
        ----------
        references : sequence of Reference
            The references of outputs that share their columns.
        dense : Problem
            The problem on the features of the references.
        built : Built
            All columns.
        among : ndarray of int, optional
            The columns to choose from; by default all of them.
        """
        share = dense.weight / dense.weight.sum()
        most = self.max_columns or default_max_columns(dense.weight.size, len(references))
        precisions = [self._row_precision(each, dense.weight, share) for each in references]
        rows = _Rows(
            precisions,
            *shrinkage_penalty(
                references[0],
                dense,
                precisions[0],
                built.basis.n_columns,
                labels=isinstance(self.task, LabelProjection),
            ),
        )
        columns = self._columns(references, dense, built, rows, most, among)

        def project(most: int) -> Path:
            few = columns[: most + 1]
            path = self._project(references, dense, built, rows, few)
            return replace(path, complete=len(few) <= most)

        path = project(most)
        spared = self.max_columns is None and len(columns) > most + 1
        wide = rows.penalty is not None and can_refit_folds(*built.design.shape)
        if spared and wide and among is None:
            return self._extend(path, dense, built, rows)
        if spared and self.task.may_grow(references[0], float(path.nats[-1]), share):
            return project(_LOOKAHEAD_FACTOR * most)
        return path

    def _row_precision(self, reference: Reference, weight: Array, share: Array) -> Array:
        """Return the precision of the latent at each row, never zero."""
        r = weight * self.task.row_precision(reference, share)
        return np.asarray(np.maximum(r, _MIN_PRECISION_FRACTION * r.max(initial=0.0)))

    def _columns(
        self,
        references: Sequence[Reference],
        dense: Problem,
        built: Built,
        rows: _Rows,
        most: int,
        among: Index | None,
    ) -> list[Index]:
        """Return the columns of every size."""
        design, penalty = built.design.share(), rows.penalty
        if among is not None:
            design = design.keep(among)
            penalty = None if penalty is None else penalty.on_columns(among)
        enough = min(_STOP_TOLERANCE_FRACTION * self.tolerance, _STOP_NATS_PER_ROW)
        columns = choose_columns(
            design,
            (1 - rows.part) * np.mean(rows.precisions, axis=0),
            np.column_stack([reference.m for reference in references]),
            intercept=self.intercept,
            max_columns=_LOOKAHEAD_FACTOR * most,
            enough=enough * float(dense.weight.sum()),
            min_columns=_MIN_FORWARD_COLUMNS,
            penalty=penalty,
        )
        return columns if among is None else [among[index] for index in columns]

    def _project(
        self,
        references: Sequence[Reference],
        dense: Problem,
        built: Built,
        rows: _Rows,
        columns: list[Index],
    ) -> Path:
        """Return the path of the models on these sets of columns, with their losses."""
        used = np.unique(np.concatenate(columns))
        Phi = built.design.keep(used).matvec(np.eye(used.size))
        penalty = None if rows.penalty is None else rows.penalty.on_columns(used)
        projections = [
            Projection.of(
                Phi,
                r,
                reference.m,
                dense.design,
                reference.posterior,
                intercept=self.intercept,
                penalty=penalty,
            )
            for reference, r in zip(references, rows.seen, strict=True)
        ]
        at_rows = evaluation_rows(references[0].m)
        evaluate = self._evaluator(references, dense.weight, rows, at_rows)
        Phi, models = Phi[at_rows], []
        for index in columns:
            at = np.searchsorted(used, index)
            models.append(evaluate(index, [each.onto(at) for each in projections], Phi[:, at]))
        likelihoods = [reference.likelihood for reference in references]
        posteriors, nats = (list(each) for each in zip(*models, strict=True))
        return Path(list(references), likelihoods, columns, posteriors, np.array(nats))

    def _evaluator(
        self, references: Sequence[Reference], weight: Array, rows: _Rows, at_rows: Index
    ) -> Evaluate:
        """Return the function that matches variances of projected posteriors and returns their loss."""
        there = [reference.at_rows(at_rows) for reference in references]
        share = weight[at_rows] / weight[at_rows].sum()
        loss, total = self.task.loss(there, share, self.coupling), float(weight.sum())

        def evaluate(
            index: Index, projected: list[GaussianPosterior], Phi: Array
        ) -> tuple[list[GaussianPosterior], float]:
            posteriors, latents = [], []
            for reference, posterior, r in zip(there, projected, rows.precisions, strict=True):
                m, v = posterior.latent(Phi)
                target = reference.target_variance(share)
                posterior, v = posterior.as_wide_as(target, v, r[at_rows])
                posteriors.append(self.task.add_projection_error(reference, share, posterior, m))
                latents.append((m, v))
            lost = (1 - rows.part) * float(share @ loss(latents))
            if rows.penalty is not None:
                lost += rows.penalty.loss(index, posteriors[0].mean) / total
            return posteriors, max(lost, 0.0)

        return evaluate

    def _extend(self, path: Path, dense: Problem, built: Built, rows: _Rows) -> Path:
        """Return the path of a dense reference on features, extended by larger sets.

        If many features have small weights, a model of few features loses much. So sets that grow by a
        factor of four, up to all features, are added, and cross-validation selects among them.
        """
        reference, precision, part = path.references[0], rows.precisions[0], rows.part
        penalty, design, r = rows.penalty, built.design, rows.seen[0]
        assert penalty is not None
        wide = WideProjection.of(design, precision, reference.m, penalty, part, intercept=self.intercept)
        few = len(path.columns) - 1
        if path.nats.min() <= self.tolerance or wide.varying <= few or few < 1:
            return path
        larger = _larger_sizes(few, wide.varying)
        share = dense.weight / dense.weight.sum()
        evaluate = self._evaluator([reference], dense.weight, rows, np.arange(r.size))
        Phi, columns, models = wide.T / np.sqrt(r)[:, None] + wide.centre, [], []
        sizes = [few, *larger]
        latents = [
            (m, reference.left_out_v + self.task.excess_variance(reference, dense.y, m, share))
            for m in left_out_by_size(reference, dense, design, precision, penalty, part, sizes)
        ]
        for (index, w), (_, v) in zip(wide.grow(path.columns[-1], larger), latents[1:], strict=True):
            variance = float(share @ v)
            posterior = wide.onto(index, w, reference.posterior, dense.design, r, variance)
            columns.append(index)
            models.append(evaluate(index, [posterior], Phi[:, index]))
        posteriors, nats = (list(each) for each in zip(*models, strict=True))
        return replace(
            path,
            columns=path.columns + columns,
            posteriors=path.posteriors + posteriors,
            nats=np.append(path.nats, nats),
            complete=True,
            left_out_latents=latents,
        )


def _larger_sizes(few: int, all_columns: int) -> list[int]:
    """Return sizes that grow by a constant factor, up to all columns."""
    steps = int(np.log(all_columns / few) / np.log(_LARGER_SET_FACTOR))
    return sorted({*(few * _LARGER_SET_FACTOR ** np.arange(1, steps + 1)).tolist(), all_columns})
