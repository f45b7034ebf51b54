"""An ONNX file that has no model but carries facts with a program (docs/facts.md): inputs with their shapes, and one
node, since a file must have some. Written by hand, field by field of onnx.proto, so that neither an exporter nor the
onnx package is needed."""

from __future__ import annotations

import json
import os
from typing import Any

from ._facts import KEY

_TYPES = {
    "float32": 1, "uint8": 2, "int8": 3, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11,
    "complex64": 14, "bfloat16": 16,
}  # fmt: skip  # TensorProto.DataType


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _int(field: int, value: int) -> bytes:
    return _number(field << 3) + _number(value)


def _part(field: int, value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _number(field << 3 | 2) + _number(len(data)) + data


def _input(name: str, kind: str, lengths: list[Any]) -> bytes:
    dims = b"".join(_part(1, _int(1, n) if isinstance(n, int) else _part(2, "batch")) for n in lengths)
    tensor = _int(1, _TYPES.get(kind, 1)) + _part(2, dims)
    return _part(1, name) + _part(2, _part(1, tensor))


def write(path: str | os.PathLike[str], facts: dict[str, Any]) -> None:
    """facts: with at least one program."""
    program = next(iter(facts["programs"].values()))  # any: all have the same inputs
    given = [(name, *program["values"][number]) for name, number in program["given"]]
    if not given:
        raise ValueError("the forward takes no tensor")
    node = _part(1, given[0][0]) + _part(2, "output") + _part(3, "carrier") + _part(4, "Identity")
    graph = _part(1, node) + _part(2, "program")
    graph += b"".join(_part(11, _input(*one)) for one in given) + _part(12, _part(1, "output"))
    entry = _part(1, KEY) + _part(2, json.dumps(facts, separators=(",", ":")))
    model = _int(1, 8) + _part(2, "vramplan") + _part(7, graph) + _part(8, _int(2, 18)) + _part(14, entry)
    with open(path, "wb") as file:
        file.write(model)
