"""Limits on the file of a model, checked before skops reads it: no part of a model is constructed here.

The file is a zip archive in the format of skops. ``schema.json`` describes a tree of nodes, each with
its class and the kind of its loader; the other members hold arrays.
"""

from __future__ import annotations

import io
import json
import math
import re
from copy import copy
from dataclasses import dataclass, field
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np

LABEL = "laconism.json"
SCHEMA = "schema.json"
# The kinds of nodes that save writes, and the classes that they construct; other kinds call what they
# name. numpy.void is no scalar here: it makes as many bytes as a number says.
_WRITTEN = re.compile(
    r"(Bytes|DType|DefaultDict|Function|Json|MaskedArray|Object|RandomState|Slice|SparseMatrix|Tuple|Type)"
    r"Node .*|(Dict|List|Set)Node (builtins\.\w+|collections\.OrderedDict|sklearn\.utils\._bunch\.Bunch)"
    r"|LossNode sklearn\.(linear_model\._sgd_fast|_loss\._loss)\.\w+|NdArrayNode numpy\.(?!void$)\w+"
)


class TooLarge(ValueError):
    """A file takes more than its reader allows."""


@dataclass
class Archive:
    """What a file takes, and what it names. A description takes more in memory than in the file."""

    path: str
    max_bytes: int = 2**29
    bytes_per_value: int = 1024
    bytes_per_character: int = 8
    max_depth: int = 500  # Python's own limit stops the writer at about this depth
    taken: int = 0
    names: set[str] = field(default_factory=set)
    untrusted: set[str] = field(default_factory=set)
    arrays: dict[str, dict[str, Any]] = field(default_factory=dict)
    _parts: dict[Any, int] = field(default_factory=dict)
    _nodes: dict[Any, Any] = field(default_factory=dict)

    def take(self, size: int) -> None:
        """Count bytes, or raise if they are too many."""
        self.taken += size
        if self.taken > self.max_bytes:
            raise TooLarge(
                f"{self.path} was not loaded: it takes {self.taken:,} bytes or more once unpacked, and "
                f"max_bytes={self.max_bytes:,}; if you know who wrote it, give laconism.load more."
            )

    def open(self, data: bytes) -> ZipFile:
        """Open an archive whose members are of different names and together not too large."""
        self.take(self.bytes_per_value * data.count(b"PK\x01\x02"))  # entries of the directory
        file = ZipFile(io.BytesIO(data))
        members, names = file.infolist(), file.namelist()
        if (
            len(set(names)) < len(names)
            or not {each.compress_type for each in members} <= {ZIP_STORED, ZIP_DEFLATED}
            or not all(re.fullmatch(r"[-\w]+\.(json|npy|npz|bin)", name) for name in names)
        ):
            raise ValueError("Members that save does not write.")
        self.take(sum(each.file_size for each in members))
        return file

    def check(self, data: bytes) -> list[str]:
        """Return the classes that no model has; raise unless arrays are what they say."""
        self.taken = 0
        with self.open(data) as file:
            self._describe(file)
            for name, node in self.arrays.items():
                content = content_of(file, name)
                if node["__loader__"] == "SparseMatrixNode":
                    self._check_sparse(content)
                elif node["__loader__"] == "NdArrayNode":
                    _check_array(content, 64 if node["__class__"] == "ndarray" else 0)
        return sorted(self.untrusted)

    def _describe(self, file: ZipFile) -> None:
        """Note what the description names: classes, and the members with arrays."""
        self.take(self.bytes_per_character * file.getinfo(SCHEMA).file_size)
        text = content_of(file, SCHEMA)
        values, depth = _extent(text)
        self.take(self.bytes_per_value * values)
        if depth <= self.max_depth:
            self._walk(json.loads(text))
        if depth > self.max_depth or {*file.namelist()} != {LABEL, SCHEMA, *self.arrays}:
            raise ValueError(f"Nested {depth} deep, or members that are not described.")

    def _walk(self, part: Any) -> tuple[Any, bool]:
        """Note what a part names; return what tells it from parts that differ, and if it names a member.

        Of nodes with one number skops reads the first only, and save writes each of them in full. With
        references instead, n nested lists of two would be visited 2^n times.
        """
        if not isinstance(part, dict | list):
            return part, False
        told: list[Any] = [type(part)]
        member = False
        for name, each in part.items() if isinstance(part, dict) else enumerate(part):
            same, holds = self._walk(each)
            member = member or holds
            if name not in ("__id__", "file") or isinstance(each, dict | list):
                told += [name, same]
        same = (self._parts.setdefault(tuple(told), len(self._parts)),)
        if isinstance(part, dict) and isinstance(part.get("__loader__"), str):
            member = self._note(part, member)
        number = part.get("__id__") if isinstance(part, dict) else None
        if isinstance(number, str | int | float) and self._nodes.setdefault(number, same) != same:
            raise ValueError("A reference.")
        return same, member

    def _note(self, node: dict[str, Any], member: bool) -> bool:
        """Note what a node names; return whether it or a node in it names a member."""
        kind, shape = node["__loader__"], node.get("shape")
        held: Any = node.get("content")
        name = f"{node['__module__']}.{node['__class__']}"
        self.names.add(name)
        if not _WRITTEN.fullmatch(f"{kind} {name}"):
            self.untrusted.add(name)
        elif (
            # a description within the description
            (kind == "JsonNode" and held.lstrip()[:1] in ("[", "{"))
            # numpy would convert the numbers
            or (kind == "MaskedArrayNode" and {held[k]["__loader__"] for k in held} != {"NdArrayNode"})
            # numpy would take the arrays in a table apart
            or (member and shape and (shape["__loader__"], len(shape["content"])) != ("TupleNode", 1))
        ):
            raise ValueError(f"A {kind} that save does not write.")
        if not isinstance(node.get("file"), str):
            return member
        if not node["__id__"] or self.arrays.setdefault(node["file"], node)["__id__"] != node["__id__"]:
            raise ValueError("An array that is read more than once.")
        return True

    def _check_sparse(self, content: bytes) -> None:
        """Raise unless a matrix in scipy's format, an archive within the archive, is a sound one."""
        from scipy.sparse import load_npz

        with self.open(content) as file:
            for each in file.namelist():
                _check_array(content_of(file, each))
        matrix: Any = load_npz(io.BytesIO(content))
        matrix.check_format(full_check=True)  # only compressed rows and columns have it


def content_of(file: ZipFile, name: str, max_bytes: float = math.inf) -> bytes:
    """Return a member; raise unless it unpacks to as many bytes as it says."""
    member = copy(file.getinfo(name))
    size = member.file_size
    if size > max_bytes:
        raise ValueError("Longer than it may be.")
    member.file_size += 1  # so that one byte too many would be read, and no more
    with file.open(member) as stream:
        content = stream.read(size + 1)
    if len(content) != size:
        raise ValueError("Longer or shorter than it says.")
    return content


def _extent(text: bytes) -> tuple[int, int]:
    """Return a bound on the number of values of a JSON text, and its depth, without parsing it."""
    outside = text.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')[::2]
    marks = np.frombuffer(
        b"".join(outside).translate(None, bytes({*range(256)} - {*b"[]{},"})), np.uint8
    )
    step = np.zeros(256, np.int8)
    step[list(b"[{")], step[list(b"]}")] = 1, -1
    depth = np.cumsum(step[marks], dtype=np.int64).max(initial=0)
    return int((step[marks] >= 0).sum()) + 1, int(depth)


def _check_array(content: bytes, n_axes: int = 64) -> None:
    """Raise unless an array in numpy's format holds all of its numbers and has no more axes."""
    stream = io.BytesIO(content)
    read = np.lib.format.read_array_header_1_0
    if np.lib.format.read_magic(stream) != (1, 0):
        read = np.lib.format.read_array_header_2_0  # 3.0 differs in the letters of names only
    shape, _, dtype = read(stream)
    size = math.prod(shape) * max(dtype.itemsize, 1)
    whole = min(shape, default=0) >= 0 and size == len(content) - stream.tell()
    if dtype.hasobject or not whole or len(shape) > n_axes:
        raise ValueError("An array is not what it says.")
