"""What the readers of files share: errors with the path, checked sizes, mapped elements."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Callable

import numpy as np

from mluop_omp.golden._numbers import STORED_AS
from mluop_omp.golden.comparison._values import Deferred, Tensor


@contextlib.contextmanager
def named(path: Path | str) -> Iterator[None]:
    """Turns exceptions into ValueError with the path; OSError already has it."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise ValueError(f"{path}: {str(error).strip() or type(error).__name__}") from error


def deferred(path: Path, function: Callable[..., Any], *arguments: Any) -> Deferred:
    def read() -> Any:
        with named(path):
            return function(path, *arguments)

    return Deferred(read)


def require_size(found: int, dtype: np.dtype, shape: Sequence[int]) -> None:
    if any(extent < 0 for extent in shape):
        raise ValueError(f"the shape is {list(shape)}, expected extents of 0 or more")
    expected = math.prod(shape) * dtype.itemsize
    if found != expected:
        raise ValueError(f"found {found} bytes of elements, expected {expected}")


def map_elements(
    path: Path, size: int, dtype: np.dtype, shape: Sequence[int], offset: int, order: Any = "C"
) -> np.ndarray:
    """Maps elements, which have `size` bytes in the file."""
    require_size(size, dtype, shape)
    if size == 0:
        return np.empty(shape, dtype)
    return np.memmap(path, dtype, "r", offset, tuple(shape), order)


def stored(dtype: str) -> np.dtype:
    """Returns the little-endian NumPy type that holds the elements of a type."""
    return np.dtype(STORED_AS.get(dtype, dtype)).newbyteorder("<")


def typed(array: np.ndarray, dtype: str) -> Any:
    """Returns an argument for `compare`: bfloat16 elements are the bits in an array of uint16."""
    return Tensor(array, dtype) if dtype == "bfloat16" else array


def unique(members: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the members of an object or archive by name. Raises ValueError if a name repeats."""
    by_name: dict[str, Any] = {}
    for name, value in members:
        if name in by_name:
            raise ValueError(f"the name {name[:200]!r} occurs twice")
        by_name[name] = value
    return by_name


def is_integers(value: Any) -> bool:
    return type(value) is list and all(type(each) is int for each in value)
