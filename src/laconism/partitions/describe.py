"""The first pass: what each partition holds, and whether a model can be fitted to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from .._protocols import Array
from ..magnitude import LARGEST
from ..model.validation import weight_of_classes
from .parts import Part, Partitions

# A partition with more labels than this has values, not classes.
_MAX_CLASSES = 1_000
# Classes, counts and weights of a partition of values.
_NOTHING = (np.zeros(0), np.zeros(0), np.zeros(0))


class PartDescription(NamedTuple):
    """What one partition holds; ``problem`` is a sentence if it cannot be used."""

    rows: int
    n_features: int
    bytes: int
    weight: float
    classes: Any
    counts: Any  # rows of each class
    weight_of: Any  # weight of each class
    problem: str | None = None


@dataclass(frozen=True)
class Encoding:
    """How targets become numbers: the labels -1, +1 of an output, or values less a level."""

    classes: Any  # None for values
    class_weight: Array | None = None  # a factor for each class
    level: float = 0.0

    @property
    def n_outputs(self) -> int:
        """The number of latents: one for two classes or for values."""
        return 1 if self.classes is None or self.classes.size == 2 else int(self.classes.size)

    def targets(self, y: Array, output: int) -> Array:
        """Return the targets of one output."""
        if self.classes is None:
            return np.asarray(y, dtype=np.float64) - self.level
        positive = self.classes[1 if self.classes.size == 2 else output]
        return np.where(y == positive, 1.0, -1.0)

    def weights(self, part: Part) -> Array:
        """Return the weights of the rows of a partition, with those of their classes."""
        if self.class_weight is None or self.classes is None:
            return part.weight
        return np.asarray(part.weight * self.class_weight[np.searchsorted(self.classes, part.y)])


@dataclass(frozen=True)
class Description:
    """What all partitions hold."""

    parts: Sequence[PartDescription]
    encoding: Encoding
    counts: Any  # rows of each class, or of all

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(part.rows for part in self.parts)

    @property
    def weight(self) -> float:
        """The sum of the weights of all rows."""
        factors = self.encoding.class_weight
        if factors is None:
            return sum(part.weight for part in self.parts)
        return sum(float(part.weight_of @ factors[self._codes(part)]) for part in self.parts)

    def _codes(self, part: PartDescription) -> Any:
        return np.searchsorted(self.encoding.classes, part.classes)

    @property
    def bytes(self) -> int:
        """The size of the features."""
        return sum(part.bytes for part in self.parts)


def describe(partitions: Partitions, *, classifies: bool, class_weight: Any = None) -> Description:
    """Check all partitions and count their rows and classes.

    The first partition that cannot be used is named.
    """
    parts = partitions.gather("describe", describe_part, classifies)
    widths = {part.n_features for part in parts if part.rows}
    for number, part in enumerate(parts):
        if part.problem is not None:
            raise ValueError(f"Partition {number} cannot be used: {part.problem}")
        if part.rows and part.n_features != parts[0].n_features and len(widths) > 1:
            raise ValueError(
                f"Partition {number} has {part.n_features} features, partition 0 has "
                f"{parts[0].n_features}; all partitions need the same columns."
            )
    if not sum(part.weight for part in parts) > 0:
        raise ValueError("There are no rows of positive weight in any partition.")
    if not classifies:
        return Description(parts, Encoding(None), np.array([sum(part.rows for part in parts)]))
    classes = np.unique(np.concatenate([part.classes for part in parts if part.rows]))
    if classes.size < 2:
        only = classes.tolist()[0]
        raise ValueError(f"A classifier needs at least two classes, got one class ({only!r}).")
    counts = np.zeros(classes.size, dtype=np.int64)
    for part in parts:
        counts[np.searchsorted(classes, part.classes)] += part.counts
    return Description(parts, Encoding(classes, _factors(class_weight, classes, counts)), counts)


def _factors(class_weight: Any, classes: Any, counts: Any) -> Array | None:
    """Return the weight of each class, as scikit-learn defines them for all rows together."""
    if class_weight is None:
        return None
    factors = weight_of_classes(class_weight, classes)  # one row of each class
    if isinstance(class_weight, str):
        factors = counts.sum() / (classes.size * counts)
    return np.asarray(factors, dtype=np.float64)


def describe_part(part: Part, number: int, own: None, classifies: bool) -> PartDescription:
    """Return what one partition holds."""
    X, y, weight = part
    values: Any = getattr(X, "data", X) if issparse(X) else X
    size = values.nbytes + getattr(X, "indices", values[:0]).nbytes
    n, p = X.shape if X.ndim == 2 else (X.shape[0], 0)
    if X.ndim != 2:
        return _unusable(part, f"X must have two dimensions, got {X.ndim}.")
    if X.dtype.kind not in "biuf":
        return _unusable(part, f"X must hold numbers, got the type {X.dtype}; encode text as numbers.")
    if not X.shape[0] == y.shape[0] == weight.shape[0]:
        lengths = f"{X.shape[0]} rows, {y.shape[0]} targets and {weight.shape[0]} weights"
        return _unusable(part, f"it has {lengths}; they must agree.")
    if X.dtype.kind == "f" and not np.isfinite(values).all():
        return _unusable(part, "X has missing or infinite values; impute or drop these rows.")
    if values.size and max(float(values.max()), -float(values.min())) > LARGEST:
        return _unusable(part, f"X has values beyond {LARGEST:.0e}; rescale the features.")
    if not np.isfinite(weight).all() or (weight < 0).any():
        return _unusable(part, "sample_weight must be finite and not negative.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        return _unusable(part, "y has missing or infinite values; drop these rows.")
    if not classifies:
        if y.dtype.kind not in "biuf":
            return _unusable(part, f"y must hold numbers, got the type {y.dtype}.")
        return PartDescription(n, p, size, float(weight.sum()), *_NOTHING)
    if y.dtype.kind == "O" and any(label is None or label != label for label in y):
        return _unusable(part, "y has missing labels; drop these rows.")
    seen = y[weight > 0]
    classes, counts = np.unique(seen, return_counts=True)
    if classes.size > _MAX_CLASSES:
        return _unusable(part, f"y has {classes.size} different labels; use a regressor for numbers.")
    weight_of = np.bincount(np.searchsorted(classes, seen), weight[weight > 0], classes.size)
    return PartDescription(n, p, size, float(weight.sum()), classes, counts, weight_of)


def _unusable(part: Part, sentence: str) -> PartDescription:
    return PartDescription(part.X.shape[0], 0, 0, 0.0, *_NOTHING, sentence)
