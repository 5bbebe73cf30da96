"""Tensors in files: .npy, .npz, .pt, .safetensors, .tensor, .pb, raw elements, folders of them.

Files are untrusted: sizes are checked before memory is allocated or mapped, and nothing is
unpickled. Tensors are mapped where the format stores their elements contiguously. `_READERS` has a
function for each suffix; _elements.py has what they share, _raw.py the raw elements and the list of
their shapes, _sparse.py the names of the parts of a sparse tensor.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

from mluop_omp.golden.comparison._files._elements import named, require_size, unique
from mluop_omp.golden.comparison._files._lidar import read_tensor
from mluop_omp.golden.comparison._files._numpy import npy_header, read_member, read_npy, read_npz
from mluop_omp.golden.comparison._files._onnx import read_pb
from mluop_omp.golden.comparison._files._pytorch import read_pt
from mluop_omp.golden.comparison._files._raw import (
    RawFormat,
    read_raw,
    read_shapes,
    without_suffixes,
)
from mluop_omp.golden.comparison._files._safetensors import read_safetensors
from mluop_omp.golden.comparison._files._sparse import sparse_folder
from mluop_omp.golden.comparison._values import Deferred

__all__ = [
    "RawFormat",
    "npy_header",
    "read",
    "read_member",
    "read_shapes",
    "require_size",
    "unique",
]

_RAW_SUFFIXES = (".bin", ".raw")
_READERS = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".pt": read_pt,
    ".pth": read_pt,
    ".safetensors": read_safetensors,
    ".tensor": read_tensor,
    ".pb": read_pb,
}


def read(path: str | os.PathLike[str], raw: RawFormat) -> Any:
    """Returns an argument for `compare`. Raises OSError or ValueError with the path."""
    path = Path(path)
    with named(path):
        if path.is_dir():
            return _read_folder(path, raw)
        return _read_file(path, raw, path.stem)


def _read_file(path: Path, raw: RawFormat, name: str) -> Any:
    """name: the name in the list of shapes."""
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
    return _READERS[suffix](path) if suffix in _READERS else read_raw(path, raw, name)


def _read_folder(folder: Path, raw: RawFormat) -> Any:
    """Returns the files by their names relative to the folder, or a sparse tensor."""
    suffixes = {*_READERS, *_RAW_SUFFIXES}
    paths = {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in suffixes and not path.is_dir()
    }
    if not paths:
        raise ValueError(f"the folder has no files that end in {', '.join(sorted(suffixes))}")
    files = {
        name: Deferred(functools.partial(_read_named, path, raw, name.rpartition(".")[0]))
        for name, path in paths.items()
    }
    sparse = sparse_folder(files)
    if sparse is not None:
        return sparse
    return files if raw.shapes is None else without_suffixes(files)


def _read_named(path: Path, raw: RawFormat, name: str) -> Any:
    with named(path):
        return _read_file(path, raw, name)
