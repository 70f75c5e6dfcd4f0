"""What the flagships share: a dense reference, and the few columns that say the same."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from .._component import is_count, is_positive, is_switch
from .._protocols import Array, Index, Likelihood
from ..basis.rows import distinct_rows
from ..design import DenseDesign, build_design
from ..judging.duplicates import merge_duplicates, merge_near_duplicates
from ..linalg import as_dense
from ..model.callbacks import begin_reports
from ..model.output import Fit
from ..model.tasks import FitData
from ..priors import Jeffreys
from ..solvers import Problem, Record, Status
from .hyperparameters import choose
from .kernel_family import KernelFamily, ReferenceFeatures
from .path import Answer, Path, Point, default_tolerance
from .prior_variance import prior_residual_variance
from .projected import ProjectedModel
from .reference import CLEAR, FeatureMap, KernelMap, Reference
from .wide import can_refit_folds, exceeds_errors, is_wide, left_out_by_folds

# How much of a kernel matrix the reference and the search for columns may miss.
_RANK_TOL = 1e-6
# Numbers in the factors of the columns from which few are chosen. Of more than that only those columns
# are candidates that span the others: that may take a few kernels more, but a fraction of the memory.
_MOST_NUMBERS = 20_000_000
# What is tried where nobody says otherwise, beside the features themselves.
_KERNEL = "rbf"
# More than so many features for each row, and they are the first choice.
_MANY_FEATURES = 1


class LaconicBase(ProjectedModel):
    """Shared by classifier and regressor; they add the targets and what a reference says."""

    tolerance: Any
    weigh_features: bool
    n_features_in_: int

    # What models that were saved before there was such a thing do not have.

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

    # ---- choose ---------------------------------------------------------------------------

    @property
    def _on_features(self) -> bool:
        return self.__dict__.get("_taken", self.kernel) is None

    def _kernels(self, X: Any) -> list[Any]:
        """Return what there is to choose from: a kernel, and ``None`` for the features themselves."""
        if not self._automatic("kernel"):
            return [self.kernel]
        return [_KERNEL, None] if self._automatic("gamma") and can_refit_folds(*X.shape) else [_KERNEL]

    def _family(self, kernel: Any, X: Any, weight: Array) -> KernelFamily | None:
        """Return the kernels of all widths; ``None`` for the features themselves."""
        automatic = self._automatic("gamma")
        if not automatic and not is_positive(self.gamma):
            raise ValueError(f"gamma must be a positive number or 'auto', got {self.gamma!r}.")
        if kernel is None:
            return None
        searched = automatic and isinstance(kernel, str) and kernel != "linear"
        fixed = None if searched else 1.0 if automatic else float(self.gamma)
        return KernelFamily.of(kernel, self.degree, self.coef0, fixed, X, weight)

    def _better_candidate(
        self, answers: Sequence[Answer], targets: Sequence[Array], weight: Array
    ) -> Answer:
        """Return the first choice, unless the other one predicts rows left out clearly better.

        That is kernels, or features where there are many more of those than rows: there few kernels that
        agree with their reference at the rows may not do so between them.
        """
        many = self.n_features_in_ > _MANY_FEATURES * targets[0].size
        first, other = answers[::-1] if many else answers
        before, after = (
            self._left_out_log_density(answer.paths, answer.tolerance, answer.price, targets, weight)
            for answer in (first, other)
        )
        gained = after - before
        clear = float(weight @ gained) > CLEAR and exceeds_errors(gained, weight)
        return other if clear else first

    # ---- solve ----------------------------------------------------------------------------

    def _fit_rows(self, data: FitData) -> None:
        """Fit a reference for every output, project it, and publish what is needed of it."""
        X, weight, targets, likelihood, _ = data
        for merge in (merge_duplicates, merge_near_duplicates):
            kept, X, weight, targets, _ = merge(X, weight, targets)
            self._rows = self._rows[kept]
        weight = self._counted(X, weight)
        began = time.perf_counter()
        taken = self._best_answer(X, weight, targets, likelihood)
        self._fit_coupling(taken.references, targets, weight)
        self._adopt(taken, began)
        if not self._task.classifies:
            self.noise_variance_ = float(self.likelihoods_[0].variance)

    def _best_answer(
        self, X: Array, weight: Array, targets: Sequence[Array], likelihood: Likelihood
    ) -> Answer:
        """Return what kernels or features have to say, whichever predict better."""
        answers = [self._answer(kernel, X, weight, targets, likelihood) for kernel in self._kernels(X)]
        return answers[0] if len(answers) == 1 else self._better_candidate(answers, targets, weight)

    def _answer(
        self,
        kernel: Any,
        X: Array,
        weight: Array,
        targets: Sequence[Array],
        likelihood: Likelihood,
    ) -> Answer:
        """Return what kernels, or features, have to say: references, and paths to them."""
        given = None if self._automatic("tolerance") else float(self.tolerance)
        self.tolerance_, self._price = default_tolerance(given, kernel is None)
        rows = X if kernel is not None else as_dense(X)
        whole, family = self._leaves_whole_rows(rows), self._family(kernel, rows, weight)
        maps = ReferenceFeatures(family, int(self.max_rank))
        choice = choose(
            maps,
            rows,
            targets,
            weight,
            likelihood,
            intercept=self.fit_intercept,
            weigh=self.weigh_features,
            leave_whole_rows=whole,
            any_kernel=self._automatic("kernel"),
        )
        maps, family = choice.coordinates, choice.coordinates.family
        built = build_design(
            maps.basis(X, choice.width, choice.theta),
            X,
            weight,
            centre=self.fit_intercept,
            tol=_RANK_TOL,
            max_rank=int(self.max_rank),
        )
        basis: Any = built.basis
        coordinates: KernelMap | FeatureMap
        if family is None:
            coordinates = FeatureMap.of(rows, weight)
        else:
            coordinates = KernelMap.on(basis, built.pivots, smooth=choice.smooth)
        if built.pivots is not None and built.pivots.size * built.basis.n_columns > _MOST_NUMBERS:
            built = built.keep(np.sort(built.pivots))
        dense = DenseDesign(np.ascontiguousarray(coordinates.columns(rows)))
        free = self.fit_intercept
        problems = [
            Problem(dense.share(), y, likelihood, Jeffreys(), weight, free, leave_whole_rows=whole)
            for y in targets
        ]

        def refer(problem: Problem, near: Array | None) -> Reference:
            return Reference.fit(coordinates, problem, choice.multiple, near, moments=choice.moments)

        def paths_to(outputs: Sequence[int]) -> list[Path]:
            problem = problems[outputs[0]]
            found = self._path([references[k] for k in outputs], problem, built)
            if isinstance(coordinates, FeatureMap) and is_wide(*rows.shape):
                return [found, *self._sparser(found, problem, built, rows)]
            return [found]

        work = Parallel(n_jobs=self.n_jobs, prefer="threads")
        references = work(
            delayed(refer)(*output) for output in zip(problems, choice.latents, strict=True)
        )
        theta_of = choice.theta_of
        if theta_of is not None:

            def map_of(part: Index) -> KernelMap | FeatureMap:
                return maps.on(rows[part], weight[part], choice.width, theta_of(part), choice.smooth)

            references = left_out_by_folds(references, problems, rows, map_of)
        references = [self._calibrate(*pair) for pair in zip(references, problems, strict=True)]
        self._fit_coupling(references, targets, weight)
        # A kernel that is there for one output costs nothing for another. A feature's weight has a
        # meaning for each.
        outputs = range(len(targets))
        together = [outputs] if kernel is not None else [[k] for k in outputs]
        paths: list[list[Path]] = work(delayed(paths_to)(group) for group in together)
        best = self._best_prior(paths, targets, weight)
        return Answer(kernel, family, choice, built, best, self.tolerance_, self._price)

    def _adopt(self, answer: Answer, began: float) -> None:
        """Become the model that an answer leads to."""
        self._taken, self.tolerance_, self._price = answer.kernel, answer.tolerance, answer.price
        for stale in ("gamma_", "kernel_", "feature_scales_"):  # of a fit with another kernel
            self.__dict__.pop(stale, None)
        if answer.family is not None:
            family, choice = answer.family, answer.choice
            self.gamma_ = family.gamma_at(choice.width)
            self.kernel_ = family.kernel_at(choice.width, choice.theta)
            self.feature_scales_ = np.where(family.unit > 0, choice.theta, 0.0)
        reports, end_reports = begin_reports(self, len(answer.paths))
        self._paths = [
            path.report(report, began) for path, report in zip(answer.paths, reports, strict=True)
        ]
        end_reports()
        self._built = answer.built._replace(design=None)  # type: ignore[arg-type]
        self.reference_: list[Any] = list(answer.references)
        self.path_ = [
            Point(index.size, float(nats), output)
            for output, path in enumerate(self._paths)
            for index, nats in zip(path.columns, path.nats, strict=True)
        ]
        self._publish_sizes([path.size(self.tolerance_, self._price) for path in self._paths])

    def _leaves_whole_rows(self, X: Any) -> bool:
        """Leave out all copies of a row: one that stays would tell the target of the one left out.

        Unless rows that are alike disagree: then they are a few possible rows, each seen many times.
        """
        return bool(distinct_rows(X)[0].size == X.shape[0])

    def _counted(self, X: Array, weight: Array) -> Array:
        """Return what each different row counts for."""
        return weight

    # ---- publish --------------------------------------------------------------------------

    def _publish_sizes(self, sizes: Sequence[int]) -> None:
        """Become the models of these sizes, one for each path."""
        self._sizes, fits = list(sizes), []
        for number, (size, path) in enumerate(zip(sizes, self._paths, strict=True)):
            kind = "features" if self._on_features else "kernels"
            message = path.message(size, kind, self.tolerance_, self._price)
            history = [
                Record(k + 1, -nats, path.columns[k].size, 0.0, number)
                for k, nats in enumerate(path.nats)
            ]
            for posterior, likelihood in zip(path.posteriors[size], path.likelihoods, strict=True):
                fits.append(
                    Fit(path.columns[size], posterior, likelihood, Status(True, message), history)
                )
                history = []  # is told once
        self._publish(fits, self._built.basis, self._built.centre, self._built.note)
        self._far_variance = prior_residual_variance(self._paths[0], sizes[0], self._built.basis)

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
        longest = max(path.columns[-1].size for path in self._paths)
        if not (k == 0 or is_count(k)) or k > longest:
            raise ValueError(f"k must be a whole number from 0 to {longest}, got {k!r}.")
        other = copy(self)
        other._publish_sizes([path.place(int(k)) for path in self._paths])
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
        if not self._on_features:  # features are but their numbers
            used = np.unique(np.concatenate([index for path in paths for index in path.columns]))
            kept: Any = basis.keep(used)
            other._rows = self._rows[kept.source]
            basis = replace(kept, source=np.arange(used.size))
        other._paths = [path.without_reference(used) for path in paths]
        other._built = self._built._replace(basis=basis, centre=self._built.centre[used], pivots=None)
        other.reference_ = []
        most = [path.columns[-1].size for path in paths]
        other.path_ = [point for point in self.path_ if point.kernels <= most[point.output]]
        other._publish_sizes(sizes)
        other.status_ = self.status_
        return other
