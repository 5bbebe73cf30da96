"""Files of raw elements, and the list that states their element types and shapes."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from pathlib import Path
from typing import Any

from mluop_omp.golden.comparison._files._elements import (
    is_integers,
    map_elements,
    named,
    stored,
    unique,
)
from mluop_omp.golden.comparison._values import DTYPES, Deferred, Tensor

# Names from mlu_op.h, accepted besides NumPy names.
_ALIASES = {"half": "float16", "float": "float32", "double": "float64"}
# The codes of Qnn_DataType_t for elements that a file can hold; fixed-point numbers are integers.
_QNN_DTYPES = {
    **{0x0008: "int8", 0x0016: "int16", 0x0032: "int32", 0x0064: "int64"},
    **{0x0108: "uint8", 0x0116: "uint16", 0x0132: "uint32", 0x0164: "uint64"},
    **{0x0216: "float16", 0x0232: "float32", 0x0264: "float64", 0x0508: "bool"},
    **{0x0308: "int8", 0x0316: "int16", 0x0332: "int32"},
    **{0x0408: "uint8", 0x0416: "uint16", 0x0432: "uint32"},
}
# The folders of qnn-net-run and snpe-net-run for each line of their list of inputs.
_RESULT = re.compile(r"Result_\d+/")
# What snpe-net-run appends to the names of tensors, and qnn-net-run to names of native files.
_INDEX, _NATIVE = re.compile(r":\d+$"), "_native"
_MAX_LIST = 100_000_000


@dataclasses.dataclass(frozen=True)
class Described:
    """Element type and shape of a tensor in a list. native: the type of its `_native` file."""

    shape: tuple[int, ...]
    dtype: str | None = None
    native: str | None = None


@dataclasses.dataclass(frozen=True)
class RawFormat:
    """Element type and shape of raw files. shape: None for one row of all elements.

    shapes: tensors by name, as `read_shapes` returns them; None without a list.
    """

    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    shapes: dict[str, Described] | None = None


def read_raw(path: Path, raw: RawFormat, name: str) -> Tensor:
    dtype, shape = _described(raw, name)
    if dtype is None:
        raise ValueError(
            "a raw file requires --dtype, and --shape or --shapes if it is not one row"
        )
    element, size = stored(_known(dtype)), path.stat().st_size
    if shape is None and size % element.itemsize:
        raise ValueError(f"the file has {size} bytes, expected a multiple of {element.itemsize}")
    extents = (size // element.itemsize,) if shape is None else shape
    return Tensor(map_elements(path, size, element, extents, 0), _known(dtype))


def _described(raw: RawFormat, name: str) -> tuple[str | None, tuple[int, ...] | None]:
    if raw.shapes is None:
        return raw.dtype, raw.shape
    plain = _RESULT.sub("", name, count=1) if _RESULT.match(name) else name
    tensor = _INDEX.sub("", plain)
    if plain in raw.shapes or tensor in raw.shapes:
        listed = raw.shapes.get(plain) or raw.shapes[tensor]
        # The runners write float32 unless they are told to write native elements.
        return listed.dtype or raw.dtype or "float32", listed.shape
    entry = raw.shapes.get(tensor.removesuffix(_NATIVE))
    if entry is None:
        raise ValueError(f"the list of --shapes has no {tensor}, expected its shape")
    dtype = entry.native or entry.dtype or raw.dtype
    if dtype is None:
        raise ValueError(f"the list of --shapes has no element type of {tensor}, expected one")
    return dtype, entry.shape


def _known(dtype: str) -> str:
    name = _ALIASES.get(dtype.lower(), dtype.lower())
    if name not in DTYPES:
        raise ValueError(f"dtype is {dtype!r}, expected {', '.join([*DTYPES, *_ALIASES])}")
    return name


def without_suffixes(files: dict[str, Deferred]) -> dict[str, Deferred]:
    """Returns the files by the names of their tensors, so that a .raw is compared with a .npy."""
    named_files = unique((_INDEX.sub("", name.rpartition(".")[0]), files[name]) for name in files)
    return {
        name.removesuffix(_NATIVE) if name.removesuffix(_NATIVE) not in named_files else name: value
        for name, value in named_files.items()
    }


def read_shapes(path: str | os.PathLike[str]) -> dict[str, Described]:
    """Reads a list of tensors. Raises OSError, or ValueError with the path.

    The list is text, with the name, the shape and optionally the element type of a tensor in each
    line, such as `conv1 1,64,56,56 float16`; or JSON, {"conv1": [1, 64, 56, 56]} or {"conv1":
    {"shape": [1, 64, 56, 56], "dtype": "float16"}}; or the model_net.json of a QNN converter.
    """
    path = Path(path)
    with named(path):
        if path.stat().st_size > _MAX_LIST:
            raise ValueError(f"has {path.stat().st_size} bytes, expected at most {_MAX_LIST}")
        text = path.read_bytes().decode()
        is_json = text.lstrip().startswith("{")
        return _from_json(text) if is_json else _from_lines(text)


def _from_lines(text: str) -> dict[str, Described]:
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        match = len(words) in (2, 3) and re.fullmatch(r"\[?(\d+(?:[,x]\d+)*)?\]?", words[1])
        if not match:
            raise ValueError(
                f"line {number} is {line[:80]!r}, expected a name, a shape such as 1,64,56,56, and "
                "an element type"
            )
        shape = tuple(map(int, re.findall(r"\d+", words[1])))
        entries.append((words[0], Described(shape, *map(_known, words[2:]))))
    return unique(entries)


def _from_json(text: str) -> dict[str, Described]:
    tensors = json.loads(text, object_pairs_hook=unique)
    graph = tensors.get("graph")
    if isinstance(graph, dict) and isinstance(graph.get("tensors"), dict):
        tensors = graph["tensors"]
    return {name: _entry(name, entry) for name, entry in tensors.items()}


def _entry(name: str, entry: Any) -> Described:
    members = entry if isinstance(entry, dict) else {"shape": entry}
    shapes = (members[key] for key in ("shape", "current_dims", "dims") if key in members)
    shape: Any = next(shapes, None)
    dtype = members.get("dtype")
    is_shape = is_integers(shape) and all(extent >= 0 for extent in shape)
    if not is_shape or not isinstance(dtype, (str, type(None))):
        raise ValueError(
            f"the entry of {name[:200]!r} is {json.dumps(entry)[:200]}, expected a shape such as "
            "[1, 64, 56, 56], or an object with shape and dtype"
        )
    code = members.get("data_type")
    native = _QNN_DTYPES.get(code) if type(code) is int else dtype
    return Described(tuple(shape), None if dtype is None else _known(dtype), native)
