"""Tensors in files: .npy, .npz, .pt, .safetensors, raw elements, and folders of them.

Files are untrusted: sizes are checked before memory is allocated or mapped, and nothing is
unpickled. Tensors are mapped where the format stores their elements contiguously.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import json
import math
import os
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Callable

import numpy as np

from mluop_omp import _requirements
from mluop_omp.golden._numbers import STORED_AS
from mluop_omp.golden.comparison._values import DTYPES, Deferred, SparseSites, Tensor, convert

# Names from mlu_op.h, accepted besides NumPy names.
_ALIASES = {"half": "float16", "float": "float32", "double": "float64"}
_SAFETENSORS_DTYPES = {
    **{"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "BOOL": "bool"},
    **{f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{"C64": "complex64"},
}
_SAFETENSORS_MAX_HEADER = 100_000_000


@dataclasses.dataclass(frozen=True)
class RawFormat:
    """Element type and shape of raw files. shape: None for one row of all elements."""

    dtype: str | None = None
    shape: tuple[int, ...] | None = None


def read(path: str | os.PathLike[str], raw: RawFormat) -> Any:
    """Returns an argument for `compare`. Raises OSError or ValueError with the path."""
    path = Path(path)
    with _named(path):
        if path.is_dir():
            return _read_folder(path, raw)
        if path.exists() and not path.is_file():
            raise ValueError("is neither a regular file nor a folder")
        suffix = path.suffix.lower()
        if suffix not in (*_READERS, *_RAW_SUFFIXES) and raw.dtype is None:
            raise ValueError(
                f"the name ends in {path.suffix!r}, expected {', '.join(_READERS)}, or a raw file, "
                "whose --dtype is stated"
            )
        with path.open("rb") as file:
            # Files in /proc have a size of 0.
            size = path.stat().st_size
            if file.seek(size) == size and file.read(1):
                raise ValueError(f"has more bytes than its size, {size}, states")
        return _READERS[suffix](path) if suffix in _READERS else _read_raw(path, raw)


@contextlib.contextmanager
def _named(path: Path | str) -> Iterator[None]:
    """Turns exceptions into ValueError with the path; OSError already has it."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise ValueError(f"{path}: {str(error).strip() or type(error).__name__}") from error


def _deferred(path: Path, function: Callable[..., Any], *arguments: Any) -> Deferred:
    def read() -> Any:
        with _named(path):
            return function(path, *arguments)

    return Deferred(read)


def _read_folder(folder: Path, raw: RawFormat) -> dict[str, Deferred]:
    """Returns the files by their names relative to the folder."""
    suffixes = {*_READERS, *_RAW_SUFFIXES}
    files = {
        path.relative_to(folder).as_posix(): Deferred(functools.partial(read, path, raw))
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in suffixes and not path.is_dir()
    }
    if not files:
        raise ValueError(f"the folder has no files that end in {', '.join(sorted(suffixes))}")
    return files


def _require_size(found: int, dtype: np.dtype, shape: Sequence[int]) -> None:
    if any(extent < 0 for extent in shape):
        raise ValueError(f"the shape is {list(shape)}, expected extents of 0 or more")
    expected = math.prod(shape) * dtype.itemsize
    if found != expected:
        raise ValueError(f"found {found} bytes of elements, expected {expected}")


def _map(
    path: Path, size: int, dtype: np.dtype, shape: Sequence[int], offset: int, order: Any = "C"
) -> np.ndarray:
    """Maps elements, which have `size` bytes in the file."""
    _require_size(size, dtype, shape)
    if size == 0:
        return np.empty(shape, dtype)
    return np.memmap(path, dtype, "r", offset, tuple(shape), order)


def _read_raw(path: Path, raw: RawFormat) -> Tensor:
    if raw.dtype is None:
        raise ValueError("a raw file requires --dtype, and --shape if it is not one row")
    dtype = _ALIASES.get(raw.dtype.lower(), raw.dtype.lower())
    if dtype not in DTYPES:
        expected = ", ".join([*DTYPES, *_ALIASES])
        raise ValueError(f"dtype is {raw.dtype!r}, expected {expected}")
    stored, size = _stored(dtype), path.stat().st_size
    if raw.shape is None and size % stored.itemsize:
        raise ValueError(f"the file has {size} bytes, expected a multiple of {stored.itemsize}")
    shape = (size // stored.itemsize,) if raw.shape is None else raw.shape
    return Tensor(_map(path, size, stored, shape, 0), dtype)


def _stored(dtype: str) -> np.dtype:
    return np.dtype(STORED_AS.get(dtype, dtype))


def _read_npy(path: Path) -> np.ndarray:
    with path.open("rb") as file:
        shape, order, dtype = _npy_header(file)
        return _map(path, path.stat().st_size - file.tell(), dtype, shape, file.tell(), order)


def _npy_header(file: Any) -> tuple[tuple[int, ...], Any, np.dtype]:
    """Reads the header of a .npy: shape, order of the elements ("C" or "F"), dtype."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"the version of the .npy format is {version}, expected (1, 0) or (2, 0)")
    read_header = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
    try:
        shape, is_fortran, dtype = read_header(file)
    except Exception as error:
        raise ValueError(f"the header is not valid: {error}") from error
    if dtype.hasobject:
        raise ValueError("the array has Python objects, expected numbers")
    return shape, "F" if is_fortran else "C", dtype


def _sparse_or_named(named: dict[str, Any]) -> Any:
    """Returns a sparse tensor if the names are parts of one, else the tensors by name."""
    if not {"features", "indices"} <= named.keys() <= _SPARSE_PARTS:
        return named
    parts = {name: convert(value) for name, value in named.items()}
    for name in ("spatial_shape", "batch_size"):
        if name in parts:
            integers = np.atleast_1d(parts[name].array).tolist()
            parts[name] = integers if name == "spatial_shape" else integers[0]
    return SparseSites(**parts)


def unique(members: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the members of an object or archive by name. Raises ValueError if a name repeats."""
    named: dict[str, Any] = {}
    for name, value in members:
        if name in named:
            raise ValueError(f"the name {name[:200]!r} occurs twice")
        named[name] = value
    return named


# Numbers the readings of files: a file may change between two readings.
_READINGS = itertools.count()


@functools.lru_cache(maxsize=2)
def _archive(path: Path, reading: int) -> zipfile.ZipFile:
    """Returns the archive; its directory is read once for all members."""
    return zipfile.ZipFile(path)


def _read_npz(path: Path) -> Any:
    reading = next(_READINGS)
    infos = _archive(path, reading).infolist()
    members = unique((info.filename.removesuffix(".npy"), info) for info in infos)
    if not members:
        raise ValueError("the archive has no arrays")

    def member(path: Path, info: zipfile.ZipInfo) -> np.ndarray:
        return read_member(_archive(path, reading), info)

    return _sparse_or_named({name: _deferred(path, member, info) for name, info in members.items()})


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """Reads an array of a .npz. Raises ValueError with its name if it is damaged."""
    with _named(info.filename), archive.open(info) as member:
        shape, order, dtype = _npy_header(member)
        _require_size(info.file_size - member.tell(), dtype, shape)
        # Allocates only what the archive delivers, whatever its headers claim.
        elements = bytearray()
        while chunk := member.read(1 << 24):
            elements += chunk
        _require_size(len(elements), dtype, shape)
        return np.frombuffer(elements, dtype).reshape(shape, order=order)


def _read_pt(path: Path) -> Any:
    message = _requirements.missing("torch")
    if message is not None:
        raise ValueError(message)
    import torch

    is_zip = zipfile.is_zipfile(path)
    if is_zip:
        unique((name, None) for name in zipfile.ZipFile(path).namelist())
    try:
        value = torch.load(path, map_location="cpu", weights_only=True, mmap=is_zip or None)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(f"torch.load(weights_only=True): {reason}") from error
    return _sparse_or_named(value) if isinstance(value, dict) else value


def _read_safetensors(path: Path) -> Any:
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8:
            raise ValueError(f"the file has {size} bytes, expected at least the 8 of a header")
        if length > min(size - 8, _SAFETENSORS_MAX_HEADER):
            limit = min(size - 8, _SAFETENSORS_MAX_HEADER)
            raise ValueError(f"the header has {length} bytes, expected at most {limit}")
        header = json.loads(file.read(length), object_pairs_hook=unique)
    if not isinstance(header, dict):
        raise ValueError("the header is not an object of JSON")
    header.pop("__metadata__", None)
    if not header:
        raise ValueError("the file has no tensors")
    begin = 8 + length
    _require_layout(header, size - begin)
    return _sparse_or_named(
        {name: _deferred(path, _map_entry, name, entry, begin) for name, entry in header.items()}
    )


def _require_layout(header: dict[str, Any], size: int) -> None:
    """Requires the tensors to cover the bytes past the header without gap or overlap."""
    places = []
    for name, entry in header.items():
        offsets: Any = entry.get("data_offsets") if isinstance(entry, dict) else None
        if not _is_integers(offsets) or len(offsets) != 2:
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
        f"dtype of {', '.join(_SAFETENSORS_DTYPES)}"
    )


def _is_integers(value: Any) -> bool:
    return type(value) is list and all(type(each) is int for each in value)


def _map_entry(path: Path, name: str, entry: Any, begin: int) -> Any:
    shape, (first, last) = entry.get("shape"), entry["data_offsets"]
    dtype = _SAFETENSORS_DTYPES.get(str(entry.get("dtype")))
    if dtype is None or not _is_integers(shape):
        raise _invalid_entry(name, entry)
    array = _map(path, last - first, _stored(dtype), shape, begin + first)
    return Tensor(array, dtype) if dtype == "bfloat16" else array


_SPARSE_PARTS = {"features", "indices", "spatial_shape", "batch_size"}
_RAW_SUFFIXES = (".bin", ".raw")
_READERS = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".pt": _read_pt,
    ".pth": _read_pt,
    ".safetensors": _read_safetensors,
}
