"""ONNX's TensorProto in a .pb file, as in the test data of ONNX models.

Source: onnx/onnx.proto; the wire format of Protocol Buffers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mluop_omp.golden.comparison._files._elements import map_elements, require_size, stored, typed

# The fields of a TensorProto.
_DIMS, _DTYPE, _STRINGS, _RAW, _EXTERNAL, _LOCATION = 1, 2, 6, 9, 13, 14
# Fields with elements: the type of those that have a fixed width, None for varints.
_TYPED = {4: "float32", 5: None, 7: None, 10: "float64", 11: None}
_FIELDS = {4: "float_data", 5: "int32_data", 7: "int64_data", 10: "double_data", 11: "uint64_data"}


class _Type(NamedTuple):
    name: str
    field: int  # of the elements, unless they are in raw_data
    parts: int = 1  # numbers of an element in that field


_TYPES = {
    1: _Type("float32", 4),
    **{2: _Type("uint8", 5), 3: _Type("int8", 5), 4: _Type("uint16", 5), 5: _Type("int16", 5)},
    **{6: _Type("int32", 5), 7: _Type("int64", 7), 9: _Type("bool", 5), 10: _Type("float16", 5)},
    **{11: _Type("float64", 10), 12: _Type("uint32", 11), 13: _Type("uint64", 11)},
    **{14: _Type("complex64", 4, 2), 15: _Type("complex128", 10, 2), 16: _Type("bfloat16", 5)},
}
_WIDTHS = {1: 8, 5: 4}


class _Message:
    """The fields of a message: the last place of each, and the bytes of repeated numbers."""

    def __init__(self, data: Any) -> None:
        self._data, self._at = data, 0
        self.places: dict[int, tuple[int, int]] = {}
        self._numbers: dict[int, list[bytes]] = {}
        while self._at < len(data):
            key = self._varint()
            field, wire = key >> 3, key & 7
            if field == 0 or wire not in (0, 1, 2, 5):
                raise self._invalid(f"field {field} of wire type {wire}")
            begin = self._at
            if wire == 0:
                self._varint()
            else:
                size = self._varint() if wire == 2 else _WIDTHS[wire]
                begin = self._at
                self._at += size
            if self._at > len(data) or (field == _RAW and wire != 2):
                raise self._invalid(f"field {field} at byte {begin} to {self._at} of {len(data)}")
            self.places[field] = begin, self._at
            if field == _DIMS or field in _TYPED:
                self._numbers.setdefault(field, []).append(bytes(data[begin : self._at]))

    def number(self, field: int) -> int:
        """Returns the number in a field, 0 without it."""
        values = _varints(bytes(self._data[slice(*self.places.get(field, (0, 0)))]), field)
        return int(values[-1]) if len(values) else 0

    def numbers(self, field: int) -> bytes:
        return b"".join(self._numbers.get(field, ()))

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            if self._at == len(self._data):
                raise self._invalid("the end of the file in a number")
            byte = int(self._data[self._at])
            self._at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise self._invalid("a number of more than 10 bytes")

    @staticmethod
    def _invalid(found: str) -> ValueError:
        return ValueError(f"found {found}, expected a TensorProto of ONNX")


def read_pb(path: Path) -> Any:
    size = path.stat().st_size
    data: Any = np.memmap(path, np.uint8, "r") if size else b""
    message = _Message(memoryview(data))
    if message.number(_LOCATION) == 1 or _EXTERNAL in message.places:
        raise ValueError("the elements are in another file (external_data), expected raw_data")
    code = message.number(_DTYPE)
    if code not in _TYPES:
        expected = ", ".join(f"{key} ({each.name})" for key, each in _TYPES.items())
        raise ValueError(f"data_type is {code}, expected {expected}, of a TensorProto of ONNX")
    kind = _TYPES[code]
    shape = _varints(message.numbers(_DIMS), _DIMS).view(np.int64).tolist()
    held = [field for field in (*_TYPED, _STRINGS) if field in message.places]
    if _RAW in message.places:
        if held:
            raise ValueError("the elements are in raw_data and in a field of numbers, expected one")
        begin, end = message.places[_RAW]
        return typed(map_elements(path, end - begin, stored(kind.name), shape, begin), kind.name)
    if any(field != kind.field for field in held):
        raise ValueError(f"{kind.name} elements are not in {_FIELDS[kind.field]}, expected there")
    return typed(_numbers(message.numbers(kind.field), kind, shape), kind.name)


def _numbers(data: bytes, kind: _Type, shape: list[int]) -> np.ndarray:
    """Returns the elements in a field of numbers."""
    dtype, width = stored(kind.name), _TYPED[kind.field]
    if width is not None:
        require_size(len(data), dtype, shape)
        return np.frombuffer(data, dtype).reshape(shape)
    count = int(np.count_nonzero(np.frombuffer(data, np.uint8) < 128))
    require_size(count * dtype.itemsize, dtype, shape)
    values = _varints(data, kind.field)
    integers = values.view(np.int64) if kind.field != 11 else values
    # float16 and bfloat16 are the bits in an integer.
    bits = np.dtype(np.uint16) if kind.name in ("float16", "bfloat16") else dtype
    limits = (0, 1) if kind.name == "bool" else (np.iinfo(bits).min, np.iinfo(bits).max)
    lowest, highest = integers.min(initial=limits[0]), integers.max(initial=limits[0])
    if lowest < limits[0] or highest > limits[1]:
        raise ValueError(
            f"{_FIELDS[kind.field]} has numbers from {lowest} to {highest}, expected "
            f"{limits[0]} to {limits[1]} for {kind.name}"
        )
    narrow = integers.astype(bits)
    return (narrow.view(dtype) if kind.name == "float16" else narrow).reshape(shape)


def _varints(data: bytes, field: int) -> np.ndarray:
    """Decodes consecutive varints into uint64."""
    encoded = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(encoded < 128)
    if len(encoded) and (not len(ends) or ends[-1] != len(encoded) - 1):
        raise ValueError(f"field {field} ends within a number")
    begins = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    lengths = ends - begins + 1
    if len(ends) and lengths.max() > 10:
        raise ValueError(
            f"field {field} has a number of {lengths.max()} bytes, expected at most 10"
        )
    values = np.zeros(len(ends), np.uint64)
    for k in range(int(lengths.max()) if len(ends) else 0):
        rows = np.flatnonzero(lengths > k)
        part = (encoded[begins[rows] + k] & 127).astype(np.uint64)
        values[rows] |= part << np.uint64(7 * k)
    return values
