"""Rows whose numbers may be larger than a graph in single precision holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..magnitude import LARGEST
from ._onnx_graph import Tensor, Value, zeros


@dataclass(frozen=True)
class Rows:
    """The numbers ``values / root**degree``, with a root between zero and one for each row.

    Without a root they are as they are. Only rows far beyond the training rows have roots below one.
    """

    values: Tensor
    root: Tensor | None = None
    degree: int = 1

    def unit(self, times: int = 1) -> Tensor | float:
        """Return what numbers were multiplied by whose degree is this many times that of the rows."""
        return 1.0 if self.root is None else power(self.root, self.degree * times)

    def plain(self) -> Tensor:
        """Return the numbers themselves, infinite where they are too large."""
        values = self.values
        if self.root is not None:
            for _ in range(self.degree):
                values = values / self.root
        return values

    def times(self, factor: Any) -> Rows:
        """Return the product with numbers of degree zero."""
        return replace(self, values=self.values * factor)

    def dot(self, matrix: Any) -> Rows:
        """Return the product with a matrix."""
        return replace(self, values=self.values @ matrix)

    def columns(self, index: Any) -> Rows:
        """Return some of the columns."""
        return replace(self, values=self.values.columns(index))

    def plus(self, number: Any) -> Rows:
        """Return the sum with constants."""
        return replace(self, values=self.values + self.scaled(number))

    def scaled(self, number: Any) -> Value:
        """Return constants in the unit of the rows."""
        found: Value = number if self.root is None else self.unit() * number
        return found

    def away(self, point: Any) -> Rows:
        """Return the difference from a point, as ``Tensor.away`` does."""
        if self.root is None:
            return replace(self, values=self.values.away(point))
        near = np.asarray(point).astype(np.float32).astype(np.float64)
        apart, rest = self.values - self.scaled(near), point - near
        return replace(self, values=apart - self.scaled(rest) if rest.any() else apart)

    def within(self, sizes: Any) -> Rows:
        """Return the rows shrunk, in single precision, until no number exceeds the size of its column.

        Missing numbers remain missing, and infinite ones become so.
        """
        if self.values.graph.dtype != np.float32:
            return self
        sizes = np.asarray(sizes, dtype=np.float64)
        least = float(sizes.min())
        size = self.values.abs() * (least / sizes)
        size = size.above(least).where(size, least)
        factor: Tensor = least / size.graph.op("ReduceMax", size, axes=[-1])
        values = self.values * factor
        if self.root is None:
            return Rows(values, factor)
        root = factor if self.degree == 1 else factor.graph.op("Pow", factor, 1 / self.degree)
        return Rows(values, self.root * root, self.degree)

    def beside(self, *others: Rows) -> Rows:
        """Return the columns of all of them next to each other, with the smallest of their roots."""
        every = (self, *others)
        roots = list(dict.fromkeys(each.root.name for each in every if each.root is not None))
        if not roots:
            return Rows(self.values.beside(*(each.values for each in others)))
        root, degree = Tensor(self.values.graph, roots[0]), max(each.degree for each in every if each.root)
        for name in roots[1:]:
            root = root.at_most(Tensor(root.graph, name))
        first, *rest = (each.in_units_of(root, degree) for each in every)
        return Rows(first.beside(*rest), root, degree)

    def in_units_of(self, root: Tensor, degree: int) -> Tensor:
        """Return the values that these rows have with a smaller root and a higher degree."""
        own = 0 if self.root is None else self.degree
        values = self.values if degree == own else self.values * power(root, degree - own)
        if self.root is None or self.root.name == root.name:
            return values
        return values * power(root / self.root, own)

    def refusal(self) -> Tensor:
        """Return zeros, with NaN for rows that Python refuses: with too large or infinite numbers."""
        graph = self.values.graph
        limit: Tensor | float = min(LARGEST, float(np.finfo(graph.dtype).max))
        if self.root is not None and self.degree > 1:
            limit = power(self.root * LARGEST ** (1 / self.degree), self.degree)
        sound = graph.op("LessOrEqual", self.values.abs(), limit)
        found: Tensor = sound.where(0.0, np.nan).sum()
        return found if self.root is None else found + 0.0 / self.root  # zero for infinite input


def power(base: Tensor, exponent: int) -> Tensor:
    """Return a power by squaring."""
    if exponent == 0:
        return zeros(base) + 1.0
    result = base
    for digit in bin(exponent)[3:]:  # from the second binary digit on: square, multiply
        result = result * result
        result = result * base if digit == "1" else result
    return result

