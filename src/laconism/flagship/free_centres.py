"""Free centres: the kernels of small models leave the training rows, down the gradient of the loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.optimize import minimize

from .._protocols import Array, Index
from ..design import DenseDesign
from ..kernels import Scaled, Stationary
from ..linalg import as_dense, steadied
from .build_path import PathBuilder, build_paths
from .kernel_projection import prior_root
from .path import Path
from .prior_variance import with_prior_variance
from .tasks import MIN_FREE_FRACTION

if TYPE_CHECKING:
    from .candidate import FittedCandidate
    from .references import FittedReferences
    from .settings import Settings


@dataclass(frozen=True)
class CentreLoss:
    r"""The loss of a projection onto kernels at some centres, with the weights that are best there.

    It is :math:`\tfrac12|A\,k(Q, C)\,w - t|^2` for centres :math:`C` and the inducing rows :math:`Q` of
    a Gaussian process, at the training rows and under its prior. Since the weights minimise it, its
    gradient in the centres is that at fixed weights.
    """

    kernel: Any
    points: Array  # Q
    root: Array  # A
    targets: Array  # t, one column for each output
    unit: Array  # of each feature

    @classmethod
    def of(cls, builder: PathBuilder) -> Self:
        """Return the loss of replacing some references."""
        fitted, r = builder.fitted, np.mean(builder.loss.seen, axis=0)
        X, kernel = as_dense(fitted.rows.X).astype(float), builder.basis.kernel
        unit = np.sqrt(fitted.rows.share @ (X - fitted.rows.share @ X) ** 2)
        unit = np.where(unit > 0, unit, 1.0)
        priors = builder.priors()
        precision = float(np.mean([each.precision for each in priors]))
        root = prior_root(builder.features, r, precision, intercept=builder.dense.intercept)
        features: Any = builder.references[0].feature_map
        targets = root @ np.column_stack([each.weights for each in priors])
        root = features.triangle.solve_transposed(root.T).T
        return cls(kernel, as_dense(features.rows).astype(float), root, targets, unit)

    def at(self, centres: Array, jitter: float = 1e-10) -> tuple[float, Array]:
        """Return the loss and its gradient in the centres."""
        T = self.root @ np.asarray(self.kernel(self.points, centres), dtype=np.float64)
        unit, factor = steadied(T.T @ T, jitter)
        w = unit[:, None] * factor.solve(unit[:, None] * (T.T @ self.targets))
        missed = T @ w - self.targets
        slopes = self.kernel.slopes(centres, self.points, w @ missed.T @ self.root)
        return 0.5 * float((missed**2).sum()), slopes * self.kernel.feature_slopes(centres)

    def moved(self, centres: Array, max_iter: int = 100) -> Array:
        """Return centres near these with a lower loss."""
        whole = max(0.5 * float((self.targets**2).sum()), np.finfo(float).tiny)

        def loss(flat: Array) -> tuple[float, Array]:
            value, slope = self.at(flat.reshape(centres.shape) * self.unit)
            return value / whole, (slope * self.unit).ravel() / whole

        first, options = (centres / self.unit).ravel(), {"maxiter": max_iter, "ftol": 1e-12}
        found: Any = minimize(  # type: ignore[call-overload]
            loss, first, jac=True, method="L-BFGS-B", options=options
        )
        return np.asarray(found.x.reshape(centres.shape) * self.unit)


def build_all_paths(
    winner: FittedCandidate, coupling: float, tolerance: float, price: float, settings: Settings
) -> tuple[FittedCandidate, list[Path], str]:
    """Return the winner and its paths, with free centres if these are asked for, and a note."""
    paths = build_paths(winner, coupling, tolerance, settings.max_columns, settings.n_jobs)
    if not settings.free_centres or winner.fitted.on_features:
        return winner, paths, ""
    if not can_move(winner):
        return winner, paths, " Kernels of this kind stay on training rows."
    step = paths[0].select(tolerance, price)
    if not paths[0].columns[step].size:
        return winner, paths, ""
    return *with_free_centres(winner, paths, step, coupling, tolerance), ""


def can_move(winner: FittedCandidate) -> bool:
    """Whether the kernels of a candidate have slopes in their centres."""
    kernel = getattr(winner.fitted.built.basis, "kernel", None)
    return isinstance(kernel.kernel if isinstance(kernel, Scaled) else kernel, Stationary)


def with_free_centres(
    winner: FittedCandidate, paths: Sequence[Path], step: int, coupling: float, tolerance: float
) -> tuple[FittedCandidate, list[Path]]:
    """Return candidate and path with small models whose centres are free.

    At some sizes up to that of a step the centres start on the rows of the model of the same size. They
    replace it where they lose less at new rows. Models that lose more than a smaller one are left out.
    """
    (path,), fitted = paths, winner.fitted
    builder = PathBuilder.of(fitted, range(len(fitted.references)), coupling, tolerance)
    loss, basis = CentreLoss.of(builder), builder.basis
    steps = [path.largest_within(k) for k in _sizes(path.columns[step].size)]
    small, used = [path.columns[k] for k in steps], np.unique(np.concatenate(path.columns))
    moved = [loss.moved(as_dense(basis.centres[index]).astype(float)) for index in small]
    source = np.concatenate([basis.source[used], *(basis.source[index] for index in small)])
    centres = np.vstack([as_dense(basis.centres[used]), *moved])
    fitted = _on(fitted, used, replace(basis, centres=centres, source=source, rows=None))
    ends = used.size + np.cumsum([0, *(index.size for index in small)])
    columns: list[Index] = [np.arange(*pair) for pair in pairwise(ends)]
    free = replace(builder, fitted=fitted).project(columns)
    nats = free.nats * _inflation(small, loss, fitted)
    path = path.without_reference(used)
    models = list(zip(path.columns, path.posteriors, path.nats, strict=True))
    for at, model in zip(steps, zip(columns, free.posteriors, nats, strict=True), strict=True):
        models[at] = min(models[at], model, key=lambda each: each[2])
    least = np.minimum.accumulate([np.inf, *(model[2] for model in models)])
    kept = [model for k, model in enumerate(models) if k > steps[-1] or model[2] < least[k]]
    index, posteriors, losses = (list(each) for each in zip(*kept, strict=True))
    path = replace(
        path, references=free.references, columns=index, posteriors=posteriors, nats=np.array(losses)
    )
    return replace(winner, fitted=fitted), [with_prior_variance(path, fitted)]


def _on(fitted: FittedReferences, used: Index, basis: Any) -> FittedReferences:
    """Return the references with the columns of a basis: some of their own, and further ones."""
    built, rows = fitted.built, fitted.rows
    K = np.asarray(basis.columns(rows.X)[:, used.size :], dtype=np.float64)
    centre = rows.share @ K if rows.intercept else np.zeros(K.shape[1])
    Phi = np.hstack([built.design.keep(used).matvec(np.eye(used.size)), K - centre])
    centres = np.append(built.centre[used], centre)
    return replace(
        fitted,
        built=built._replace(design=DenseDesign(Phi), basis=basis, centre=centres, pivots=None),
    )


def _inflation(small: Sequence[Index], loss: CentreLoss, fitted: FittedReferences) -> Array:
    """Return the ratio of the loss at new rows to that at the training rows, for free centres.

    They were fitted to the loss at these rows. By generalised cross-validation it is larger at new rows:
    each kernel has a weight, and a coordinate for every feature that counts.
    """
    coordinates = np.count_nonzero(fitted.choice.theta * np.ptp(loss.points, axis=0))
    parameters = (1 + coordinates) * np.array([index.size for index in small])
    return np.asarray(np.maximum(1 - parameters / fitted.rows.total, MIN_FREE_FRACTION) ** -2.0)


def _sizes(largest: int, most: int = 64, count: int = 16) -> list[int]:
    """Return sizes of models with free centres, each a search."""
    sizes = np.geomspace(1, max(min(largest, most), 1), count).round()
    return [int(size) for size in np.unique(sizes)]
