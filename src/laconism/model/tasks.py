"""Labels or values: the task that an estimator is given instead of overriding methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from .._protocols import Array, Index
from ..judging.rows import canonical_order
from ..likelihoods import REGISTRY, Binary, Likelihood, Noise
from ..magnitude import check_largest
from .validation import about_targets, check_one_kind

BINARY: Mapping[str, Callable[..., Any]] = {
    name: kind for name, kind in REGISTRY.items() if issubclass(kind, Binary)
}
NOISES: Mapping[str, Callable[..., Any]] = {
    name: kind for name, kind in REGISTRY.items() if issubclass(kind, Noise)
}


class FitData(NamedTuple):
    """Validated rows with their weights, the targets of each output and their distribution."""

    X: Any
    weight: Array
    targets: Sequence[Array]
    likelihood: Likelihood
    sample_shape: tuple[int, ...] | None = None  # of samples that were tables

    def canonical_order(self) -> Index:
        """Return the rows in an order that does not depend on the order in which they are given."""
        return canonical_order(self.X, *self.targets, self.weight)

    def on(self, rows: Index) -> Self:
        """Return some of the rows."""
        targets = [y[rows] for y in self.targets]
        return self._replace(X=self.X[rows], weight=self.weight[rows], targets=targets)


class Labels:
    """The task of classification: two classes on one latent, more of them one against the rest."""

    named = BINARY
    kind: type = Binary
    classifies = True

    def encode(self, y: Any) -> tuple[Sequence[Array], Array]:
        """Return the labels -1, +1 of each output, and the classes."""
        check_one_kind(y)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if classes.size < 2:
            only = classes.tolist()[0]
            raise ValueError(f"A classifier needs at least two classes, got one class ({only!r}).")
        positive = [1] if classes.size == 2 else range(classes.size)
        return [np.where(codes == k, 1.0, -1.0) for k in positive], classes

    def shape(self, values: Array) -> Any:
        """Return the published form of one number, or one row of weights, for each output."""
        return values


@dataclass(frozen=True)
class Values:
    """The task of regression: numbers with noise."""

    named: Mapping[str, Callable[..., Any]] = field(default_factory=lambda: NOISES)
    kind: type = Noise
    classifies = False

    def encode(self, y: Any) -> tuple[Sequence[Array], None]:
        """Return the targets as doubles that can be squared."""
        return [as_targets(y)], None

    def shape(self, values: Array) -> Any:
        """Return the published form of one number, or one row of weights, of the only output."""
        return float(values[0]) if values.ndim == 1 else values[0]


def as_targets(y: Any) -> Array:
    """Return the targets of a regression as doubles that can be squared."""
    given = np.asarray(y)
    numbers = given.dtype.kind in "biuf" and np.isfinite(given).all()
    sentence = None if numbers else about_targets(given, numeric=True)
    if sentence is not None:
        raise ValueError(sentence)
    targets: Array = given.astype(np.float64, copy=False)
    check_largest(targets, "targets", "y")
    return targets
