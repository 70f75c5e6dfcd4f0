"""The fitted attributes of a flagship, and the methods that publish another size."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._component import is_count
from ..model.callbacks import begin_reports
from ..model.kernel_model import KernelModel
from ..model.output import Fit
from ..solvers import Record, Status
from .path import Path, PathPoint

if TYPE_CHECKING:
    from .fit import Published
    from .search import Choice


class PathModel(KernelModel):
    """A model with a path: models of every size, one of which is published."""

    n_features_in_: int
    _paths: list[Path]

    def _publish_fit(self, found: Published, began: float) -> None:
        """Publish the winner of a fit that began at this time."""
        winner = found.winner
        self._rows = self._rows[found.kept]
        self.tolerance_, self._price = found.tolerance, found.price
        self.candidates_ = found.trials
        if self._task.classifies:
            self.coupling_ = found.coupling
        self._publish_kernel(winner.fitted.choice)
        reports, end_reports = begin_reports(self, len(found.paths))
        pairs = zip(found.paths, reports, strict=True)
        self._paths = [path.report(report, began) for path, report in pairs]
        end_reports()
        built = winner.fitted.built
        self._built = built._replace(design=None, note=built.note + found.note)  # type: ignore[arg-type]
        self.reference_: list[Any] = winner.fitted.references
        self.path_ = [
            PathPoint(index.size, float(nats), output)
            for output, path in enumerate(self._paths)
            for index, nats in zip(path.columns, path.nats, strict=True)
        ]
        self._publish_steps([path.select(self.tolerance_, self._price) for path in self._paths])
        if not self._task.classifies:
            self.noise_variance_ = float(self.likelihoods_[0].variance)

    def _publish_kernel(self, choice: Choice) -> None:
        """Publish the kernel, or remove that of an earlier fit."""
        for stale in ("gamma_", "kernel_", "feature_scales_"):
            self.__dict__.pop(stale, None)
        family = choice.features.family
        self._chose_features = family is None
        if family is not None:
            self.gamma_ = family.gamma_at(choice.width)
            self.kernel_ = family.kernel_at(choice.width, choice.theta)
            self.feature_scales_ = family.feature_scales(choice.theta)

    def _publish_steps(self, steps: Sequence[int]) -> None:
        """Publish the models of these steps, one for each path."""
        self._steps, fits = list(steps), []
        kind = "features" if self._on_features else "kernels"
        for number, (step, path) in enumerate(zip(steps, self._paths, strict=True)):
            message = path.message(step, kind, self.tolerance_, self._price)
            history = [
                Record(k + 1, -nats, path.columns[k].size, 0.0, number)
                for k, nats in enumerate(path.nats)
            ]
            for posterior, likelihood in zip(path.posteriors[step], path.likelihoods, strict=True):
                status = Status(True, message)
                fits.append(Fit(path.columns[step], posterior, likelihood, status, history))
                history = []  # outputs that share a path have one history
        self._publish(fits, self._built.basis, self._built.centre, self._built.note)
        self._far_variance = self._paths[0].far_variance(steps[0], self._built.basis)

    def with_kernels(self, k: int) -> Self:
        """Return the model with this many kernels (or features for each output), without refitting.

        Parameters
        ----------
        k : int
            At most the largest size in ``path_``. An output with a shorter path has its largest model.

        Returns
        -------
        a copy of the model
        """
        check_is_fitted(self)
        longest = max(path.columns[-1].size for path in self._paths)
        if not (k == 0 or is_count(k)) or k > longest:
            raise ValueError(f"k must be a whole number from 0 to {longest}, got {k!r}.")
        other = copy(self)
        other._publish_steps([path.largest_within(int(k)) for path in self._paths])
        return other

    def slim(self) -> Self:
        """Return the model with only what its predictions need, for files and small devices.

        The reference and the training rows without a kernel are removed. Predictions are unchanged.
        :meth:`with_kernels` goes up to the present size, and ``reference_`` is empty.

        Returns
        -------
        a copy of the model
        """
        check_is_fitted(self)
        other = copy(self)
        steps = self._steps
        paths = [path.up_to(step) for path, step in zip(self._paths, steps, strict=True)]
        basis, used = self._built.basis, np.arange(self._built.basis.n_columns)
        if not self._on_features:  # a basis of features holds only their indices
            used = np.unique(np.concatenate([index for path in paths for index in path.columns]))
            kept: Any = basis.keep(used)
            other._rows = self._rows[kept.source]
            basis = replace(kept, source=np.arange(used.size))
        other._paths = [path.without_reference(used) for path in paths]
        other._built = self._built._replace(basis=basis, centre=self._built.centre[used], pivots=None)
        other.reference_ = []
        most = [path.columns[-1].size for path in paths]
        other.path_ = [point for point in self.path_ if point.kernels <= most[point.output]]
        other._publish_steps(steps)
        other.status_ = self.status_
        return other
