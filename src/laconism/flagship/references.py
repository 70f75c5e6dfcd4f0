"""The dense references of all outputs under given hyper-parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import Parallel, delayed

from .._protocols import Array, Index
from ..design import Built, DenseDesign, build_design
from ..judging.folds import latents_without_parts
from ..laplace.shared_precision import fit_shared
from ..linalg import as_dense
from ..solvers import Problem
from .reference import Latent, Reference
from .reference_features import FeatureMap, KernelMap
from .wide import MAX_ENTRIES

if TYPE_CHECKING:
    from .rows import TrainingRows
    from .search import Choice


@dataclass(frozen=True)
class FittedReferences:
    """A reference for each output, the problems they solve, and the columns to project them onto."""

    choice: Choice
    rows: TrainingRows
    references: list[Reference]
    problems: list[Problem]
    built: Built

    @property
    def on_features(self) -> bool:
        """Whether the columns are features, and not kernels."""
        return self.choice.features.family is None

    def calibrated(self) -> Self:
        """Return the references, calibrated on their left-out latents."""
        pairs = zip(self.references, self.problems, strict=True)
        return replace(self, references=[self.rows.task.calibrate(*pair) for pair in pairs])

    def with_left_out(self, latents: Any) -> Self:
        """Return the references with other left-out latents: mean and variance of each output."""
        references = [
            replace(reference, left_out_m=m, left_out_v=v)
            for reference, (m, v) in zip(self.references, latents, strict=True)
        ]
        return replace(self, references=references)

    def on(self, stay: Index) -> Self:
        """Return the references under the same prior and noise, fitted to some of the rows."""
        rows = self.rows.on(stay)
        problems = rows.problems(self.problems[0].design.rows(stay))
        pairs = zip(self.references, problems, strict=True)
        references = [reference.fitted_to(problem) for reference, problem in pairs]
        built = self.built._replace(design=self.built.design.rows(stay))
        return replace(self, rows=rows, references=references, problems=problems, built=built)

    def left_out_by_parts(self, *, max_rank: int, gain: float) -> Self:
        """Return the references with left-out latents of fits without each part of the rows."""
        rows, latents = self.rows, self.choice.latents

        def predict_without(stay: Index, out: Index) -> list[Latent]:
            start = self.choice._replace(latents=[None if f is None else f[stay] for f in latents])
            part = fit_references(start, rows.on(stay), max_rank=max_rank, n_jobs=None, gain=gain)
            return [reference.latent(rows.X[out]) for reference in part.references]

        return self.with_left_out(latents_without_parts(rows.X, rows.targets, predict_without))

    def left_out_log_density(self) -> Array:
        """Return the log density of each row's targets, or class, predicted without the row."""
        task, targets = self.rows.task, self.rows.targets
        coupling = task.couple(self.references, targets, self.rows.weight)
        return task.left_out_log_density(self.references, targets, coupling)


def fit_reference(
    feature_map: KernelMap | FeatureMap,
    problem: Problem,
    choice: Choice,
    start: Array | None = None,
    gain: float | None = None,
) -> Reference:
    """Return the reference of one output, with one precision for all weights.

    The search for its mode ends with a step that gains less than ``gain`` nats.
    """
    precision, moments = choice.relative_precision, choice.features.moments
    mode = fit_shared(problem, precision, latent=start, gain=gain, moments=moments)
    return Reference.of(feature_map, mode, precision)


def fit_references(
    choice: Choice, rows: TrainingRows, *, max_rank: int, n_jobs: int | None, gain: float | None = None
) -> FittedReferences:
    """Fit the dense reference of each output."""
    features, weight = choice.features, rows.weight
    X = rows.X if features.family is not None else as_dense(rows.X)
    built = build_columns(choice, rows, max_rank)
    feature_map = features.exact_map(built.basis, built.pivots, X, weight)
    problems = rows.problems(DenseDesign(np.ascontiguousarray(feature_map.columns(X))))
    fits = (
        delayed(fit_reference)(feature_map, problem, choice, start, gain)
        for problem, start in zip(problems, choice.latents, strict=True)
    )
    references = Parallel(n_jobs=n_jobs, prefer="threads")(fits)
    return FittedReferences(choice, rows, references, problems, _only_pivots_if_large(built))


def build_columns(choice: Choice, rows: TrainingRows, max_rank: int, missed: float = 1e-6) -> Built:
    """Return the columns of the rows: kernels of a width, or features.

    They may miss this fraction of the kernel matrix.
    """
    basis = choice.features.basis(rows.X, choice.width, choice.theta)
    return build_design(basis, rows.X, rows.weight, centre=rows.intercept, tol=missed, max_rank=max_rank)


def _only_pivots_if_large(built: Built) -> Built:
    """Return the columns to choose from: only those that span the others if the factors are large.

    That saves memory, but may need a few more kernels.
    """
    if built.pivots is None or built.pivots.size * built.basis.n_columns <= MAX_ENTRIES:
        return built
    return built.keep(np.sort(built.pivots))
