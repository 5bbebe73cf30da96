"""Calls whose result is empty or zero because a size is 0, which functions of MLU-OPS refuse.

The library is not called, so the tensors are checked here.
"""

from __future__ import annotations

from mluop_omp._arrays import DTYPES, Descriptor
from mluop_omp._library import bad_param

_NAMES = {code: name for name, code in DTYPES.items()}
_FLOATS = {DTYPES[name] for name in ("float16", "bfloat16", "float32")}
_INT32 = DTYPES["int32"]


def _require_type(name: str, found: int, expected: int) -> None:
    if found != expected:
        raise bad_param(f"{name} has dtype {_NAMES[found]}, expected {_NAMES[expected]}")


def require_sizes(declaration: str, *descriptors: Descriptor) -> dict[str, int]:
    """Returns the sizes of tensors by their letters in a text such as

        "features B C M, indices: B N 3, weights B N 3"

    Raises MluOpError for a tensor that contradicts it. Tensors with a colon are int32; all others
    have one floating-point type.
    """
    sizes: dict[str, int] = {}
    dtype = None
    for text, descriptor in zip(declaration.split(", "), descriptors):
        title, *dimensions = text.split()
        name = title.rstrip(":")
        if title.endswith(":"):
            _require_type(name, descriptor.dtype, _INT32)
        elif dtype is None and descriptor.dtype not in _FLOATS:
            expected = ", ".join(sorted(_NAMES[code] for code in _FLOATS))
            raise bad_param(f"{name} has dtype {_NAMES[descriptor.dtype]}, expected {expected}")
        else:
            dtype = descriptor.dtype if dtype is None else dtype
            _require_type(name, descriptor.dtype, dtype)
        _require_shape(name, descriptor, dimensions, sizes)
    return sizes


def _require_shape(
    name: str, descriptor: Descriptor, dimensions: list[str], sizes: dict[str, int]
) -> None:
    shape = descriptor.shape
    if len(shape) != len(dimensions):
        raise bad_param(f"{name} has {len(shape)} dimensions, expected {len(dimensions)}")
    for axis, (found, letter) in enumerate(zip(shape, dimensions)):
        expected = int(letter) if letter.isdigit() else sizes.setdefault(letter, found)
        if found != expected:
            raise bad_param(f"{name} dim {axis} is {found}, expected {expected}")
