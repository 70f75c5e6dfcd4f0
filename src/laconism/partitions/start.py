"""From a model that was fitted to a sample to one that is fitted to all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..likelihoods import Binary, Gaussian
from .sums import Columns, Point
from .values import noise_variance, shifted
from .weigh import Setting

if TYPE_CHECKING:
    from .._protocols import Index
    from ..design import Built
    from ..model.output import Fit
    from ..model.tasks import FitData
    from .describe import Description
    from .parts import Partitions

# Up to this many features all of them are summed in every pass, so that no check is needed.
_MAX_WHOLE_COLUMNS = 300


class Family(Protocol):
    """How the models of one family are fitted to partitions."""

    def fit(self, setting: Setting, points: Sequence[Point], sample: Any) -> tuple[list[Fit], float]:
        """Return the fit of every output on all rows, and the squared residuals of values."""

    def needs_all(self, output: int) -> bool:
        """Whether no weight of an output becomes zero, so that all columns are needed."""


@dataclass(frozen=True)
class PartitionedRows:
    """All rows of a fit: the partitions, and what they hold."""

    partitions: Partitions
    description: Description

    def setting(self, data: FitData, columns: Columns, *, intercept: bool, **more: Any) -> Setting:
        """Return what all passes of a fit share; ``data`` is the sample."""
        encoding = self.description.encoding
        if encoding.classes is None:
            if not isinstance(data.likelihood, Gaussian):
                raise ValueError(
                    f"Sums over partitions determine Gaussian noise only, got {data.likelihood!r}; use "
                    f"likelihood='gaussian', or fit a sample of the rows on one machine."
                )
            level = float(np.average(data.targets[0], weights=data.weight)) if intercept else 0.0
            encoding = replace(encoding, level=level)
        total = self.description.weight
        return Setting(self.partitions, encoding, columns, total, intercept, **more)

    def publish(
        self, model: Any, data: FitData, built: Built, family: Family, *, kernels: bool, intercept: bool
    ) -> list[Fit]:
        """Weigh the columns of a model on all rows, and publish it.

        The model was fitted to the sample ``data``, whose columns are ``built``.
        """
        kept = [model.basis_.source[columns] for columns in model._columns]
        places, columns = _candidates(built, kept, kernels)
        setting = self.setting(data, columns, intercept=intercept, kernels=kernels, tol=model.tol)
        points = []
        for k, (place, posterior) in enumerate(zip(places, model.posteriors_, strict=True)):
            w = np.zeros(columns.size)
            w[place] = posterior.mean
            b = posterior.intercept + float(columns.centre @ w) if intercept else 0.0
            whole = family.needs_all(k) or (columns.size <= _MAX_WHOLE_COLUMNS and not kernels)
            index = np.arange(columns.size) if whole else np.sort(place)
            points.append(Point(index, w[index], b, data.likelihood, k))
        fits, squares = family.fit(setting, points, data.X)
        if not isinstance(data.likelihood, Binary):
            fits = [shifted(fit, setting.encoding.level) for fit in fits]
            model.noise_variance_ = noise_variance(fits[0], squares, setting.total)
        published: list[Fit] = model._publish(fits, columns.basis, columns.centre, built.note)
        return published


def _candidates(built: Built, kept: Sequence[Index], kernels: bool) -> tuple[list[Index], Columns]:
    """Return the candidate columns, and where those of each output are among them.

    All features are candidates. Of kernels they are those that span the others on the sample.
    """
    place = {int(source): column for column, source in enumerate(built.basis.source)}
    columns = [np.array([place[int(source)] for source in each], dtype=np.intp) for each in kept]
    index = np.arange(built.basis.n_columns)
    if kernels and built.pivots is not None:
        index = np.unique(np.concatenate([built.pivots, *columns]))
    candidates = Columns(built.basis.keep(index), np.asarray(built.centre[index], dtype=np.float64))
    return [np.searchsorted(index, each) for each in columns], candidates


def join_columns(point: Point, added: Index) -> Point:
    """Return the point with further columns, of weight zero."""
    index = np.concatenate([point.index, added])
    order = np.argsort(index)
    return replace(point, index=index[order], w=np.append(point.w, np.zeros(added.size))[order])


def repeat_until_complete(
    setting: Setting,
    points: Sequence[Point],
    fit: Callable[[Sequence[Point]], list[Any]],
    missing: Callable[[list[Any]], list[Index]],
    max_rounds: int = 2,
) -> list[Any]:
    """Fit, ask all rows whether a column is missing, add what is, and fit again."""
    found = fit(points)
    if all(point.index.size == setting.columns.size for point in points):
        return found
    for _ in range(max_rounds):
        more = missing(found)
        if not any(index.size for index in more):
            break
        found = fit([join_columns(each.point, added) for each, added in zip(found, more, strict=True)])
    return found
