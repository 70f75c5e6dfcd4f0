"""What the flagships share: a dense reference, and the few columns that say the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from .._component import is_count, is_positive, is_switch
from .._protocols import Array, Basis, Index, Likelihood
from ..basis import Features, KernelBasis
from ..design import Built, DenseDesign, build_design
from ..posterior import GaussianPosterior
from ..priors import Jeffreys
from ..projection import Elsewhere, Projection, best_columns
from ..solvers import Problem, Record, Status
from ._callbacks import Reporter, begin_reports
from ._choice import Choice, choose
from ._family import Coordinates, Family
from ._fit import Fit
from ._model import KernelModel
from ._path import Path, Point, allowance, most_kept, rows_to_judge
from ._reference import FeatureMap, KernelMap, Reference, as_dense
from ._validation import merge_copies
from ._wide import is_clear, is_wide, sparse_references, unseen_rows

# Mean and variance of the latent at each row.
Latent: TypeAlias = tuple[Array, Array]

# How much of a kernel matrix the reference and the search for columns may miss.
_RANK_TOL = 1e-6
# Columns that are looked at, as a multiple of those that may be kept; the part of the tolerance at which
# there is nothing left to add, and the nats a row at which there is not for any tolerance.
_LOOK_FURTHER, _ENOUGH, _NOTHING = 2, 0.1, 2e-4
# Columns that are looked at in any case: one may have the mean, but not yet the variance.
_LEAST = 10
# Numbers in the factors of the columns from which few are chosen. Of more than that only those columns
# are candidates that span the others: that may take a few kernels more, but a fraction of the memory.
_MOST_NUMBERS = 20_000_000
# The least that a row counts, as a part of the one that counts most.
_LEAST_PRECISION = 1e-10


class LaconicBase(KernelModel):
    """Shared by classifier and regressor; they add the targets and what a reference says."""

    tolerance: Any
    weigh_features: bool
    max_kernels: int | None
    n_features_in_: int
    tolerance_: float
    _price = 0.0

    # Of a polynomial kernel by name, as everywhere.
    degree = 3
    coef0 = 1.0

    def _automatic(self, name: str) -> bool:
        """Whether a setting is left to the model."""
        value = getattr(self, name)
        return isinstance(value, str) and value == "auto"

    def _rules(self) -> dict[str, tuple[bool, str]]:
        counted = self.max_kernels is None or is_count(self.max_kernels)
        return {
            "tolerance": (
                self._automatic("tolerance") or is_positive(self.tolerance),
                "a positive number of nats or 'auto'",
            ),
            "weigh_features": (is_switch(self.weigh_features), "True or False"),
            "max_kernels": (counted, "None or a positive whole number"),
            "max_rank": (is_count(self.max_rank), "a positive whole number"),
        }

    def _check_settings(self, X: Any) -> None:
        if self._precomputed:
            raise ValueError("kernel='precomputed' has no reference to project; pass the kernel itself.")
        super()._check_settings(X)

    def _calibrate(self, reference: Reference, dense: Problem) -> Reference:
        """Return the reference as sure of itself as rows left out say that it should be."""
        return reference

    def _precision(self, reference: Reference, share: Array) -> Array:
        """Return with which precision the latent counts at each row, to second order in nats."""
        raise NotImplementedError

    def _loss(self, references: Sequence[Reference], share: Array) -> Callable[[list[Latent]], Array]:
        """Return what says how many nats are lost at each row with other latents of the outputs."""
        raise NotImplementedError

    def _put_together(
        self, references: Sequence[Reference], targets: Sequence[Array], weight: Array
    ) -> None:
        """Settle how the answers of several references become one."""

    def _own_up(
        self, reference: Reference, share: Array, posterior: GaussianPosterior, m: Array
    ) -> GaussianPosterior:
        """Return the projected posterior with what its mean misses in its variance."""
        return posterior

    # ---- choose ---------------------------------------------------------------------------

    def _family(self, X: Any, weight: Array) -> Family | None:
        """Return the kernels to choose from; ``None`` for the features themselves."""
        automatic = self._automatic("gamma")
        if not automatic and not is_positive(self.gamma):
            raise ValueError(f"gamma must be a positive number or 'auto', got {self.gamma!r}.")
        if self.kernel is None:
            return None
        searched = automatic and isinstance(self.kernel, str) and self.kernel != "linear"
        fixed = None if searched else 1.0 if automatic else float(self.gamma)
        return Family.of(self.kernel, self.degree, self.coef0, fixed, X, weight)

    # ---- solve ----------------------------------------------------------------------------

    def _solve(self, X: Array, weight: Array, targets: Sequence[Array], likelihood: Likelihood) -> None:
        """Fit a reference for every output, project it, and publish what is needed of it."""
        kept, X, weight, targets = merge_copies(X, weight, targets)
        self._rows = self._rows[kept]
        given = None if self._automatic("tolerance") else float(self.tolerance)
        self.tolerance_, self._price = allowance(given, self.kernel is None)
        # A kernel that is there for one output costs nothing for another. A feature's weight has a
        # meaning for each.
        outputs = range(len(targets))
        together = [outputs] if self.kernel is not None else [[k] for k in outputs]
        reports, end_reports = begin_reports(self, len(together))
        rows = X if self.kernel is not None else as_dense(X)
        whole, family = self._leaves_whole_rows(rows), self._family(rows, weight)
        choice = choose(
            Coordinates(family, int(self.max_rank)),
            rows,
            targets,
            weight,
            likelihood,
            intercept=self.fit_intercept,
            weigh=self.weigh_features,
            whole_rows=whole,
        )
        self._publish_kernel(family, choice)
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
            coordinates = FeatureMap.of(rows, weight)
        else:
            coordinates = KernelMap.on(basis, built.pivots, smooth=choice.smooth)
        if built.pivots is not None and built.pivots.size * built.basis.n_columns > _MOST_NUMBERS:
            built = built.keep(np.sort(built.pivots))
        dense = DenseDesign(np.ascontiguousarray(coordinates.columns(rows)))

        def ask(y: Array) -> Problem:
            free = self.fit_intercept
            return Problem(dense.share(), y, likelihood, Jeffreys(), weight, free, whole_rows=whole)

        def refer(y: Array, near: Array | None) -> Reference:
            problem = ask(y)
            return self._calibrate(Reference.fit(coordinates, problem, choice.multiple, near), problem)

        def path(outputs: Sequence[int], report: Reporter) -> Path:
            report.begin()
            problem = ask(targets[outputs[0]])
            found = self._path([references[k] for k in outputs], problem, built)
            if isinstance(coordinates, FeatureMap) and is_wide(*rows.shape):
                found = self._or_sparser(found, problem, built, rows)
            found = found.report(report, began)
            report.end()
            return found

        began = time.perf_counter()
        work = Parallel(n_jobs=self.n_jobs, prefer="threads")
        references = work(
            delayed(refer)(*output) for output in zip(targets, choice.latents, strict=True)
        )
        self._put_together(references, targets, weight)
        self._paths: list[Path] = work(
            delayed(path)(*group) for group in zip(together, reports, strict=True)
        )
        end_reports()
        self._built = built._replace(design=None)  # type: ignore[arg-type]
        self.reference_: list[Any] = [one for path in self._paths for one in path.references]
        self._put_together(self.reference_, targets, weight)  # a sparser one may have come in
        self.path_ = [
            Point(size, float(nats), output)
            for output, path in enumerate(self._paths)
            for size, nats in enumerate(path.nats)
        ]
        self._settle([path.size(self.tolerance_, self._price) for path in self._paths])

    def _publish_kernel(self, family: Family | None, choice: Choice) -> None:
        for stale in ("gamma_", "kernel_", "feature_scales_"):  # of a fit with another kernel
            self.__dict__.pop(stale, None)
        if family is not None:
            self.gamma_ = family.gamma_at(choice.width)
            self.kernel_ = family.kernel_at(choice.width, choice.theta)
            self.feature_scales_ = np.where(family.unit > 0, choice.theta, 0.0)

    def _leaves_whole_rows(self, X: Any) -> bool:
        """Whether a row that counts for several is left out as a whole; see :class:`Problem`."""
        return False

    def _make_basis(self, X: Array, weight: Array) -> Basis:
        if self.kernel is None:
            return Features(np.arange(X.shape[1]))
        return KernelBasis.on_rows(self.kernel_, X)

    def _or_sparser(self, dense: Path, problem: Problem, built: Built, X: Array) -> Path:
        """Return the path whose few features predict rows left out best, if clearly better."""
        features: Any = replace(dense.references[0].coordinates, turn=None)
        Z = features.columns(X)
        paths = []
        for reference in sparse_references(features, replace(problem, design=DenseDesign(Z)), Z):
            kept: Any = reference.coordinates
            few = replace(problem, design=DenseDesign(kept.columns(X)))
            paths.append(self._path([self._calibrate(reference, problem)], few, built, kept.source))

        def says(path: Path) -> Array:
            lost = path.nats[path.size(self.tolerance_, self._price)]
            return path.references[0].left_out(problem.y) - float(lost)

        best = max(paths, key=lambda path: float(problem.weight @ says(path)))
        return best if is_clear(says(best) - says(dense), problem.weight) else dense

    def _path(
        self,
        references: Sequence[Reference],
        dense: Problem,
        built: Built,
        among: Index | None = None,
    ) -> Path:
        """Return the models of every size that say what references say, on some columns if not on all.

        Where several share their columns these are chosen as if all latents counted with the same
        precision at a row, the mean of theirs: it only decides who is in, and is as good as their own
        (of as many kernels), at the price of one of them. Weights are found under each one's own.
        """
        share = dense.weight / dense.weight.sum()
        most = int(self.max_kernels or most_kept(dense.weight.size, len(references)))
        precisions = [self._row_precision(reference, dense.weight, share) for reference in references]
        elsewhere, part = unseen_rows(references[0], dense, precisions[0])
        design = built.design.share()
        columns = best_columns(
            design if among is None else design.keep(among),
            (1 - part) * np.mean(precisions, axis=0),
            np.column_stack([reference.m for reference in references]),
            intercept=self.fit_intercept,
            most=_LOOK_FURTHER * most,
            enough=min(_ENOUGH * self.tolerance_, _NOTHING) * float(dense.weight.sum()),
            least=_LEAST,
            elsewhere=elsewhere,
        )[: most + 1]
        if among is not None:
            columns = [among[index] for index in columns]
        path = self._project(references, dense, built, precisions, columns, elsewhere, part)
        return replace(path, whole=len(columns) <= most)

    def _row_precision(self, reference: Reference, weight: Array, share: Array) -> Array:
        """Return with which precision the latent counts at each row, never none."""
        r = weight * self._precision(reference, share)
        return np.asarray(np.maximum(r, _LEAST_PRECISION * r.max(initial=0.0)))

    def _project(
        self,
        references: Sequence[Reference],
        dense: Problem,
        built: Built,
        precisions: Sequence[Array],
        columns: list[Index],
        elsewhere: Elsewhere | None,
        part: float,
    ) -> Path:
        """Return the models on these sets of columns, and what each loses."""
        used = np.unique(np.concatenate(columns))
        Phi = built.design.keep(used).matvec(np.eye(used.size))
        projections = [
            Projection.of(
                Phi,
                (1 - part) * r,
                reference.m,
                dense.design,
                reference.posterior,
                intercept=self.fit_intercept,
                elsewhere=None if elsewhere is None else elsewhere.of(used),
            )
            for reference, r in zip(references, precisions, strict=True)
        ]
        total = float(dense.weight.sum())
        judges = rows_to_judge(references[0].m)
        seen, Phi = [reference.at(judges) for reference in references], Phi[judges]
        share = dense.weight[judges] / dense.weight[judges].sum()
        lost_with = self._loss(seen, share)

        def onto(at: Index, here: Array, output: int) -> tuple[GaussianPosterior, Latent]:
            reference, posterior = seen[output], projections[output].onto(at)
            m, v = posterior.latent(here)
            posterior, v = posterior.as_wide_as(
                reference.around_rows(share), v, precisions[output][judges]
            )
            return self._own_up(reference, share, posterior, m), (m, v)

        posteriors, nats = [], []
        for index in columns:
            at = np.searchsorted(used, index)
            here = Phi[:, at]
            models = [onto(at, here, output) for output in range(len(references))]
            lost = (1 - part) * float(share @ lost_with([latent for _, latent in models]))
            if elsewhere is not None:
                lost += elsewhere.missed(index, models[0][0].mean) / total
            posteriors.append([posterior for posterior, _ in models])
            nats.append(max(lost, 0.0))
        likelihoods = [reference.likelihood for reference in references]
        return Path(list(references), likelihoods, columns, posteriors, np.array(nats))

    # ---- publish --------------------------------------------------------------------------

    def _settle(self, sizes: Sequence[int]) -> None:
        """Become the models of these sizes, one for each path."""
        self._sizes, fits = list(sizes), []
        for number, (size, path) in enumerate(zip(sizes, self._paths, strict=True)):
            kind = "features" if self.kernel is None else "kernels"
            message = path.message(size, kind, self.tolerance_, self._price)
            history = [Record(k + 1, -nats, k, 0.0, number) for k, nats in enumerate(path.nats)]
            for posterior, likelihood in zip(path.posteriors[size], path.likelihoods, strict=True):
                fits.append(
                    Fit(path.columns[size], posterior, likelihood, Status(True, message), history)
                )
                history = []  # is told once
        self._publish(fits, self._built.basis, self._built.centre, self._built.note)

    def with_kernels(self, k: int) -> Self:
        """Return the model with this many kernels (or features for each output), without refitting.

        Parameters
        ----------
        k : int
            At most as many as ``path_`` holds; an output whose path is shorter has its longest model.

        Returns
        -------
        a copy of the model
        """
        check_is_fitted(self)
        sizes = [len(path.columns) - 1 for path in self._paths]
        longest = max(sizes)
        if not (k == 0 or is_count(k)) or k > longest:
            raise ValueError(f"k must be a whole number from 0 to {longest}, got {k!r}.")
        other = copy(self)
        other._settle([min(int(k), size) for size in sizes])
        return other

    def slim(self) -> Self:
        """Return the model with what its predictions need and no more, for files and small devices.

        The reference and the training rows that no kernel is on stay behind. Predictions are the same;
        :meth:`with_kernels` goes up to the present size, and ``reference_`` is empty.

        Returns
        -------
        a copy of the model
        """
        check_is_fitted(self)
        other = copy(self)
        sizes = self._sizes
        paths = [path.until(size) for path, size in zip(self._paths, sizes, strict=True)]
        basis, used = self._built.basis, np.arange(self._built.basis.n_columns)
        if self.kernel is not None:  # features are but their numbers
            used = np.unique(np.concatenate([index for path in paths for index in path.columns]))
            kept: Any = basis.keep(used)
            other._rows = self._rows[kept.source]
            basis = replace(kept, source=np.arange(used.size))
        other._paths = [path.without_reference(used) for path in paths]
        other._built = self._built._replace(basis=basis, centre=self._built.centre[used], pivots=None)
        other.reference_ = []
        other.path_ = [point for point in self.path_ if point.kernels <= sizes[point.output]]
        other._settle(sizes)
        other.status_ = self.status_
        return other
