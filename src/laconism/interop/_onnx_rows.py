"""Rows whose numbers may be larger than a graph in single precision holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from ..magnitude import LARGEST
from ._onnx_graph import Tensor, Value, zeros


@dataclass(frozen=True)
class Rows:
    """The numbers ``scale * values / root**degree``.

    The scale is a constant of each column. The root is between zero and one, and below one only for
    rows far beyond the training rows.
    """

    values: Tensor
    root: Tensor | None = None
    degree: int = 1
    scale: Any = 1.0

    def unit(self, times: int = 1) -> Tensor | float:
        """Return what numbers were multiplied by whose degree is this many times that of the rows."""
        return 1.0 if self.root is None else power(self.root, self.degree * times)

    def settled(self) -> Rows:
        """Return the same rows with a scale of one."""
        values = self.values if np.all(self.scale == 1) else self.values * self.scale
        return replace(self, values=values, scale=1.0)

    def plain(self) -> Tensor:
        """Return the numbers themselves, infinite where they are too large."""
        values = self.settled().values
        if self.root is not None:
            for _ in range(self.degree):
                values = values / self.root
        return values

    def times(self, factors: Any) -> Rows:
        """Return the product with constants of the columns."""
        scaled = replace(self, scale=self.scale * factors)
        return scaled if np.all(factors) else scaled.settled()

    def dot(self, matrix: Any) -> Rows:
        """Return the product with a matrix, which takes up the scale.

        A runtime may fuse a product with a number into that of matrices, in single precision.
        """
        weights = np.broadcast_to(self.scale, len(matrix))[:, None] * matrix
        return replace(self, values=self.values @ weights, scale=1.0)

    def columns(self, index: Any) -> Rows:
        """Return some of the columns."""
        scale = self.scale if np.ndim(self.scale) == 0 else self.scale[index]
        return replace(self, values=self.values.columns(index), scale=scale)

    def constants(self, numbers: Any) -> Value:
        """Return constants in the unit of the values."""
        found: Value = numbers / self.scale
        return found if self.root is None else self.unit() * found

    def plus(self, numbers: Any) -> Rows:
        """Return the sum with constants."""
        return replace(self, values=self.values + self.constants(np.asarray(numbers, dtype=np.float64)))

    def away(self, point: Any) -> Rows:
        """Return the difference from a point, as ``Tensor.away`` does."""
        point = np.asarray(point, dtype=np.float64)
        if self.root is None:
            return replace(self, values=self.values.away(point / self.scale))
        near = point.astype(np.float32).astype(np.float64)
        return self.plus(-near) if np.array_equal(near, point) else self.plus(-near).plus(near - point)

    def within(self, sizes: Any) -> Rows:
        """Return the rows shrunk, in single precision, until no number exceeds the size of its column.

        Missing numbers remain missing, and infinite ones become so.
        """
        if self.values.graph.dtype != np.float32:
            return self
        sizes = np.asarray(sizes / self.scale, dtype=np.float64)
        least = float(sizes.min())
        size = self.values.abs() * (least / sizes)
        size = size.above(least).where(size, least)
        factor: Tensor = least / size.graph.op("ReduceMax", size, axes=[-1])
        root = factor if self.root is None else self.root * factor
        return replace(self, values=self.values * factor, root=root)

    def beside(self, *others: Rows) -> Rows:
        """Return the columns of all of them, with a scale each, side by side: roots are multiplied."""
        every, values = (self, *others), list[Tensor]()
        scale = np.concatenate([each.scale for each in every])
        roots = {each.root.name: each.root for each in every if each.root is not None}
        if not roots:
            return Rows(self.values.beside(*(each.values for each in others)), scale=scale)
        for each in every:
            rest = [root for name, root in roots.items() if each.root is None or each.root.name != name]
            values.append(reduce(mul, rest, each.values))
        return Rows(values[0].beside(*values[1:]), reduce(mul, roots.values()), 1, scale)

    def refusal(self) -> Tensor:
        """Return zeros, with NaN for rows that Python refuses: with too large or infinite numbers."""
        graph = self.values.graph
        limit: Value = np.minimum(LARGEST / np.asarray(self.scale), float(np.finfo(graph.dtype).max))
        if self.root is not None and self.degree > 1:
            limit = power(self.root * LARGEST ** (1 / self.degree), self.degree)
        sound = graph.op("LessOrEqual", self.values.abs(), limit)
        return sound.where(0.0, np.nan).sum()


def power(base: Tensor, exponent: int) -> Tensor:
    """Return a power by squaring."""
    if exponent == 0:
        return zeros(base) + 1.0
    result = base
    for digit in bin(exponent)[3:]:  # from the second binary digit on: square, multiply
        result = result * result
        result = result * base if digit == "1" else result
    return result
