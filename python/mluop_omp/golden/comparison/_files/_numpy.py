"""NumPy's files: .npy and .npz."""

from __future__ import annotations

import functools
import itertools
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from mluop_omp.golden.comparison._files._elements import (
    deferred,
    map_elements,
    named,
    require_size,
    unique,
)
from mluop_omp.golden.comparison._files._sparse import sparse_or_named

# Numbers the readings of files: a file may change between two readings.
_READINGS = itertools.count()


def read_npy(path: Path) -> np.ndarray:
    with path.open("rb") as file:
        shape, order, dtype = npy_header(file)
        return map_elements(
            path, path.stat().st_size - file.tell(), dtype, shape, file.tell(), order
        )


def npy_header(file: Any) -> tuple[tuple[int, ...], Any, np.dtype]:
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


@functools.lru_cache(maxsize=2)
def _archive(path: Path, reading: int) -> zipfile.ZipFile:
    """Returns the archive; its directory is read once for all members."""
    return zipfile.ZipFile(path)


def read_npz(path: Path) -> Any:
    reading = next(_READINGS)
    infos = _archive(path, reading).infolist()
    members = unique((info.filename.removesuffix(".npy"), info) for info in infos)
    if not members:
        raise ValueError("the archive has no arrays")

    def member(path: Path, info: zipfile.ZipInfo) -> np.ndarray:
        return read_member(_archive(path, reading), info)

    return sparse_or_named({name: deferred(path, member, info) for name, info in members.items()})


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """Reads an array of a .npz. Raises ValueError with its name if it is damaged."""
    with named(info.filename), archive.open(info) as member:
        shape, order, dtype = npy_header(member)
        require_size(info.file_size - member.tell(), dtype, shape)
        # Allocates only what the archive delivers, whatever its headers claim.
        elements = bytearray()
        while chunk := member.read(1 << 24):
            elements += chunk
        require_size(len(elements), dtype, shape)
        return np.frombuffer(elements, dtype).reshape(shape, order=order)
