"""Files of safetensors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mluop_omp.golden.comparison._files._elements import (
    deferred,
    is_integers,
    map_elements,
    stored,
    typed,
    unique,
)
from mluop_omp.golden.comparison._files._sparse import sparse_or_named

_DTYPES = {
    **{"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "BOOL": "bool"},
    **{f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{"C64": "complex64"},
}
_MAX_HEADER = 100_000_000


def read_safetensors(path: Path) -> Any:
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8:
            raise ValueError(f"the file has {size} bytes, expected at least the 8 of a header")
        if length > min(size - 8, _MAX_HEADER):
            limit = min(size - 8, _MAX_HEADER)
            raise ValueError(f"the header has {length} bytes, expected at most {limit}")
        header = json.loads(file.read(length), object_pairs_hook=unique)
    if not isinstance(header, dict):
        raise ValueError("the header is not an object of JSON")
    header.pop("__metadata__", None)
    if not header:
        raise ValueError("the file has no tensors")
    begin = 8 + length
    _require_layout(header, size - begin)
    return sparse_or_named(
        {name: deferred(path, _map_entry, name, entry, begin) for name, entry in header.items()}
    )


def _require_layout(header: dict[str, Any], size: int) -> None:
    """Requires the tensors to cover the bytes past the header without gap or overlap."""
    places = []
    for name, entry in header.items():
        offsets: Any = entry.get("data_offsets") if isinstance(entry, dict) else None
        if not is_integers(offsets) or len(offsets) != 2:
            raise _invalid_entry(name, entry)
        first, last = offsets
        if not 0 <= first <= last <= size:
            raise ValueError(f"{name} is at {first} to {last} of {size} bytes")
        places.append((first, last, name))
    end = 0
    for first, last, name in sorted(places):
        if first != end:
            raise ValueError(f"{name} begins at byte {first}, expected {end}, the end of another")
        end = last
    if end != size:
        raise ValueError(f"the tensors end at byte {end}, expected {size}, the end of the file")


def _invalid_entry(name: str, entry: Any) -> ValueError:
    return ValueError(
        f"the entry of {name} is {json.dumps(entry)[:200]}, expected shape, data_offsets and a "
        f"dtype of {', '.join(_DTYPES)}"
    )


def _map_entry(path: Path, name: str, entry: Any, begin: int) -> Any:
    shape, (first, last) = entry.get("shape"), entry["data_offsets"]
    dtype = _DTYPES.get(str(entry.get("dtype")))
    if dtype is None or not is_integers(shape):
        raise _invalid_entry(name, entry)
    return typed(map_elements(path, last - first, stored(dtype), shape, begin + first), dtype)
