"""ONNX nodes written in numpy's notation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np

# Version of the operators: old enough for runtimes on devices, new enough for all operators used.
OPSETS = {"": 17, "ai.onnx.ml": 3}

Value: TypeAlias = "Tensor | float | np.ndarray[Any, Any]"


def import_onnx() -> Any:
    """Return the package, or raise with the command that installs it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError('to_onnx needs the package onnx: pip install "laconism[onnx]".') from error
    return onnx


def tensor_type(dtype: Any) -> int:
    """Return ONNX' number of a type of numpy."""
    return int(import_onnx().helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


@dataclass
class Graph:
    """Nodes in the order in which they are computed; numbers are of one float type.

    Names begin with a slash, so that they differ from the names of columns.
    """

    dtype: np.dtype[Any]
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    known: dict[Any, Tensor] = field(default_factory=dict)

    def cast(self, tensor: Tensor, given: Any, wanted: Any) -> Tensor:
        """Return numbers of one float type as another, which is often the same."""
        return tensor if given == wanted else self.op("Cast", tensor, to=tensor_type(wanted))

    def constant(self, value: Any) -> Tensor:
        """Return a constant; the same numbers are stored once."""
        array = np.asarray(value)
        array = array.astype(self.dtype) if array.dtype.kind == "f" else array
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.known:
            self.known[key] = self.verbatim(array)
        return self.known[key]

    def verbatim(self, array: Any) -> Tensor:
        """Return a constant as it is, of whatever type."""
        name = f"/c{len(self.constants)}"
        self.constants.append(import_onnx().numpy_helper.from_array(np.asarray(array), name))
        return Tensor(self, name)

    def op(self, kind: str, *inputs: Value, **attributes: Any) -> Tensor:
        """Return the result of an operator; the same is computed once."""
        names = [self._name(each) for each in inputs]
        key = (kind, *names, repr(attributes))
        if key not in self.known:
            self.known[key] = Tensor(self, f"/t{len(self.nodes)}")
            node = import_onnx().helper.make_node(kind, names, [self.known[key].name], **attributes)
            self.nodes.append(node)
        return self.known[key]

    def output(self, tensor: Tensor, name: str) -> None:
        """Give a result its public name."""
        self.nodes.append(import_onnx().helper.make_node("Identity", [tensor.name], [name]))

    def _name(self, value: Value) -> str:
        if isinstance(value, Tensor):
            return value.name
        return self.constant(float(value) if isinstance(value, int) else value).name


Operation: TypeAlias = "Callable[[Tensor, Value], Tensor]"


def _binary(kind: str) -> tuple[Operation, Operation]:
    """Return the methods that apply an operator with the tensor on its left, and on its right."""
    return (
        lambda tensor, other: tensor.graph.op(kind, tensor, other),
        lambda tensor, other: tensor.graph.op(kind, other, tensor),
    )


def _unary(kind: str) -> Callable[[Tensor], Tensor]:
    """Return the method that applies an operator to the tensor alone."""
    return lambda tensor: tensor.graph.op(kind, tensor)


@dataclass(frozen=True)
class Tensor:
    """A name in a graph, with arithmetic that adds nodes to it."""

    graph: Graph
    name: str
    # An array on the left leaves the operation to the tensor.
    __array_ufunc__: ClassVar[None] = None

    __add__, __radd__ = _binary("Add")
    __sub__, __rsub__ = _binary("Sub")
    __mul__, __rmul__ = _binary("Mul")
    __truediv__, __rtruediv__ = _binary("Div")
    __matmul__ = _binary("MatMul")[0]
    below, above = _binary("Less")  # where it is less, where it is greater
    at_least = _binary("Max")[0]
    at_most = _binary("Min")[0]
    __neg__ = _unary("Neg")
    exp = _unary("Exp")
    log = _unary("Log")
    sqrt = _unary("Sqrt")
    abs = _unary("Abs")

    def away(self, point: Any) -> Tensor:
        """Return the difference from a point that is given in double precision.

        The rounded point is subtracted first, which is exact for close numbers, then its rounding error.
        """
        point = np.asarray(point, dtype=np.float64)
        near = point.astype(self.graph.dtype).astype(np.float64)
        apart: Tensor = self - near
        rest: np.ndarray[Any, Any] = point - near
        return apart - rest if rest.any() else apart

    def where(self, yes: Value, no: Value) -> Tensor:
        """Return ``yes`` where this is true and ``no`` elsewhere."""
        return self.graph.op("Where", self, yes, no)

    def columns(self, index: Any) -> Tensor:
        """Return some of the columns."""
        return self.graph.op("Gather", self, np.asarray(index, dtype=np.int64), axis=1)

    def sum(self, *, keep: bool = True) -> Tensor:
        """Return the sum over the last axis."""
        return self.graph.op("ReduceSum", self, np.array([-1]), keepdims=int(keep))

    def flat(self) -> Tensor:
        """Return a single column as a vector."""
        return self.graph.op("Reshape", self, np.array([-1]))

    def beside(self, *others: Tensor) -> Tensor:
        """Return the columns of all of them next to each other."""
        return self.graph.op("Concat", self, *others, axis=1)


def zeros(X: Tensor) -> Tensor:
    """Return a column of zeros, one for each row."""
    return X.columns([0]) * 0.0
