"""What the flagships share: a dense reference, and the few columns that say the same."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from .._component import is_count, is_positive
from .._protocols import Array, Basis, Index, Kernel, Likelihood
from ..basis import Features, KernelBasis
from ..design import Built, build_design
from ..kernels import Scaled, resolve_kernel
from ..posterior import GaussianPosterior
from ..priors import Jeffreys
from ..projection import best_columns
from ..relevance import Mode, find_mode
from ..solvers import Problem, Record, Status
from ._callbacks import Reporter, begin_reports
from ._fit import Fit
from ._model import KernelModel
from ._reference import FeatureMap, KernelMap, Reference
from ._widths import best_gamma

# How much of a kernel matrix the reference and the search for columns may miss.
_RANK_TOL = 1e-6
# Columns that are looked at, as a multiple of those that may be kept, and the part of the tolerance at
# which there is nothing left to add.
_LOOK_FURTHER, _ENOUGH = 2, 0.1
# Columns that may be kept if nobody says otherwise.
_MOST = 64
# Prior precision of a projected weight, as a part of what the reference says of it: next to nothing, but
# two columns that repeat each other then share what they have.
_STEADY = 1e-8


class Point(NamedTuple):
    """A model on the path from nothing to the reference: its size, and the nats it loses a row."""

    kernels: int
    nats: float
    output: int = 0


@dataclass(frozen=True)
class Path:
    """The models of one output, of none of the columns, one, two, ..."""

    reference: Reference
    columns: list[Index]
    posteriors: list[GaussianPosterior]
    nats: Array

    def smallest(self, tolerance: float) -> int:
        """Return the smallest size that loses no more than this; the best if there is none."""
        good = np.flatnonzero(self.nats <= tolerance)
        return int(good[0]) if good.size else int(np.argmin(self.nats))


class LaconicBase(KernelModel):
    """Shared by classifier and regressor; they add the targets and what a reference says."""

    tolerance: float
    max_kernels: int | None
    n_features_in_: int

    # Of a polynomial kernel by name, as everywhere.
    degree = 3
    coef0 = 1.0

    def _rules(self) -> dict[str, tuple[bool, str]]:
        counted = self.max_kernels is None or is_count(self.max_kernels)
        return {
            "tolerance": (is_positive(self.tolerance), "a positive number of nats"),
            "max_kernels": (counted, "None or a positive whole number"),
            "max_rank": (is_count(self.max_rank), "a positive whole number"),
        }

    def _check_settings(self, X: Any) -> None:
        if self._precomputed:
            raise ValueError("kernel='precomputed' has no reference to project; pass the kernel itself.")
        super()._check_settings(X)

    def _soften(self, reference: Reference, weight: Array) -> tuple[Array, Likelihood]:
        """Return a latent and a likelihood whose ``log_prob`` falls by the divergence from it."""
        raise NotImplementedError

    # ---- the kernel -----------------------------------------------------------------------

    def _make_basis(self, X: Array, weight: Array) -> Basis:
        if self.kernel is None:
            return Features(np.arange(X.shape[1]))
        return KernelBasis.on_rows(self.kernel_, X)

    def _choose_kernel(
        self, X: Array, weight: Array, targets: Sequence[Array], likelihood: Likelihood
    ) -> None:
        """Settle the kernel: on standardised features, with the width that predicts best."""
        scales, distance = _spread(X, weight)

        def kernel(gamma: float) -> Kernel:
            made = resolve_kernel(self.kernel, gamma=gamma, degree=self.degree, coef0=self.coef0)
            return Scaled(made, scales) if isinstance(self.kernel, str) else made

        if is_positive(self.gamma):
            self.gamma_ = float(self.gamma)
        elif not isinstance(self.gamma, str) or self.gamma != "auto":
            raise ValueError(f"gamma must be a positive number or 'auto', got {self.gamma!r}.")
        elif isinstance(self.kernel, str) and self.kernel != "linear":
            self.gamma_ = best_gamma(
                kernel,
                distance,
                X,
                targets,
                weight,
                likelihood,
                intercept=self.fit_intercept,
                rank_tol=_RANK_TOL,
                max_rank=int(self.max_rank),
            )
        else:
            self.gamma_ = 1.0
        self.kernel_ = kernel(self.gamma_)

    # ---- solve ----------------------------------------------------------------------------

    def _solve(self, X: Array, weight: Array, targets: Sequence[Array], likelihood: Likelihood) -> None:
        """Fit a reference for every output, project it, and publish what is needed of it."""
        for stale in ("gamma_", "kernel_"):  # of a fit with another kernel
            self.__dict__.pop(stale, None)
        reports, end_reports = begin_reports(self, len(targets))
        if self.kernel is not None:
            self._choose_kernel(X, weight, targets, likelihood)
        built = build_design(
            self._make_basis(X, weight),
            X,
            weight,
            centre=self.fit_intercept,
            tol=_RANK_TOL,
            max_rank=int(self.max_rank),
        )
        basis: Any = built.basis
        coordinates: KernelMap | FeatureMap
        if self.kernel is None:
            coordinates = FeatureMap.of(_dense(X), weight)
        else:
            coordinates = KernelMap.on(basis, built.pivots)
        jobs = (
            delayed(self._path)(coordinates, built, X, y, weight, likelihood, report)
            for y, report in zip(targets, reports, strict=True)
        )
        self._paths: list[Path] = Parallel(n_jobs=self.n_jobs, prefer="threads")(jobs)
        end_reports()
        self._built = built._replace(design=None)  # type: ignore[arg-type]
        self.reference_ = [path.reference for path in self._paths]
        self.path_ = [
            Point(size, float(nats), output)
            for output, path in enumerate(self._paths)
            for size, nats in enumerate(path.nats)
        ]
        self.tolerance_ = float(self.tolerance)
        self._settle([path.smallest(self.tolerance_) for path in self._paths])

    def _path(
        self,
        coordinates: KernelMap | FeatureMap,
        built: Built,
        X: Any,
        y: Array,
        weight: Array,
        likelihood: Likelihood,
        report: Reporter,
    ) -> Path:
        """Return the path of one output; runs in a worker."""
        report.begin()
        began, total = time.perf_counter(), float(weight.sum())
        rows = X if self.kernel is not None else _dense(X)
        reference = Reference.fit(coordinates, rows, y, weight, likelihood, self.fit_intercept)
        target, soft = self._soften(reference, weight)
        exact, _, curvature = soft.evaluate(target, target)
        problem = Problem(built.design.share(), target, soft, Jeffreys(), weight, self.fit_intercept)
        most = _MOST if self.max_kernels is None else int(self.max_kernels)
        columns = best_columns(
            problem.design,
            weight * np.maximum(curvature, 1e-10 * curvature.max()),
            target,
            intercept=self.fit_intercept,
            most=_LOOK_FURTHER * most,
            enough=_ENOUGH * self.tolerance * total,
        )[: most + 1]
        posteriors, nats, b = [], [], problem.empty().b
        for size, index in enumerate(columns):
            part = problem.keep(index)
            alpha = _STEADY * np.maximum(part.design.square_rmatvec(weight * curvature), 1e-300)
            mode = find_mode(part, alpha, soft, np.zeros(size), b)
            posteriors.append(self._posterior(mode, reference, rows))
            nats.append(float(weight @ (exact - soft.log_prob(target, mode.f))) / total)
            if report(Record(size + 1, -nats[-1], size, time.perf_counter() - began)):
                break
        report.end()
        return Path(reference, columns[: len(nats)], posteriors, np.maximum(nats, 0.0))

    def _posterior(self, mode: Mode, reference: Reference, X: Any) -> GaussianPosterior:
        """Return the projected weights; where the reference's spread is in the target they have none."""
        k = mode.w.size
        return GaussianPosterior(
            mode.w, mode.b, mode.ridge.centre, 0.0, np.zeros((1, k)), None, float(k)
        )

    # ---- publish --------------------------------------------------------------------------

    def _settle(self, sizes: Sequence[int]) -> None:
        """Become the models of these sizes."""
        fits = []
        for size, path in zip(sizes, self._paths, strict=True):
            lost = path.nats[size]
            kind = "features" if self.kernel is None else "kernels"
            message = (
                f"{size} {kind} lose {lost:.2g} nats per observation of what the reference says "
                f"(tolerance {self.tolerance_:.2g})."
            )
            if lost > self.tolerance_:
                message += " More would be needed: raise max_kernels or tolerance."
            history = [Record(k + 1, -nats, k, 0.0) for k, nats in enumerate(path.nats)]
            fits.append(
                Fit(
                    path.columns[size],
                    path.posteriors[size],
                    path.reference.likelihood,
                    Status(True, message),
                    history,
                )
            )
        self._publish(fits, self._built.basis, self._built.centre, self._built.note)

    def with_kernels(self, k: int) -> Self:
        """Return the model with this many kernels (or features) for each output, without refitting.

        Parameters
        ----------
        k : int
            At most as many as ``path_`` holds.

        Returns
        -------
        a copy of the model
        """
        check_is_fitted(self)
        longest = min(len(path.columns) for path in self._paths) - 1
        if not (k == 0 or is_count(k)) or k > longest:
            raise ValueError(f"k must be a whole number from 0 to {longest}, got {k!r}.")
        other = copy(self)
        other._settle([int(k)] * len(self._paths))
        return other


def _dense(X: Any) -> Any:
    sparse: bool = issparse(X)
    return np.asarray(X.toarray() if sparse else X, dtype=np.float64)


def _spread(X: Any, weight: Array) -> tuple[Array, float]:
    """Return one over the variance of each feature, and the mean squared distance in those units.

    Sparse features are not standardised one by one: a rare one is no more telling than a frequent one.
    """
    share = weight / weight.sum()
    sparse: bool = issparse(X)
    mean = np.asarray(share @ X, dtype=np.float64)
    if sparse:
        square = np.asarray(share @ X.multiply(X), dtype=np.float64)
        variance = np.maximum(square - mean**2, 0.0)
    else:
        variance = np.asarray(share @ (X - mean) ** 2, dtype=np.float64)
    noise = (8 * np.finfo(X.dtype).eps * np.abs(mean)) ** 2
    varies = variance > noise + 1e-300
    if not varies.any():
        return np.zeros(mean.size), 1.0
    if sparse:
        return np.full(mean.size, 1 / variance.mean()), 2.0 * mean.size
    return np.where(varies, 1 / np.where(varies, variance, 1.0), 0.0), 2.0 * int(varies.sum())
