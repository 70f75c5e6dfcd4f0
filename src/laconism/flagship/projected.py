"""From dense references to the models of every size that say the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from .._protocols import Array, Index
from ..design import Built, DenseDesign
from ..likelihoods import Binary
from ..model.kernel_model import KernelModel
from ..posterior import GaussianPosterior
from ..solvers import Problem
from .path import Path, default_max_columns, evaluation_rows
from .prior_variance import fit_variance_power
from .projection import Projection, ShrinkagePenalty, best_columns
from .reference import Reference
from .wide import can_refit_folds, exceeds_errors, sparse_references, unseen_rows
from .wide_projection import WideProjection, left_out_by_size

# Mean and variance of the latent at each row.
Latent: TypeAlias = tuple[Array, Array]

# Columns that are looked at, as a multiple of those that may be kept; the part of the tolerance at which
# there is nothing left to add, and the nats a row at which there is not for any tolerance.
_LOOK_FURTHER, _ENOUGH, _NOTHING = 2, 0.1, 2e-4
# Columns that are looked at in any case: one may have the mean, but not yet the variance.
_LEAST = 10
# By how much the sets grow that are not chosen one by one.
_LARGER = 4
# What many features have to gain on few ones, in standard errors: the best of several is lucky.
_CLEARLY = 2.0
# The least that a row counts, as a part of the one that counts most.
_LEAST_PRECISION = 1e-10


class ProjectedModel(KernelModel):
    """Few columns instead of a reference; subclasses add what a reference says."""

    max_kernels: int | None
    tolerance_: float
    _price = 0.0

    def _calibrate(self, reference: Reference, dense: Problem) -> Reference:
        """Return the reference as sure of itself as rows left out say that it should be."""
        return reference

    def _fit_coupling(
        self, references: Sequence[Reference], targets: Sequence[Array], weight: Array
    ) -> None:
        """Settle how the answers of several references become one."""

    def _left_out(self, references: Sequence[Reference], targets: Sequence[Array]) -> Array:
        """Return the log probability of each row's target as if the row had not been seen."""
        return references[0].left_out(targets[0])

    def _precision(self, reference: Reference, share: Array) -> Array:
        """Return with which precision the latent counts at each row, to second order in nats."""
        raise NotImplementedError

    def _loss(self, references: Sequence[Reference], share: Array) -> Callable[[list[Latent]], Array]:
        """Return what says how many nats are lost at each row with other latents of the outputs."""
        raise NotImplementedError

    def _is_poor(self, path: Path, share: Array) -> bool:
        """Return whether rows that were not seen would lose much by the largest model."""
        return False

    def _add_projection_error(
        self, reference: Reference, share: Array, posterior: GaussianPosterior, m: Array
    ) -> GaussianPosterior:
        """Return the projected posterior with what its mean misses in its variance."""
        return posterior

    def _excess_variance(self, reference: Reference, y: Array, m: Array, share: Array) -> float:
        """Return the variance by which rows left out, whose latents are these, are missed by more."""
        return 0.0

    def _sparser(self, dense: Path, problem: Problem, built: Built, X: Array) -> list[Path]:
        """Return the paths to sparse references."""
        features: Any = replace(dense.references[0].coordinates, turn=None)
        Z = features.columns(X)
        paths = []
        for reference in sparse_references(features, replace(problem, design=DenseDesign(Z)), Z):
            kept: Any = reference.coordinates
            few = replace(problem, design=DenseDesign(kept.columns(X)))
            paths.append(self._path([self._calibrate(reference, problem)], few, built, kept.source))
        return paths

    def _left_out_log_density(
        self,
        paths: Sequence[Path],
        tolerance: float,
        price: float,
        targets: Sequence[Array],
        weight: Array,
    ) -> Array:
        """Return the log probability of each row left out under the models that would be taken."""
        found = [path.left_out(tolerance, price) for path in paths]
        references = [reference for said, _ in found for reference in said]
        self._fit_coupling(references, targets, weight)
        return self._left_out(references, targets) - sum(lost for _, lost in found)

    def _best_prior(
        self, paths: Sequence[Sequence[Path]], targets: Sequence[Array], weight: Array
    ) -> list[Path]:
        """Return the paths of all outputs under the sparse prior that predicts rows left out best.

        Or those to the dense references, which come first, unless it is clearly better. One prior for
        all outputs: each has but few rows of its class, and one that was unlucky spoils the others.
        """

        def says(outputs: Sequence[Path]) -> Array:
            return self._left_out_log_density(outputs, self.tolerance_, self._price, targets, weight)

        if len(paths[0]) == 1:  # there is no choice, and outputs may share it
            found = [path for (path,) in paths]
            return list(self._select_size(found, weight, says))
        kinds = [self._select_size(outputs, weight, says) for outputs in zip(*paths, strict=True)]
        (dense, before), *sparse = [(outputs, says(outputs)) for outputs in kinds]
        best, after = max(sparse, key=lambda one: float(weight @ one[1]))
        return list(best if exceeds_errors(after - before, weight) else dense)

    def _select_size(
        self,
        outputs: Sequence[Path],
        weight: Array,
        says: Callable[[Sequence[Path]], Array],
    ) -> Sequence[Path]:
        """Return the paths with the sizes that rows left out ask for, where these were asked.

        Few features, unless more of them are clearly better: as many for all outputs.
        """
        asked = [path.left for path in outputs if path.left]
        if not asked or not self._automatic("tolerance"):
            return outputs

        def taking(more: int) -> list[Path]:
            return [path.taking(more) if path.left else path for path in outputs]

        few, *larger = [taking(more) for more in range(max(map(len, asked)))]
        before, *after = [says(paths) for paths in (few, *larger)]
        best = int(np.argmax([weight @ each for each in after]))
        return larger[best] if exceeds_errors(after[best] - before, weight, _CLEARLY) else few

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
        most = int(self.max_kernels or default_max_columns(dense.weight.size, len(references)))
        precisions = [self._row_precision(reference, dense.weight, share) for reference in references]
        elsewhere, part = unseen_rows(references[0], dense, precisions[0], built.basis.n_columns)
        design = built.design.share()
        columns = best_columns(
            design if among is None else design.keep(among),
            (1 - part) * np.mean(precisions, axis=0),
            np.column_stack([reference.m for reference in references]),
            intercept=self.fit_intercept,
            most=_LOOK_FURTHER * most,
            enough=min(_ENOUGH * self.tolerance_, _NOTHING) * float(dense.weight.sum()),
            least=_LEAST,
            elsewhere=elsewhere if elsewhere is None or among is None else elsewhere.of(among),
        )
        if among is not None:
            columns = [among[index] for index in columns]

        def project(most: int) -> Path:
            few = columns[: most + 1]
            path = self._project(references, dense, built, precisions, few, elsewhere, part)
            return replace(path, whole=len(few) <= most)

        path = project(most)
        # Those that were looked at beyond what may be kept are kept where they are sorely missed.
        spared = self.max_kernels is None and len(columns) > most + 1
        if elsewhere is not None and among is None and spared and can_refit_folds(*design.shape):
            return self._extend_path(path, dense, built, precisions[0], elsewhere, part)
        path = project(_LOOK_FURTHER * most) if spared and self._is_poor(path, share) else path
        classes = isinstance(references[0].likelihood, Binary)
        return path if classes else fit_variance_power(path, dense.weight, built)

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
        elsewhere: ShrinkagePenalty | None,
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
        judges = evaluation_rows(references[0].m)
        judge = self._judge(references, dense.weight, precisions, judges, elsewhere, part)
        Phi, models = Phi[judges], []
        for index in columns:
            at = np.searchsorted(used, index)
            models.append(judge(index, [each.onto(at) for each in projections], Phi[:, at]))
        likelihoods = [reference.likelihood for reference in references]
        posteriors, nats = (list(part) for part in zip(*models, strict=True))
        return Path(list(references), likelihoods, columns, posteriors, np.array(nats))

    def _judge(
        self,
        references: Sequence[Reference],
        weight: Array,
        precisions: Sequence[Array],
        judges: Index,
        elsewhere: ShrinkagePenalty | None,
        part: float,
    ) -> Callable[[Index, list[GaussianPosterior], Array], tuple[list[GaussianPosterior], float]]:
        """Return what makes projected posteriors on some columns as wide as they should be.

        It takes the values of the columns at the rows that judge, and says what is lost, too.
        """
        seen = [reference.at(judges) for reference in references]
        share = weight[judges] / weight[judges].sum()
        lost_with, total = self._loss(seen, share), float(weight.sum())

        def judge(
            index: Index, projected: list[GaussianPosterior], here: Array
        ) -> tuple[list[GaussianPosterior], float]:
            posteriors, latents = [], []
            for reference, posterior, r in zip(seen, projected, precisions, strict=True):
                m, v = posterior.latent(here)
                posterior, v = posterior.as_wide_as(reference.target_variance(share), v, r[judges])
                posteriors.append(self._add_projection_error(reference, share, posterior, m))
                latents.append((m, v))
            lost = (1 - part) * float(share @ lost_with(latents))
            if elsewhere is not None:
                lost += elsewhere.missed(index, posteriors[0].mean) / total
            return posteriors, max(lost, 0.0)

        return judge

    def _extend_path(
        self,
        path: Path,
        dense: Problem,
        built: Built,
        precision: Array,
        elsewhere: ShrinkagePenalty,
        part: float,
    ) -> Path:
        """Return the path of a dense reference of features beyond those that are chosen one by one.

        Where each of many features says a little, few lose much. Sets four times as large in turn, up to
        all of them, are there for rows left out to ask for.
        """
        reference, r = path.references[0], (1 - part) * precision
        free, design = self.fit_intercept, built.design
        crowd = WideProjection.of(design, precision, reference.m, elsewhere, part, intercept=free)
        few, everything = len(path.columns) - 1, crowd.varying
        if path.nats.min() <= self.tolerance_ or everything <= few or few < 1:
            return path
        steps = int(np.log(everything / few) / np.log(_LARGER))
        larger = sorted({*(few * _LARGER ** np.arange(1, steps + 1)).tolist(), everything})
        every, share = np.arange(r.size), dense.weight / dense.weight.sum()
        judge = self._judge([reference], dense.weight, [precision], every, elsewhere, part)
        rows, columns, models = crowd.T / np.sqrt(r)[:, None] + crowd.centre, [], []
        means = left_out_by_size(reference, dense, design, precision, elsewhere, part, [few, *larger])
        left = [
            (m, reference.left_v + self._excess_variance(reference, dense.y, m, share)) for m in means
        ]
        for (index, w), (_, v) in zip(crowd.grow(path.columns[-1], larger), left[1:], strict=True):
            wanted = float(share @ v)
            posterior = crowd.onto(index, w, reference.posterior, dense.design, r, wanted)
            columns.append(index)
            models.append(judge(index, [posterior], rows[:, index]))
        posteriors, nats = (list(each) for each in zip(*models, strict=True))
        return replace(
            path,
            columns=path.columns + columns,
            posteriors=path.posteriors + posteriors,
            nats=np.append(path.nats, nats),
            whole=True,
            left=left,
        )
